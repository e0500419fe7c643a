// The threads in which PyTorch runs backward passes on infini.
#ifndef TORCH_INFINI_AUTOGRAD_WORKERS_H_
#define TORCH_INFINI_AUTOGRAD_WORKERS_H_

namespace torch_infini::autograd {

/// Waits until the threads have dropped what earlier backward passes left.
///
/// `backward()` returns as soon as the gradients are there; the thread of the
/// device drops the pass a little later, and needs the interpreter for that. If
/// the interpreter goes away in between, CPython before 3.14 ends the thread in
/// the middle of a destructor, which aborts the process. So this is called at
/// exit, without the GIL. Does nothing where no device was used.
void SettleWorkers();

}  // namespace torch_infini::autograd

#endif  // TORCH_INFINI_AUTOGRAD_WORKERS_H_
