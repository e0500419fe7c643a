// What happens to an operator that infini does not have.
#ifndef TORCH_INFINI_OPS_FALLBACK_H_
#define TORCH_INFINI_OPS_FALLBACK_H_

#include <torch/library.h>

#include <cstdint>
#include <map>
#include <string>

namespace torch_infini {

/// Registers, for every operator without a kernel, the error that names it.
///
/// The environment variable TORCH_INFINI_ENABLE_CPU_FALLBACK replaces the error
/// by a copy to the CPU, the operator there, and a copy back: for all operators
/// with 1, else for those that it lists ("aten::erfinv,aten::cumsum.out"; a name
/// without overload means all of them). Each is announced by a warning once.
void RegisterFallback(torch::Library& library);

/// Treats convolutions as operators without a kernel. PyTorch has one for every device, which asks
/// for another, so that the fallback is not reached.
void RegisterUnsupportedConvolution(torch::Library& library);

/// How often each operator ran on the CPU in this process.
std::map<std::string, std::int64_t> FallbackCounts();

}  // namespace torch_infini

#endif  // TORCH_INFINI_OPS_FALLBACK_H_
