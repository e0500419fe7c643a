// add for the CPU: see src/base/add.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_ADD_H_
#define INFINI_OPS_NATIVE_CPU_OPS_ADD_H_

#include "native/cpu/kernel.h"
#include "native/cpu/strided_loop.h"

namespace infini::ops::cpu {

struct AddTask {
  StridedLoop<3> loop;
  rt::DataType dtype;
  bool alpha_is_one;
  std::int64_t alpha_integer;  // for bool and the integers
  double alpha_real;           // for the other types
  double alpha_imaginary;
};
INFINI_OPS_CPU_KERNEL(AddTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/arithmetic.h"
#include "native/cpu/vector/elementwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// The factor of `other` in the type that `T` is computed in.
template <typename T>
struct Alpha {
  static T Get(const AddTask& task) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(task.alpha_integer);
    } else {
      return static_cast<T>(task.alpha_real);
    }
  }
};
template <>
struct Alpha<Bool> {
  static Bool Get(const AddTask& task) {
    return {static_cast<std::uint8_t>(task.alpha_integer != 0)};
  }
};
template <typename Real>
struct Alpha<Complex<Real>> {
  static Complex<Real> Get(const AddTask& task) {
    return {static_cast<Real>(task.alpha_real), static_cast<Real>(task.alpha_imaginary)};
  }
};

void Run(const AddTask& task) {
  VisitDtype(task.dtype, [&task]<typename T>(Type<T>) {
    using C = Compute<T>;
    if (task.alpha_is_one) {
      RunBinary<T>(task.loop, [](C a, C b) { return Add(a, b); });
    } else {
      const C alpha = Alpha<C>::Get(task);
      RunBinary<T>(task.loop, [alpha](C a, C b) { return Add(a, Multiply(alpha, b)); });
    }
  });
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include "infini/ops/base/add.h"

namespace infini::ops {

template <>
struct Operator<Add, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& input, const TensorView& other,
                   const Scalar& alpha, const TensorView& out) {
    if (out.numel() == 0) return;
    const cpu::AddTask task = {
        .loop = cpu::MakeLoop(Add::kOperator, out, input, other),
        .dtype = out.dtype(),
        .alpha_is_one = alpha.real() == 1 && alpha.imaginary() == 0,
        .alpha_integer = alpha.integer(),
        .alpha_real = alpha.real(),
        .alpha_imaginary = alpha.imaginary(),
    };
    cpu::Launch(context, task);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_ADD_H_
