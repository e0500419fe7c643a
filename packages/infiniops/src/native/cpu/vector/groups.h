// Dot products with groups of 4-bit numbers, a few rows at a time.
//
// A lane takes 32 bits of the weight: eight neighbours, which lie in one group. A block is a vector
// of them, and is multiplied in steps, for which x is packed beforehand. A lane's sum of products
// times the scale is added to the result's lanes, and its sum of x times the group's zero and scale
// is taken away.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_GROUPS_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_GROUPS_H_

#include <type_traits>

#include "native/cpu/shared/quantized.h"
#include "native/cpu/vector/blocks.h"
#include "native/cpu/vector/math.h"
#include "native/cpu/vector/simd.h"
#include "native/cpu/vector/transpose.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// Numbers in a lane, and in a vector of the weight.
inline constexpr std::int64_t kLaneNumbers = 8;
inline constexpr std::int64_t kGroupBlock = kLanes * kLaneNumbers;
/// Most rows of x that share a reading of the weight, and columns that are read at once.
inline constexpr std::int64_t kGroupRows = 4;
inline constexpr std::int64_t kGroupColumns = 4;

/// Whether the weight's rows are as `StreamGroups` reads them.
inline bool IsStreamable(const QuantizedTask& task) {
  return task.group > 0 && task.group % kLaneNumbers == 0 && task.weight_inner_stride == 1 &&
         task.weight_group_stride == task.group / 2;
}

/// Reads the first `count` lanes of a block, the others as zeros.
inline Words ReadLanes(const char* from, std::int64_t count) {
#if defined(__AVX512F__)
  const auto mask = static_cast<__mmask16>((1u << count) - 1);
  return __builtin_bit_cast(Words, _mm512_maskz_loadu_epi32(mask, from));
#else
  Words words = {};
  std::memcpy(&words, from, static_cast<std::size_t>(count) * 4);
  return words;
#endif
}
inline Words ReadLanes(const char* from) {
  Words words;
  std::memcpy(&words, from, sizeof(words));
  return words;
}

/// Bytes of a vector.
inline constexpr std::int64_t kVectorBytes = kLanes * 4;

/// How the blocks of the weight are multiplied with x: here in float32. A packed block of x is
/// `kSteps` vectors, then the sums of x in each lane as floats, then these times `-kOffset`: what
/// `Unpack` adds to each number.
struct FloatSteps {
  static constexpr int kSteps = 8;
  static constexpr int kOffset = 0;
  using Sum = Floats;
  using Numbers = Floats;

  /// Number `s` of every lane.
  template <int s>
  static Numbers Unpack(Words words) {
#if defined(__AVX512F__)
    // The permutation looks at four bits of each lane alone.
    const __m512 numbers = _mm512_set_ps(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i places = _mm512_srli_epi32(__builtin_bit_cast(__m512i, words), 4 * s);
    return _mm512_permutexvar_ps(places, numbers);
#else
    return __builtin_convertvector(__builtin_bit_cast(Ints, (words >> (4 * s)) & 15u), Floats);
#endif
  }
  static Sum Add(Numbers numbers, const char* x, Sum sum) {
    return MultiplyAdd(numbers, Load(reinterpret_cast<const float*>(x)), sum);
  }
  static Floats Finish(Sum sum) { return sum; }
  /// Writes the vectors of a packed block; `places[i]` has number i of every lane.
  static void Pack(const Floats (&places)[kLaneNumbers], char* to) {
    std::memcpy(to, places, sizeof(places));
  }
};

#if defined(__AVX512BF16__)
/// With the bf16 dot, of x that is bf16.
struct BFloat16Steps {
  static constexpr int kSteps = 4;
  static constexpr int kOffset = 16;
  using Sum = Floats;
  using Numbers = __m512i;

  /// Numbers `s` and `s` + 4 of every lane. From 16 to 32, a bfloat16 counts eighths with its seven
  /// bits, so a number is put into its place there; a table would keep the units that shuffle busy.
  template <int s>
  static Numbers Unpack(Words words) {
    const auto lanes = __builtin_bit_cast(__m512i, words);
    const __m512i places =
        s == 0 ? _mm512_slli_epi16(lanes, 3) : _mm512_srli_epi16(lanes, 4 * s - 3);
    constexpr int kAndOr = 0xea;  // first & second | third
    return _mm512_ternarylogic_epi32(places, _mm512_set1_epi16(0x78), _mm512_set1_epi16(0x4180),
                                     kAndOr);
  }
  static Sum Add(Numbers numbers, const char* x, Sum sum) {
    return Arithmetic<BFloat16>::Add(numbers, _mm512_loadu_si512(x), sum);
  }
  static Floats Finish(Sum sum) { return sum; }
  static void Pack(const Floats (&places)[kLaneNumbers], char* to) {
    for (int s = 0; s < kSteps; ++s) {
      const Words low = __builtin_bit_cast(Words, places[s]) >> 16;
      const Words high = __builtin_bit_cast(Words, places[s + 4]) & 0xffff0000u;
      const Words both = low | high;
      std::memcpy(to + s * kVectorBytes, &both, sizeof(both));
    }
  }
};
#endif

#if defined(__AVX512VNNI__)
/// With the 8-bit dot, of x that is whole numbers of 8 bits.
struct WholeSteps8 {
  static constexpr int kSteps = 2;
  static constexpr int kOffset = 0;
  using Sum = __m512i;
  using Numbers = __m512i;

