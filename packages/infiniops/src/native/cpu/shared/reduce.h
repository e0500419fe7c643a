// Reductions over dimensions: the task that all of them fill.
#ifndef INFINI_OPS_NATIVE_CPU_SHARED_REDUCE_H_
#define INFINI_OPS_NATIVE_CPU_SHARED_REDUCE_H_

#include "native/cpu/kernel.h"
#include "native/cpu/strided_loop.h"

#ifndef INFINI_OPS_CPU_ISA
#include <span>
#endif

namespace infini::ops::cpu {

/// What becomes of the elements that one output element stands for.
enum class Reduction { kSum, kMean, kGreatest, kLeast, kLogSumExp };

struct ReduceTask {
  Reduction reduction;
  rt::DataType dtype;   // of the input
  StridedLoop<3> kept;  // values, input, indices: one step for each output element
  Rows reduced;         // from an element of `kept`: what is reduced, in row-major order
  bool has_values;
  bool has_indices;  // int64 positions of the first greatest or least element
};
INFINI_OPS_CPU_KERNEL(ReduceTask);

#ifndef INFINI_OPS_CPU_ISA

/// The outputs of a reduction; one may be null.
struct ReduceOutputs {
  const TensorView* values;
  const TensorView* indices;
};

/// Queues a reduction of `input` over `dims`, all when there are none. Throws `Error` (invalid
/// argument) when a greatest or least of no elements is asked for.
void LaunchReduce(const char* op, const Context& context, Reduction reduction,
                  const TensorView& input, std::span<const std::int64_t> dims,
                  const ReduceOutputs& outputs);

#endif  // INFINI_OPS_CPU_ISA

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include "native/cpu/vector/extremes.h"
#include "native/cpu/vector/rows.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// Elements whose partial results are combined one after another. Only shapes decide where they
/// begin, so results do not depend on threads.
inline constexpr std::int64_t kSegment = 64 * kRowBlock;

/// What is known of the elements so far.
template <typename Real>
struct Partial {
  double sum = 0;              // of reals
  std::uint64_t integers = 0;  // the sum of integers, modulo 2^64
  Real best = 0;               // greatest or least
  std::int64_t index = -1;     // of `best`; -1: no element yet
};

/// Unsigned 64-bit integers are ordered as signed ones after this.
inline constexpr std::uint64_t kSignBit = std::uint64_t{1} << 63;

/// Reads `count` elements of any dtype, `stride` elements apart, as the type they are reduced in.
template <typename Real>
const Real* ReadAs(const ReduceTask& task, const char* from, std::int64_t stride,
                   std::int64_t count, Real* buffer) {
  if constexpr (std::is_same_v<Real, float>) {
    if (task.dtype == rt::DataType::kFloat32 && stride == 1) {
      return reinterpret_cast<const float*>(from);
    }
  }
  const Real* values = buffer;
  VisitDtype(task.dtype, [&]<typename T>(Type<T>) {
    const T* elements = reinterpret_cast<const T*>(from);
    if constexpr (std::is_same_v<T, Complex<float>> || std::is_same_v<T, Complex<double>>) {
      return;
    } else if constexpr (std::is_same_v<Real, std::int64_t>) {
      if constexpr (std::is_same_v<T, Bool>) {
        for (std::int64_t i = 0; i < count; ++i) buffer[i] = elements[i * stride].byte != 0;
      } else if constexpr (std::is_same_v<T, std::int64_t>) {
        if (stride == 1) {
          values = elements;
        } else {
          for (std::int64_t i = 0; i < count; ++i) buffer[i] = elements[i * stride];
        }
      } else if constexpr (std::is_same_v<T, std::uint64_t>) {
        const bool sum = task.reduction == Reduction::kSum;
        const std::uint64_t flip = sum ? 0 : kSignBit;
        for (std::int64_t i = 0; i < count; ++i) {
          buffer[i] = static_cast<std::int64_t>(elements[i * stride] ^ flip);
        }
      } else if constexpr (std::is_integral_v<T>) {
        for (std::int64_t i = 0; i < count; ++i) buffer[i] = elements[i * stride];
      }
    } else if constexpr (std::is_same_v<T, double> || !std::is_same_v<T, Compute<T>> ||
                         std::is_same_v<T, float>) {
      if constexpr (std::is_same_v<Accumulator<T>, Real>) {
        values = ReadBlock(elements, stride, count, buffer);
      }
    }
  });
  return values;
}

/// The sum of exp(value - most).
inline double PowersOf(const float* values, std::int64_t count, float most) {
  Floats sum = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) sum += Exp(Load(values + i) - most);
  Floats last = Broadcast(-__builtin_inff());
  std::memcpy(&last, values + i, static_cast<std::size_t>(count - i) * sizeof(float));
  Floats powers = Exp(last - most);
  for (std::int64_t lane = count - i; lane < kLanes; ++lane) powers[lane] = 0;
  return static_cast<double>(SumOfLanes(sum + powers));
}
inline double PowersOf(const double* values, std::int64_t count, double most) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += __builtin_exp(values[i] - most);
  return sum;
}

