// Conversions between dtypes: the task of cast.
#ifndef INFINI_OPS_NATIVE_CPU_SHARED_CAST_H_
#define INFINI_OPS_NATIVE_CPU_SHARED_CAST_H_

#include "native/cpu/kernel.h"
#include "native/cpu/strided_loop.h"

namespace infini::ops::cpu {

/// From which dtype to which.
struct CastDtypes {
  rt::DataType from;
  rt::DataType to;
};

struct CastTask {
  StridedLoop<2> loop;
  CastDtypes dtypes;
};
INFINI_OPS_CPU_KERNEL(CastTask);

#ifndef INFINI_OPS_CPU_ISA

/// Queues a conversion of `from` to the dtype of `to`, which has the same shape.
void LaunchCast(const char* op, const Context& context, const TensorView& from,
                const TensorView& to);

#endif  // INFINI_OPS_CPU_ISA

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/pointwise.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// A float as an integer: towards zero, NaN is 0, what 64 bits do not hold is their nearest end,
/// and the low bits remain.
template <typename To, typename Real>
To ToInteger(Real value) {
  constexpr auto kEnd = static_cast<Real>(0x1p63);
  const bool inside = value > -kEnd && value < kEnd;
  const auto whole = static_cast<std::int64_t>(inside ? value : Real{0});
  if constexpr (std::is_same_v<To, std::uint64_t>) {
    if (value >= 2 * kEnd) return UINT64_MAX;
    if (value >= kEnd) return static_cast<std::uint64_t>(value);
    if (value <= -kEnd) return static_cast<std::uint64_t>(INT64_MIN);
    return static_cast<std::uint64_t>(whole);
  } else {
    const std::int64_t end = value >= kEnd ? INT64_MAX : value <= -kEnd ? INT64_MIN : whole;
    return static_cast<To>(end);
  }
}

/// One element of an intermediate type (float, double, int64, uint64) as `To`.
template <typename To, typename From>
To Convert(From value) {
  if constexpr (std::is_same_v<To, Bool>) {
    return {static_cast<std::uint8_t>(value != 0)};
  } else if constexpr (std::is_same_v<To, BFloat16> || std::is_same_v<To, Float16>) {
    To result;
    Narrow(static_cast<float>(value), &result);
    return result;
  } else if constexpr (std::is_integral_v<To> && !std::is_integral_v<From>) {
    return ToInteger<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

template <typename From>
void ConvertBlock(const From* values, char* out, std::int64_t count, rt::DataType dtype) {
  VisitDtype(dtype, [&]<typename To>(Type<To>) {
    if constexpr (requires(From one) { Convert<To>(one); } && !std::is_same_v<To, Complex<float>> &&
                  !std::is_same_v<To, Complex<double>>) {
      auto* to = reinterpret_cast<To*>(out);
      if constexpr (std::is_same_v<From, float> && !std::is_same_v<To, Compute<To>>) {
        NarrowBlock(values, to, count);
      } else {
        INFINI_OPS_INDEPENDENT
        for (std::int64_t i = 0; i < count; ++i) to[i] = Convert<To>(values[i]);
      }
    }
  });
}

/// Converts by way of the float, double, int64 or uint64 that holds every element of the input.
inline void CastBlock(const char* const* inputs, char* out, std::int64_t count,
                      const void* dtypes_of_task) {
  const auto& dtypes = *static_cast<const CastDtypes*>(dtypes_of_task);
  const auto out_size = static_cast<std::int64_t>(rt::DataTypeSize(dtypes.to));
  VisitDtype(dtypes.from, [&]<typename From>(Type<From>) {
    const auto* from = reinterpret_cast<const From*>(inputs[0]);
    if constexpr (std::is_same_v<From, float> || std::is_same_v<From, double> ||
                  std::is_same_v<From, std::int64_t> || std::is_same_v<From, std::uint64_t>) {
      ConvertBlock(from, out, count, dtypes.to);
    } else if constexpr (!std::is_same_v<From, Complex<float>> &&
                         !std::is_same_v<From, Complex<double>>) {
      using Middle = std::conditional_t<std::is_same_v<From, Compute<From>>, std::int64_t, float>;
      alignas(64) Middle middle[kBlockElements];
      for (std::int64_t begin = 0; begin < count; begin += kBlockElements) {
        const std::int64_t length = count - begin < kBlockElements ? count - begin : kBlockElements;
        if constexpr (std::is_same_v<Middle, float>) {
          WidenBlock(from + begin, middle, length);
        } else if constexpr (std::is_same_v<From, Bool>) {
          for (std::int64_t i = 0; i < length; ++i) middle[i] = from[begin + i].byte != 0;
        } else {
          for (std::int64_t i = 0; i < length; ++i) middle[i] = from[begin + i];
        }
        ConvertBlock(middle, out + begin * out_size, length, dtypes.to);
      }
    }
  });
}

void Run(const CastTask& task) {
  RunBlocks(task.loop,
            {static_cast<std::int64_t>(rt::DataTypeSize(task.dtypes.to)),
             static_cast<std::int64_t>(rt::DataTypeSize(task.dtypes.from))},
            &CastBlock, &task.dtypes);
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_SHARED_CAST_H_