  /// The even numbers of every lane, or the odd ones.
  template <int s>
  static Numbers Unpack(Words words) {
    return __builtin_bit_cast(__m512i, (words >> (4 * s)) & 0x0f0f0f0fu);
  }
  static Sum Add(Numbers numbers, const char* x, Sum sum) {
    return _mm512_dpbusd_epi32(sum, numbers, _mm512_loadu_si512(x));
  }
  static Floats Finish(Sum sum) { return _mm512_cvtepi32_ps(sum); }
  static void Pack(const Floats (&places)[kLaneNumbers], char* to) {
    for (int s = 0; s < kSteps; ++s) {
      Words bytes = {};
      for (int i = 0; i < 4; ++i) {
        const auto numbers = __builtin_convertvector(places[s + 2 * i], Ints);
        bytes |= (__builtin_bit_cast(Words, numbers) & 0xffu) << (8 * i);
      }
      std::memcpy(to + s * kVectorBytes, &bytes, sizeof(bytes));
    }
  }
};
#endif

/// Bytes of a packed block of x.
template <class Steps>
inline constexpr std::int64_t kPackedBlock =
    (Steps::kSteps + (Steps::kOffset != 0 ? 2 : 1)) * kVectorBytes;

/// Packs one block of a row of x.
template <class Steps>
void PackGroupBlock(const float* line, char* to) {
  Floats places[kLaneNumbers];
  for (int i = 0; i < kLaneNumbers; ++i) places[i] = Load(line + i * kLanes);
  Transpose(places);
  Steps::Pack(places, to);
  Floats sums = places[0];
  for (int i = 1; i < kLaneNumbers; ++i) sums += places[i];
  auto* to_sums = reinterpret_cast<float*>(to + Steps::kSteps * kVectorBytes);
  Store(sums, to_sums);
  if constexpr (Steps::kOffset != 0) {
    Store(sums * -static_cast<float>(Steps::kOffset), to_sums + kLanes);
  }
}

/// Packs `rows` rows of x, of `depth` elements, to rows of `stride` bytes; `read(row, k, count,
/// line)` reads `count` elements of a row as floats.
template <class Steps, typename Read>
void PackGroupRows(std::int64_t rows, std::int64_t depth, Read read, char* to,
                   std::int64_t stride) {
  for (std::int64_t row = 0; row < rows; ++row) {
    char* block = to + row * stride;
    for (std::int64_t k = 0; k < depth; k += kGroupBlock, block += kPackedBlock<Steps>) {
      alignas(64) float line[kGroupBlock] = {};
      read(row, k, Least(kGroupBlock, depth - k), line);
      PackGroupBlock<Steps>(line, block);
    }
  }
}

/// How long groups are, in lanes: a block lies in one of them, has some of 4 or 8 lanes, or any.
enum class GroupKind { kWhole, kFour, kEight, kAny };

#if defined(__AVX512F__)
/// A mask of the first `count` of four groups.
inline __mmask8 GroupsLeft(std::int64_t count) {
  return count >= 4 ? 15 : static_cast<__mmask8>((1u << count) - 1);
}
#endif

/// The numbers of the groups of one row of the weight.
template <GroupKind kind>
struct GroupRow {
  const float* numbers;
  std::int64_t stride;
  std::int64_t lanes;  // of a group
  std::int64_t ahead;  // numbers to the row that is wanted soon

  void Prefetch(std::int64_t lane) const {
    __builtin_prefetch(numbers + lane / lanes * stride + ahead, 0, 2);
  }