/// Adds a block of elements, of which the first is number `index`. `most` is not null when powers
/// are summed.
template <typename Real>
void Include(const ReduceTask& task, const Real* values, std::int64_t count, std::int64_t index,
             const Real* most, Partial<Real>* partial) {
  if (most != nullptr) {
    if constexpr (!std::is_integral_v<Real>) partial->sum += PowersOf(values, count, *most);
    return;
  }
  if (task.reduction == Reduction::kSum || task.reduction == Reduction::kMean) {
    if constexpr (std::is_integral_v<Real>) {
      std::uint64_t sum = 0;
      for (std::int64_t i = 0; i < count; ++i) sum += static_cast<std::uint64_t>(values[i]);
      partial->integers += sum;
    } else {
      partial->sum += SumOf(values, count);
    }
    return;
  }
  const bool greatest = task.reduction != Reduction::kLeast;
  const Real best = BestOf(greatest, values, count);
  if (partial->index >= 0 && !IsBetter(greatest, best, partial->best)) return;
  partial->best = best;
  if (!task.has_indices) {
    partial->index = index;
    return;
  }
  std::int64_t i = 0;
  while (best != best ? values[i] == values[i] : values[i] != best) ++i;
  partial->index = index + i;
}

/// Adds what `next`, which comes later, knows.
template <typename Real>
void Combine(const ReduceTask& task, const Partial<Real>& next, Partial<Real>* partial) {
  partial->sum += next.sum;
  partial->integers += next.integers;
  if (next.index < 0) return;
  const bool greatest = task.reduction != Reduction::kLeast;
  if (partial->index < 0 || IsBetter(greatest, next.best, partial->best)) {
    partial->best = next.best;
    partial->index = next.index;
  }
}

/// The sum of elements side by side that are narrower than what they are added in; without a
/// buffer in between.
inline double SumOfNarrow(const ReduceTask& task, const char* from, std::int64_t count) {
  if (task.dtype == rt::DataType::kFloat16) {
    return SumOf(reinterpret_cast<const Float16*>(from), count);
  }
  return SumOf(reinterpret_cast<const BFloat16*>(from), count);
}

/// Reduces elements `begin` to `end` of what starts at `from`.
template <typename Real>
Partial<Real> ReduceSegment(const ReduceTask& task, const char* from, std::int64_t begin,
                            std::int64_t end, const Real* most) {
  const auto size = static_cast<std::int64_t>(rt::DataTypeSize(task.dtype));
  const Rows& reduced = task.reduced;
  alignas(64) Real buffer[kRowBlock];
  Partial<Real> partial;
  const bool sums = task.reduction == Reduction::kSum || task.reduction == Reduction::kMean;
  const bool side_by_side =
      std::is_same_v<Real, float> && reduced.inner_stride == 1 && most == nullptr;
  const bool sums_narrow = sums && side_by_side && size < static_cast<std::int64_t>(sizeof(Real));
  // A greatest float is the same whatever the blocks, and needs no buffer.
  const bool any_block = !sums && side_by_side && task.dtype == rt::DataType::kFloat32;
  const std::int64_t block = any_block ? kSegment : kRowBlock;
  std::int64_t row = begin / reduced.length;
  std::int64_t column = begin % reduced.length;
  while (begin < end) {
    std::int64_t count = reduced.length - column;
    if (count > end - begin) count = end - begin;
    if (count > block) count = block;
    const std::int64_t offset = reduced.Offset(row) + column * reduced.inner_stride;
    if (sums_narrow) {
      partial.sum += SumOfNarrow(task, from + offset * size, count);
    } else {
      const Real* values =
          ReadAs<Real>(task, from + offset * size, reduced.inner_stride, count, buffer);
      Include(task, values, count, begin, most, &partial);
    }
    begin += count;
    column += count;
    if (column == reduced.length) {
      column = 0;
      ++row;
    }
  }
  return partial;
}

