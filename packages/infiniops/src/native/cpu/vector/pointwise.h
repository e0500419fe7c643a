// Runs functions over the elements of a loop nest, block by block.
//
// A *block* is a run of elements that lie side by side in every operand. Operands with other
// strides are copied to a buffer in the first-level cache before, and scattered from one after, so
// a function is compiled for one layout alone. 16-bit floats are widened in registers and rounded
// once.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_POINTWISE_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_POINTWISE_H_

#include <cstring>
#include <type_traits>

#include "native/cpu/pointwise.h"
#include "native/cpu/vector/arithmetic.h"
#include "native/cpu/vector/elementwise.h"
#include "native/cpu/vector/math.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// Elements of a block that is not used in place.
inline constexpr std::int64_t kBlockElements = 512;

/// Computes `count` elements; `function` is what `RunBlocks` was given.
using BlockFunction = void (*)(const char* const* inputs, char* out, std::int64_t count,
                               const void* function);

/// Copies `count` elements of `size` bytes between strides of `from_step` and `to_step` bytes.
template <typename Word>
void CopyStridedWords(const char* from, std::int64_t from_step, char* to, std::int64_t to_step,
                      std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    Word word;
    std::memcpy(&word, from + i * from_step, sizeof(word));
    std::memcpy(to + i * to_step, &word, sizeof(word));
  }
}

inline void CopyStrided(const char* from, std::int64_t from_step, char* to, std::int64_t to_step,
                        std::int64_t size, std::int64_t count) {
  VisitElementSize(size, [&]<typename Word>(Type<Word>) {
    CopyStridedWords<Word>(from, from_step, to, to_step, count);
  });
}

/// Calls `block` for all elements of `loop`; `sizes` are the operands' element sizes.
template <int kOperands>
void RunBlocks(const StridedLoop<kOperands>& loop, const std::int64_t (&sizes)[kOperands],
               BlockFunction block, const void* function) {
  ForEachRun(loop, [&](char* const* pointers, const std::int64_t* strides, std::int64_t count) {
    bool in_place[kOperands];
    bool all = true;
    for (int k = 0; k < kOperands; ++k) {
      in_place[k] = strides[k] == sizes[k] || count == 1;
      all &= in_place[k];
    }
    if (all) {
      block(pointers + 1, pointers[0], count, function);
      return;
    }
    alignas(64) char buffers[kOperands][kBlockElements * 16];
    const std::int64_t most = count < kBlockElements ? count : kBlockElements;
    const char* inputs[kOperands - 1];
    for (int k = 1; k < kOperands; ++k) {
      inputs[k - 1] = in_place[k] ? pointers[k] : buffers[k];
      // One value for the whole run.
      if (!in_place[k] && strides[k] == 0) {
        CopyStrided(pointers[k], 0, buffers[k], sizes[k], sizes[k], most);
      }
    }
    for (std::int64_t begin = 0; begin < count; begin += most) {
      const std::int64_t length = count - begin < most ? count - begin : most;
      for (int k = 1; k < kOperands; ++k) {
        if (in_place[k]) {
          inputs[k - 1] = pointers[k] + begin * sizes[k];
        } else if (strides[k] != 0) {
          CopyStrided(pointers[k] + begin * strides[k], strides[k], buffers[k], sizes[k], sizes[k],
                      length);
        }
      }
      char* out = in_place[0] ? pointers[0] + begin * sizes[0] : buffers[0];
      block(inputs, out, length, function);
      if (!in_place[0]) {
        CopyStrided(out, sizes[0], pointers[0] + begin * strides[0], strides[0], sizes[0], length);
      }
    }
  });
}

/// Calls a function of vectors of floats for results stored as `T`, with `ForBFloat16` where those
/// are and it takes that.
template <typename T, typename Function, class... Values>
Floats ApplyFor(const Function& function, Values... values) {
  if constexpr (std::is_same_v<T, BFloat16> &&
                std::is_invocable_v<const Function&, Values..., ForBFloat16>) {
    return function(values..., ForBFloat16());
  } else {
    return function(values...);
  }
}

/// The block of a function of vectors of floats over operands stored as `T`.
template <typename T, int kInputs, typename Function>
void FloatBlock(const char* const* inputs, char* out, std::int64_t count, const void* function) {
  const Function& apply = *static_cast<const Function*>(function);
  const T* a = reinterpret_cast<const T*>(inputs[0]);
  const T* b = reinterpret_cast<const T*>(inputs[kInputs > 1 ? 1 : 0]);
  T* to = reinterpret_cast<T*>(out);
  const auto vector = [&apply](const T* x, const T* y, T* target) {
    if constexpr (kInputs == 1) {
      Store(ApplyFor<T>(apply, Load(x)), target);
    } else {
      Store(ApplyFor<T>(apply, Load(x), Load(y)), target);
    }
  };
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) vector(a + i, b + i, to + i);
  if (i == count) return;
  T x[kLanes] = {};
  T y[kLanes] = {};
  const auto bytes = static_cast<std::size_t>(count - i) * sizeof(T);
  std::memcpy(x, a + i, bytes);
  if constexpr (kInputs > 1) std::memcpy(y, b + i, bytes);
  vector(x, y, x);
  std::memcpy(to + i, x, bytes);
}