  /// A number for each lane of the block that begins with lane `first` of the row and lies in
  /// `group` where it lies in one; `rest` lanes of the row are left, a whole block's if `kFull`.
  template <bool kFull>
  Floats Read(std::int64_t first, std::int64_t group, std::int64_t rest) const {
    if constexpr (kind == GroupKind::kWhole) return Broadcast(numbers[group * stride]);
#if defined(__AVX512F__)
    // Broadcasts of what lies in memory cost no shuffle.
    if constexpr (kind == GroupKind::kFour) {
      const float* from = numbers + first / 4;
      const __m128 four =
          kFull ? _mm_loadu_ps(from) : _mm_maskz_loadu_ps(GroupsLeft(rest / 4), from);
      return _mm512_permutevar_ps(_mm512_broadcast_f32x4(four),
                                  _mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0));
    } else if constexpr (kind == GroupKind::kEight) {
      const float* from = numbers + first / 8;
      const __m128 two = kFull ? _mm_castsi128_ps(_mm_loadu_si64(from))
                               : _mm_maskz_loadu_ps(GroupsLeft(rest / 8) & 3, from);
      return _mm512_permutevar_ps(_mm512_broadcast_f32x2(two),
                                  _mm512_set_epi32(1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0));
    }
#endif
    alignas(64) float result[kLanes] = {};
    for (std::int64_t lane = 0; lane < kLanes && lane < rest; ++lane) {
      result[lane] = numbers[(first + lane) / lanes * stride];
    }
    return Load(result);
  }
};

/// Writes the products of `kRows` packed rows of x, `x_stride` bytes apart, with the rows of the
/// weight that `block` names.
template <class Steps, int kRows, GroupKind kind>
void StreamGroupRows(const QuantizedTask& task, const char* x, std::int64_t x_stride,
                     const OutputBlock& block, float* sums, std::int64_t sums_stride) {
  const std::int64_t lanes_of_row = task.x.length / kLaneNumbers;
  const std::int64_t group_lanes = task.group / kLaneNumbers;
  const std::int64_t group_blocks = group_lanes / kLanes;  // where a block lies in one group
  const std::int64_t ahead = StreamAhead(lanes_of_row * 4, task.weight_row_stride, kGroupColumns);
  const bool has_zeros = task.zero.data != nullptr;
  const std::int64_t rows_ahead = StreamAhead(lanes_of_row * 4, 1, kGroupColumns);
  const auto row_of = [group_lanes, rows_ahead](const GroupNumbers& from, std::int64_t column) {
    const auto* numbers = reinterpret_cast<const float*>(from.data);
    return GroupRow<kind>{numbers == nullptr ? nullptr : numbers + column * from.row_stride,
                          from.group_stride, group_lanes, rows_ahead * from.row_stride};
  };
  for (std::int64_t j = 0; j < block.columns; j += kGroupColumns) {
    const std::int64_t count = Least(kGroupColumns, block.columns - j);
    const char* weight[kGroupColumns];
    GroupRow<kind> scales[kGroupColumns];
    GroupRow<kind> zeros[kGroupColumns];
    for (int c = 0; c < kGroupColumns; ++c) {
      const std::int64_t column = block.column + j + (c < count ? c : count - 1);
      weight[c] = task.weight + column * task.weight_row_stride;
      scales[c] = row_of(task.scale, column);
      zeros[c] = row_of(task.zero, column);
    }
    std::int64_t group = 0;
    std::int64_t group_rest = group_blocks;
    Floats total[kRows][kGroupColumns] = {};
    const auto add = [&]<bool kFull>(std::bool_constant<kFull>, std::int64_t first,
                                     const auto& read) {
      const char* packed = x + first / kLanes * kPackedBlock<Steps>;
      typename Steps::Sum dots[kRows][kGroupColumns] = {};
      if constexpr (Steps::kOffset != 0) {
#pragma GCC unroll 4
        for (int i = 0; i < kRows; ++i) {
          const char* start = packed + i * x_stride + (Steps::kSteps + 1) * kVectorBytes;
#pragma GCC unroll 4
          for (auto& sum : dots[i]) sum = Load(reinterpret_cast<const float*>(start));
        }
      }
      Words words[kGroupColumns];
#pragma GCC unroll 4
      for (int c = 0; c < kGroupColumns; ++c) words[c] = read(c);
      const auto step = [&]<int s>() {
        if constexpr (s < Steps::kSteps) {
#pragma GCC unroll 4
          for (int c = 0; c < kGroupColumns; ++c) {
            const typename Steps::Numbers numbers = Steps::template Unpack<s>(words[c]);
#pragma GCC unroll 4
            for (int i = 0; i < kRows; ++i) {
              dots[i][c] =
                  Steps::Add(numbers, packed + i * x_stride + s * kVectorBytes, dots[i][c]);
            }
          }
        }
      };
      step.template operator()<0>();
      step.template operator()<1>();
      step.template operator()<2>();
      step.template operator()<3>();
      step.template operator()<4>();
      step.template operator()<5>();
      step.template operator()<6>();
      step.template operator()<7>();
      const std::int64_t rest = lanes_of_row - first;
#pragma GCC unroll 4
      for (int c = 0; c < kGroupColumns; ++c) {
        const Floats scale = scales[c].template Read<kFull>(first, group, rest);
        const Floats zero =
            has_zeros ? zeros[c].template Read<kFull>(first, group, rest) : Broadcast(8);
#pragma GCC unroll 4
        for (int i = 0; i < kRows; ++i) {
          const char* x_sum = packed + i * x_stride + Steps::kSteps * kVectorBytes;
          const Floats dot = MultiplyAdd(-zero, Load(reinterpret_cast<const float*>(x_sum)),
                                         Steps::Finish(dots[i][c]));
          total[i][c] = MultiplyAdd(scale, dot, total[i][c]);
        }
      }
      if (kind == GroupKind::kWhole && --group_rest == 0) {
        ++group;
        group_rest = group_blocks;
      }
    };
    std::int64_t first = 0;
    for (; first + kLanes <= lanes_of_row; first += kLanes) {
      if (first % (4 * kLanes) == 0) {
        for (int c = 0; c < kGroupColumns; ++c) {
          scales[c].Prefetch(first);
          if (has_zeros) zeros[c].Prefetch(first);
        }
      }
      add(std::true_type(), first, [&](int c) {
        __builtin_prefetch(weight[c] + first * 4 + ahead, 0, 2);
        return ReadLanes(weight[c] + first * 4);
      });
    }
    if (first < lanes_of_row) {
      for (int c = 0; c < kGroupColumns; ++c) {
        scales[c].Prefetch(lanes_of_row - 1);
        if (has_zeros) zeros[c].Prefetch(lanes_of_row - 1);
      }
      add(std::false_type(), first, [&](int c) {
        // Its last byte: rows that end within a line share it with the next row, or do not.
        __builtin_prefetch(weight[c] + lanes_of_row * 4 - 1 + ahead, 0, 2);
        return ReadLanes(weight[c] + first * 4, lanes_of_row - first);
      });
    }
    for (int i = 0; i < kRows; ++i) {
      const FourFloats four = SumLanes(total[i][0], total[i][1], total[i][2], total[i][3]);
      for (std::int64_t c = 0; c < count; ++c) sums[i * sums_stride + j + c] = four[c];
    }
  }
}

