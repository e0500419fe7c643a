// PyTorch's hooks of an accelerator: what generic code asks about infini.
#ifndef TORCH_INFINI_RUNTIME_HOOKS_H_
#define TORCH_INFINI_RUNTIME_HOOKS_H_

namespace torch_infini {

/// Registers the hooks and both allocators with PyTorch; called once.
void RegisterHooks();

}  // namespace torch_infini

#endif  // TORCH_INFINI_RUNTIME_HOOKS_H_
