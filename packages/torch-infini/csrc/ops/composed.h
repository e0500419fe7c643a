// Operators that PyTorch leaves to devices and that are composed here of others
// of the device, so that nothing leaves it.
#ifndef TORCH_INFINI_OPS_COMPOSED_H_
#define TORCH_INFINI_OPS_COMPOSED_H_

#include <torch/library.h>

#include <set>
#include <string>

namespace torch_infini {

/// A library that leaves out what an operator of InfiniOps serves.
class Composed {
 public:
  /// `served` are overloads that are registered already ("aten::add.out").
  Composed(torch::Library& library, const std::set<std::string>& served)
      : library_(library), served_(served) {}

  template <typename Function>
  Composed& Add(const char* overload, Function&& function) {
    if (!served_.contains(std::string("aten::") + overload)) {
      library_.impl(overload, std::forward<Function>(function));
    }
    return *this;
  }

 private:
  torch::Library& library_;
  const std::set<std::string>& served_;
};

/// Elementwise operators, reductions and indexing.
void RegisterComposed(Composed library);

/// Logarithms, rounding and other elementwise functions.
void RegisterComposedMath(Composed library);

/// Activations, losses and dropout, with their gradients.
void RegisterComposedActivations(Composed library);

/// Statistics, products and rearrangements.
void RegisterComposedStatistics(Composed library);

/// Losses, gradients and what mixed precision needs.
void RegisterComposedTraining(Composed library);

/// The fused steps of optimizers.
void RegisterComposedOptimizers(Composed library);

}  // namespace torch_infini

#endif  // TORCH_INFINI_OPS_COMPOSED_H_
