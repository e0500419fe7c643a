// PyTorch's device guard for infini: devices, streams and events of generic
// code (`c10::DeviceGuard`, `torch.Stream`, `torch.Event`, autograd).
#ifndef TORCH_INFINI_RUNTIME_GUARD_H_
#define TORCH_INFINI_RUNTIME_GUARD_H_

namespace torch_infini {

/// Registers the guard with PyTorch; called once.
void RegisterGuard();

}  // namespace torch_infini

#endif  // TORCH_INFINI_RUNTIME_GUARD_H_