/// Reduces all that starts at `from`, on several threads when `parallel`.
template <typename Real>
Partial<Real> ReduceAll(const ReduceTask& task, const char* from, bool parallel, const Real* most) {
  const std::int64_t total = task.reduced.count * task.reduced.length;
  const auto segment = [&](std::int64_t number) {
    const std::int64_t begin = number * kSegment;
    const std::int64_t end = total - begin < kSegment ? total : begin + kSegment;
    return ReduceSegment<Real>(task, from, begin, end, most);
  };
  Partial<Real> all;
  const std::int64_t segments = (total + kSegment - 1) / kSegment;
  if (!parallel) {
    for (std::int64_t k = 0; k < segments; ++k) Combine(task, segment(k), &all);
    return all;
  }
  constexpr std::int64_t kBatch = 64;  // partial results that are kept at a time
  for (std::int64_t first = 0; first < segments; first += kBatch) {
    const std::int64_t count = segments - first < kBatch ? segments - first : kBatch;
    Partial<Real> partials[kBatch];
    rt::ParallelFor(count, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k) partials[k] = segment(first + k);
    });
    for (std::int64_t k = 0; k < count; ++k) Combine(task, partials[k], &all);
  }
  return all;
}

/// Writes a value of the type that it was reduced in.
template <typename Real>
void WriteValue(const ReduceTask& task, Real value, char* to) {
  if constexpr (std::is_same_v<Real, float>) {
    if (task.dtype == rt::DataType::kBFloat16) {
      Narrow(value, reinterpret_cast<BFloat16*>(to));
    } else if (task.dtype == rt::DataType::kFloat16) {
      Narrow(value, reinterpret_cast<Float16*>(to));
    } else {
      *reinterpret_cast<float*>(to) = value;
    }
  } else if constexpr (std::is_same_v<Real, double>) {
    *reinterpret_cast<double*>(to) = value;
  } else {
    // The low bytes hold every integer dtype; sums are int64.
    auto bits = static_cast<std::uint64_t>(value);
    std::size_t size = sizeof(bits);
    if (task.reduction != Reduction::kSum) {
      size = rt::DataTypeSize(task.dtype);
      if (task.dtype == rt::DataType::kUInt64) bits ^= kSignBit;
    }
    std::memcpy(to, &bits, size);
  }
}

template <typename Real>
void WriteResult(const ReduceTask& task, const Partial<Real>& partial, char* values, char* indices,
                 Real most) {
  if (task.has_indices) *reinterpret_cast<std::int64_t*>(indices) = partial.index;
  if (!task.has_values) return;
  const auto total = static_cast<double>(task.reduced.count * task.reduced.length);
  switch (task.reduction) {
    case Reduction::kSum:
      if constexpr (std::is_integral_v<Real>) {
        return WriteValue(task, static_cast<Real>(partial.integers), values);
      } else {
        return WriteValue(task, static_cast<Real>(partial.sum), values);
      }
    case Reduction::kMean:
      return WriteValue(task, static_cast<Real>(partial.sum / total), values);
    case Reduction::kLogSumExp:
      if constexpr (!std::is_integral_v<Real>) {
        const double logarithm = __builtin_log(partial.sum);
        return WriteValue(task, static_cast<Real>(static_cast<double>(most) + logarithm), values);
      }
      return;
    default:
      return WriteValue(task, partial.best, values);
  }
}

/// Reduces for each output element the elements that follow one another in memory, or not at all.
template <typename Real>
void ReduceEach(const ReduceTask& task) {
  const std::int64_t total = task.reduced.count * task.reduced.length;
  const auto reduce = [&task](char* const* pointers, bool parallel) {
    Real most = 0;
    Partial<Real> partial;
    if (task.reduction == Reduction::kLogSumExp) {
      if (task.reduced.count * task.reduced.length == 0) {
        most = static_cast<Real>(-__builtin_inf());
      } else {
        most = ReduceAll<Real>(task, pointers[1], parallel, nullptr).best;
        // An infinite greatest element leaves no finite distance to it.
        const Real base = most - most == 0 ? most : Real{0};
        partial = ReduceAll<Real>(task, pointers[1], parallel, &base);
        most = base;
      }
    } else {
      partial = ReduceAll<Real>(task, pointers[1], parallel, nullptr);
    }
    WriteResult(task, partial, pointers[0], pointers[2], most);
  };
  if (task.kept.count < 64 && total > kSegment) {
    for (std::int64_t index = 0; index < task.kept.count; ++index) {
      char* pointers[3];
      Locate(task.kept, index, pointers);
      reduce(pointers, true);
    }
    return;
  }
  const std::int64_t grain = kElementGrain / (total > 0 ? total : 1);
  rt::ParallelFor(task.kept.count, grain > 0 ? grain : 1,
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t index = begin; index < end; ++index) {
                      char* pointers[3];
                      Locate(task.kept, index, pointers);
                      reduce(pointers, false);
                    }
                  });
}

/// Whether output elements lie side by side in the input while what each reduces does not.
inline bool ReducesColumns(const ReduceTask& task) {
  const auto size = static_cast<std::int64_t>(rt::DataTypeSize(task.dtype));
  return task.kept.strides[0][1] == size && task.kept.sizes[0] > 1 &&
         task.reduced.inner_stride != 1 && task.reduction != Reduction::kLogSumExp;
}

