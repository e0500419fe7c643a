// clamp for the CPU: see src/base/clamp.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_CLAMP_H_
#define INFINI_OPS_NATIVE_CPU_OPS_CLAMP_H_

#include "native/cpu/pointwise.h"
#include "native/cpu/saturate.h"

namespace infini::ops::cpu {

/// The bounds in each kind of number; saturated to the dtype for integers.
struct ClampAttributes {
  bool has_least;
  bool has_most;
  double least;
  double most;
  std::uint64_t least_bits;  // of an integer
  std::uint64_t most_bits;
};
using ClampTask = UnaryTask<struct ClampTag, ClampAttributes>;
INFINI_OPS_CPU_KERNEL(ClampTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/pointwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

void ClampIntegers(const ClampTask& task) {
  RunIntegers(task, [bounds = task.attributes](auto x) {
    using T = decltype(x);
    if (bounds.has_least) x = Maximum(x, static_cast<T>(bounds.least_bits));
    if (bounds.has_most) x = Minimum(x, static_cast<T>(bounds.most_bits));
    return x;
  });
}

void ClampFloats(const ClampTask& task) {
  constexpr double kInfinity = __builtin_inf();
  const ClampAttributes& bounds = task.attributes;
  const double least = bounds.has_least ? bounds.least : -kInfinity;
  const double most = bounds.has_most ? bounds.most : kInfinity;
  if (least != least || most != most) {
    return RunFloating(task, [](auto x) { return x - x + __builtin_nanf(""); });
  }
  RunFloating(task, [least, most](auto x) {
    if constexpr (std::is_same_v<decltype(x), Floats>) {
      // The bounds first: what is NaN stays it.
      return LesserOf(Broadcast(static_cast<float>(most)),
                      GreaterOf(Broadcast(static_cast<float>(least)), x));
    } else {
      return Minimum(Maximum(x, least), most);
    }
  });
}

void Run(const ClampTask& task) {
  if (rt::IsInteger(task.dtype)) {
    ClampIntegers(task);
  } else {
    ClampFloats(task);
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include "infini/ops/base/clamp.h"

namespace infini::ops {

template <>
struct Operator<Clamp, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& input,
                   const std::optional<Scalar>& min, const std::optional<Scalar>& max,
                   const TensorView& out) {
    if (!min && !max) {
      throw Error(ErrorCode::kInvalidArgument, Clamp::kOperator, input.device().ToString(),
                  "`min` and `max` are both None; give at least one");
    }
    cpu::ClampAttributes bounds{};
    bounds.has_least = min.has_value();
    bounds.has_most = max.has_value();
    bounds.least = min ? min->real() : 0;
    bounds.most = max ? max->real() : 0;
    if (rt::IsInteger(input.dtype())) {
      bounds.least_bits = min ? cpu::Saturated(*min, input.dtype()) : 0;
      bounds.most_bits = max ? cpu::Saturated(*max, input.dtype()) : 0;
    }
    cpu::LaunchPointwise<cpu::ClampTask>(Clamp::kOperator, context, input.dtype(), bounds, out,
                                         input);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_CLAMP_H_
