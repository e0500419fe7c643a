// The operators of InfiniOps, as the build found them in operators.json.
#ifndef TORCH_INFINI_OPS_OPERATOR_TABLE_H_
#define TORCH_INFINI_OPS_OPERATOR_TABLE_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>
#include <torch/library.h>

#include <map>
#include <string>
#include <vector>

namespace torch_infini {

/// Registers every operator of the table; generated.
void RegisterOperators(torch::Library& library);

/// Registers gradients of those operators that PyTorch itself composes of
/// others, and so has none for; generated.
void RegisterGradients(torch::Library& library);

/// Gives every element of `target` the number `value`, which its type holds;
/// false where InfiniOps cannot. Generated, like the next two.
bool FillOnDevice(const at::Tensor& target, const at::Scalar& value);

/// Copies between tensors of one device, shape and element type and any strides.
bool CopyOnDevice(const at::Tensor& source, const at::Tensor& target);

/// Converts between tensors of one device and shape, of any strides.
bool CastOnDevice(const at::Tensor& source, const at::Tensor& target);

/// The `aten::` overloads that `RegisterOperators` registers; generated.
std::vector<std::string> RegisteredOverloads();

/// The overloads that operators.json lists and that are not registered, and
/// why; generated.
std::map<std::string, std::string> UnservedOverloads();

}  // namespace torch_infini

#endif  // TORCH_INFINI_OPS_OPERATOR_TABLE_H_