/// The same for `rows` rows, at most `kGroupRows`.
template <class Steps, GroupKind kind, int kRows = kGroupRows>
void StreamGroupRowsOf(std::int64_t rows, const QuantizedTask& task, const char* x,
                       std::int64_t x_stride, const OutputBlock& block, float* sums,
                       std::int64_t sums_stride) {
  if (rows == kRows) {
    StreamGroupRows<Steps, kRows, kind>(task, x, x_stride, block, sums, sums_stride);
  } else if constexpr (kRows > 1) {
    StreamGroupRowsOf<Steps, kind, kRows - 1>(rows, task, x, x_stride, block, sums, sums_stride);
  }
}

template <class Steps, GroupKind kind>
void StreamGroupsOf(const QuantizedTask& task, const char* x, std::int64_t x_stride,
                    const OutputBlock& block, float* sums, std::int64_t sums_stride) {
  for (std::int64_t row = 0; row < block.rows; row += kGroupRows) {
    StreamGroupRowsOf<Steps, kind>(Least(kGroupRows, block.rows - row), task,
                                   x + (block.row + row) * x_stride, x_stride, block,
                                   sums + row * sums_stride, sums_stride);
  }
}

/// The products of all packed rows of x that `block` names with its rows of the weight.
template <class Steps>
void StreamGroups(const QuantizedTask& task, const char* x, std::int64_t x_stride,
                  const OutputBlock& block, float* sums, std::int64_t sums_stride) {
  const std::int64_t lanes = task.group / kLaneNumbers;
  const bool adjacent =
      task.scale.group_stride == 1 && (task.zero.data == nullptr || task.zero.group_stride == 1);
  if (lanes % kLanes == 0) {
    StreamGroupsOf<Steps, GroupKind::kWhole>(task, x, x_stride, block, sums, sums_stride);
  } else if (adjacent && lanes == 4) {
    StreamGroupsOf<Steps, GroupKind::kFour>(task, x, x_stride, block, sums, sums_stride);
  } else if (adjacent && lanes == 8) {
    StreamGroupsOf<Steps, GroupKind::kEight>(task, x, x_stride, block, sums, sums_stride);
  } else {
    StreamGroupsOf<Steps, GroupKind::kAny>(task, x, x_stride, block, sums, sums_stride);
  }
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_GROUPS_H_