/// Output elements that are reduced side by side.
inline constexpr std::int64_t kColumns = 256;
/// Rows whose sum is kept in the accumulation dtype before it goes to a double.
inline constexpr std::int64_t kRowsOfSum = 64;

/// Reduces side by side columns of which each is one output element.
template <typename Real>
void ReduceColumnBlock(const ReduceTask& task, char* const* pointers, std::int64_t width) {
  const auto size = static_cast<std::int64_t>(rt::DataTypeSize(task.dtype));
  const Rows& reduced = task.reduced;
  alignas(64) Real buffer[kColumns];
  alignas(64) Real sums[kColumns];
  alignas(64) double totals[kColumns] = {};
  alignas(64) std::uint64_t integers[kColumns] = {};
  alignas(64) Real best[kColumns];
  alignas(64) std::int64_t index[kColumns] = {};
  const bool sum = task.reduction == Reduction::kSum || task.reduction == Reduction::kMean;
  const bool greatest = task.reduction != Reduction::kLeast;
  const std::int64_t total = reduced.count * reduced.length;
  std::int64_t number = 0;
  for (std::int64_t row = 0; row < reduced.count; ++row) {
    const std::int64_t start = reduced.Offset(row);
    for (std::int64_t i = 0; i < reduced.length; ++i, ++number) {
      const char* from = pointers[1] + (start + i * reduced.inner_stride) * size;
      const Real* values = ReadAs<Real>(task, from, 1, width, buffer);
      if (sum) {
        if constexpr (std::is_integral_v<Real>) {
          for (std::int64_t k = 0; k < width; ++k) {
            integers[k] += static_cast<std::uint64_t>(values[k]);
          }
        } else {
          if (number % kRowsOfSum == 0) {
            std::memcpy(sums, values, static_cast<std::size_t>(width) * sizeof(Real));
          } else {
            INFINI_OPS_INDEPENDENT
            for (std::int64_t k = 0; k < width; ++k) sums[k] += values[k];
          }
          if (number % kRowsOfSum == kRowsOfSum - 1 || number == total - 1) {
            for (std::int64_t k = 0; k < width; ++k) totals[k] += static_cast<double>(sums[k]);
          }
        }
      } else if (number == 0) {
        std::memcpy(best, values, static_cast<std::size_t>(width) * sizeof(Real));
      } else if (!task.has_indices) {
        for (std::int64_t k = 0; k < width; ++k) {
          best[k] = IsBetter(greatest, values[k], best[k]) ? values[k] : best[k];
        }
      } else {
        for (std::int64_t k = 0; k < width; ++k) {
          const bool better = IsBetter(greatest, values[k], best[k]);
          best[k] = better ? values[k] : best[k];
          index[k] = better ? number : index[k];
        }
      }
    }
  }
  for (std::int64_t k = 0; k < width; ++k) {
    Partial<Real> partial;
    partial.sum = totals[k];
    partial.integers = integers[k];
    if (!sum && total > 0) partial.best = best[k];
    partial.index = index[k];
    WriteResult(task, partial, pointers[0] + k * task.kept.strides[0][0],
                pointers[2] + k * task.kept.strides[0][2], Real{0});
  }
}

template <typename Real>
void ReduceColumns(const ReduceTask& task) {
  const std::int64_t inner = task.kept.sizes[0];
  const std::int64_t blocks = (inner + kColumns - 1) / kColumns;
  const std::int64_t total = task.reduced.count * task.reduced.length;
  const std::int64_t grain = kElementGrain / ((total > 0 ? total : 1) * kColumns);
  rt::ParallelFor(task.kept.count / inner * blocks, grain > 0 ? grain : 1,
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t index = begin; index < end; ++index) {
                      const std::int64_t first = index % blocks * kColumns;
                      char* pointers[3];
                      Locate(task.kept, index / blocks * inner + first, pointers);
                      const std::int64_t left = inner - first;
                      ReduceColumnBlock<Real>(task, pointers, left < kColumns ? left : kColumns);
                    }
                  });
}

void Run(const ReduceTask& task) {
  const auto run = [&task]<typename Real>(Type<Real>) {
    if (ReducesColumns(task)) {
      ReduceColumns<Real>(task);
    } else {
      ReduceEach<Real>(task);
    }
  };
  switch (task.dtype) {
    case rt::DataType::kFloat32:
    case rt::DataType::kBFloat16:
    case rt::DataType::kFloat16:
      return run(Type<float>());
    case rt::DataType::kFloat64:
      return run(Type<double>());
    default:
      return run(Type<std::int64_t>());
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_SHARED_REDUCE_H_