/// The block of a function of single elements stored and computed as `T`.
template <typename T, int kInputs, typename Function>
void ElementBlock(const char* const* inputs, char* out, std::int64_t count, const void* function) {
  const Function& apply = *static_cast<const Function*>(function);
  const T* a = reinterpret_cast<const T*>(inputs[0]);
  const T* b = reinterpret_cast<const T*>(inputs[kInputs > 1 ? 1 : 0]);
  T* to = reinterpret_cast<T*>(out);
  INFINI_OPS_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) {
    if constexpr (kInputs == 1) {
      to[i] = apply(a[i]);
    } else {
      to[i] = apply(a[i], b[i]);
    }
  }
}

/// Number of inputs of a task.
template <class Task>
inline constexpr int kInputsOf = sizeof(Task::loop.data) / sizeof(char*) - 1;

template <typename T, class Task>
void RunTaskBlocks(const Task& task, BlockFunction block, const void* function) {
  std::int64_t sizes[kInputsOf<Task> + 1];
  for (std::int64_t& size : sizes) size = static_cast<std::int64_t>(sizeof(T));
  RunBlocks(task.loop, sizes, block, function);
}

/// Runs a task on a floating dtype; `function` takes and returns `Floats` and `double`; see
/// `ApplyFor`.
template <class Task, typename Function>
void RunFloating(const Task& task, Function function) {
  constexpr int kInputs = kInputsOf<Task>;
  switch (task.dtype) {
    case rt::DataType::kFloat32:
      return RunTaskBlocks<float>(task, &FloatBlock<float, kInputs, Function>, &function);
    case rt::DataType::kBFloat16:
      return RunTaskBlocks<BFloat16>(task, &FloatBlock<BFloat16, kInputs, Function>, &function);
    case rt::DataType::kFloat16:
      return RunTaskBlocks<Float16>(task, &FloatBlock<Float16, kInputs, Function>, &function);
    default:
      return RunTaskBlocks<double>(task, &ElementBlock<double, kInputs, Function>, &function);
  }
}

/// Runs a task on elements of `T` one by one.
template <typename T, class Task, typename Function>
void RunElements(const Task& task, Function function) {
  RunTaskBlocks<T>(task, &ElementBlock<T, kInputsOf<Task>, Function>, &function);
}

/// Runs a task on an integer dtype; `function` takes and returns any integer type.
template <class Task, typename Function>
void RunIntegers(const Task& task, Function function) {
  switch (task.dtype) {
    case rt::DataType::kInt8:
      return RunElements<std::int8_t>(task, function);
    case rt::DataType::kInt16:
      return RunElements<std::int16_t>(task, function);
    case rt::DataType::kInt32:
      return RunElements<std::int32_t>(task, function);
    case rt::DataType::kInt64:
      return RunElements<std::int64_t>(task, function);
    case rt::DataType::kUInt8:
      return RunElements<std::uint8_t>(task, function);
    case rt::DataType::kUInt16:
      return RunElements<std::uint16_t>(task, function);
    case rt::DataType::kUInt32:
      return RunElements<std::uint32_t>(task, function);
    default:
      return RunElements<std::uint64_t>(task, function);
  }
}

/// The same where only the size of the integers matters: `function` takes unsigned ones.
template <class Task, typename Function>
void RunIntegersBySize(const Task& task, Function function) {
  switch (rt::DataTypeSize(task.dtype)) {
    case 1:
      return RunElements<std::uint8_t>(task, function);
    case 2:
      return RunElements<std::uint16_t>(task, function);
    case 4:
      return RunElements<std::uint32_t>(task, function);
    default:
      return RunElements<std::uint64_t>(task, function);
  }
}

/// Runs a task on the bits of a floating dtype; `function` takes those of an element and the sign
/// bit alone, as unsigned integers.
template <class Task, typename Function>
void RunSignBits(const Task& task, Function function) {
  RunIntegersBySize(task, [function](auto bits) {
    using Bits = decltype(bits);
    constexpr auto kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
    return static_cast<Bits>(function(bits, kSign));
  });
}

/// Runs a task on complex numbers.
template <class Task, typename Function>
void RunComplex(const Task& task, Function function) {
  if (task.dtype == rt::DataType::kComplex64) {
    RunElements<Complex<float>>(task, function);
  } else {
    RunElements<Complex<double>>(task, function);
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_POINTWISE_H_
