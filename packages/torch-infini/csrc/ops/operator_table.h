// The operators of InfiniOps, as the build found them in operators.json.
#ifndef TORCH_INFINI_OPS_OPERATOR_TABLE_H_
#define TORCH_INFINI_OPS_OPERATOR_TABLE_H_

#include <torch/library.h>

#include <string>
#include <vector>

namespace torch_infini {

/// Registers every operator of the table; generated.
void RegisterOperators(torch::Library& library);

/// The `aten::` overloads that `RegisterOperators` registers; generated.
std::vector<std::string> RegisteredOverloads();

}  // namespace torch_infini

#endif  // TORCH_INFINI_OPS_OPERATOR_TABLE_H_
