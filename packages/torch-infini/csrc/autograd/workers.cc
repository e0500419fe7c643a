#include "autograd/workers.h"

#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/variable.h>

#include <exception>
#include <thread>

#include "ops/empty.h"
#include "runtime/device.h"

namespace torch_infini::autograd {
namespace {

/// A pass of one view on each device. A thread has dropped a pass before it
/// takes the next one.
void RunEmptyPasses() {
  for (c10::DeviceIndex device = 0; device < DeviceCount(); ++device) {
    at::Tensor leaf = EmptyStrided({1}, {1}, c10::ScalarType::Float, device);
    const at::Tensor gradient = EmptyStrided({1, 1}, {1, 1}, c10::ScalarType::Float, device);
    leaf.set_requires_grad(true);
    torch::autograd::grad({leaf.view({1, 1})}, {leaf}, {gradient});
  }
}

}  // namespace

void SettleWorkers() {
  if (!IsInitialized()) return;
  // In a new thread, whose state has no Python object that a pass would keep.
  std::thread([] {
    try {
      RunEmptyPasses();
    } catch (const std::exception& error) {
      TORCH_WARN("the threads of backward passes on infini did not settle: ", error.what());
    }
  }).join();
}

}  // namespace torch_infini::autograd
