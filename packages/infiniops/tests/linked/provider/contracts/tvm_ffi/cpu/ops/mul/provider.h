// mul by the provider of the tests.
#ifndef INFINI_OPS_TESTS_LINKED_PROVIDER_MUL_H_
#define INFINI_OPS_TESTS_LINKED_PROVIDER_MUL_H_

#include "core/operator.h"
#include "infini/ops/base/mul.h"

namespace infini::ops {

template <>
struct Operator<Mul, Device::Type::kCpu, 18> {
  static constexpr char kName[] = "provider";

  static void Call(const Context& context, const TensorView& input, const TensorView& other,
                   const TensorView& out);
  static Support Supports(const Context& context, const TensorView& input, const TensorView& other,
                          const TensorView& out);
};

}  // namespace infini::ops

#endif  // INFINI_OPS_TESTS_LINKED_PROVIDER_MUL_H_
