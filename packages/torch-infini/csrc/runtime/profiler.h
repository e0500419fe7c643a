// Device times for `torch.profiler`.
#ifndef TORCH_INFINI_RUNTIME_PROFILER_H_
#define TORCH_INFINI_RUNTIME_PROFILER_H_

namespace torch_infini {

/// Lets PyTorch's profiler put events with timing around each operator, on the
/// calling thread's current stream: `torch.autograd.profiler.profile(
/// use_device="infini")`.
void RegisterProfiler();

}  // namespace torch_infini

#endif  // TORCH_INFINI_RUNTIME_PROFILER_H_
