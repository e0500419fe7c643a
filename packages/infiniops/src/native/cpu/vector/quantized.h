// Products with weights of few bits, widened in registers.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_QUANTIZED_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_QUANTIZED_H_

#include "native/cpu/shared/quantized.h"
#include "native/cpu/vector/blocks.h"
#include "native/cpu/vector/elementwise.h"
#include "native/cpu/vector/groups.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// What every product of a `QuantizedTask` needs: rows of x as floats, and the end of a row.
template <typename T>
class QuantizedBase {
 public:
  explicit QuantizedBase(const QuantizedTask& task) : task_(task) {}

 protected:
  std::int64_t rows() const { return task_.x.count; }
  std::int64_t columns() const { return task_.out.length; }
  std::int64_t depth() const { return task_.x.length; }

  /// Copies `count` elements of a row of x, as they are or as floats.
  template <typename Wide>
  void ReadX(std::int64_t row, std::int64_t k, std::int64_t count, Wide* to) const {
    const T* from =
        reinterpret_cast<const T*>(task_.x.data) + task_.x.Offset(row) + k * task_.x.inner_stride;
    ReadElements(from, task_.x.inner_stride, count, to);
  }

  template <typename Wide>
  static void ReadElements(const T* from, std::int64_t stride, std::int64_t count, Wide* to) {
    if constexpr (std::is_same_v<T, Wide>) {
      for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
    } else {
      Gather<T>(reinterpret_cast<const char*>(from), stride * static_cast<std::int64_t>(sizeof(T)),
                count, to);
    }
  }

  float ScaleOf(std::int64_t column, std::int64_t group) const {
    return reinterpret_cast<const float*>(
        task_.scale.data)[column * task_.scale.row_stride + group * task_.scale.group_stride];
  }
  float ZeroOf(std::int64_t column, std::int64_t group) const {
    if (task_.zero.data == nullptr) return 8;
    return reinterpret_cast<const float*>(
        task_.zero.data)[column * task_.zero.row_stride + group * task_.zero.group_stride];
  }

  /// Copies 4-bit numbers to one byte each: pairs that lie `stride` bytes apart.
  static void UnpackPairs(const char* from, std::int64_t stride, std::int64_t pairs,
                          std::int8_t* to) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(from);
    std::int64_t i = 0;
#if defined(__AVX512F__)
    for (; stride == 1 && i + 32 <= pairs; i += 32) {
      const __m512i wide =
          _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes + i)));
      const __m512i both = _mm512_or_si512(_mm512_slli_epi16(wide, 4), wide);
      _mm512_storeu_si512(to + 2 * i, _mm512_and_si512(both, _mm512_set1_epi8(15)));
    }
#endif
#if defined(__AVX2__)
    for (; stride == 1 && i + 16 <= pairs; i += 16) {
      const __m256i wide =
          _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + i)));
      const __m256i both = _mm256_or_si256(_mm256_slli_epi16(wide, 4), wide);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 2 * i),
                          _mm256_and_si256(both, _mm256_set1_epi8(15)));
    }
#endif
    for (; i < pairs; ++i) {
      to[2 * i] = static_cast<std::int8_t>(bytes[i * stride] & 15);
      to[2 * i + 1] = static_cast<std::int8_t>(bytes[i * stride] >> 4);
    }
  }

  /// Adds the bias to the rows of a block and stores them.
  void Write(const OutputBlock& block, float* sums, std::int64_t sums_stride) const {
    constexpr std::int64_t kPart = 256;
    float bias[kPart];
    for (std::int64_t begin = 0; begin < block.columns; begin += kPart) {
      const std::int64_t count = Least(kPart, block.columns - begin);
      const std::int64_t column = block.column + begin;
      if (task_.bias != nullptr) {
        ReadElements(reinterpret_cast<const T*>(task_.bias) + column * task_.bias_stride,
                     task_.bias_stride, count, bias);
      }
      for (std::int64_t i = 0; i < block.rows; ++i) {
        float* values = sums + i * sums_stride + begin;
        if (task_.bias != nullptr) {
          for (std::int64_t j = 0; j < count; ++j) values[j] += bias[j];
        }
        T* row = reinterpret_cast<T*>(task_.out.data) + task_.out.Offset(block.row + i) +
                 column * task_.out.inner_stride;
        if constexpr (std::is_same_v<T, float>) {
          for (std::int64_t j = 0; j < count; ++j) row[j * task_.out.inner_stride] = values[j];
        } else {
          Scatter<T>(values, count, reinterpret_cast<char*>(row),
                     task_.out.inner_stride * static_cast<std::int64_t>(sizeof(T)));
        }
      }
    }
  }

  const QuantizedTask& task_;
};

/// The product in float32, with rows of x stored as `T`.
template <typename T>
class QuantizedProduct : QuantizedBase<T> {
  using Base = QuantizedBase<T>;
  using Base::columns;
  using Base::depth;
  using Base::rows;
  using Base::task_;

 public:
  using Base::Base;

  void Run() const {
    const bool few = rows() <= kFewRows;
    if (few && task_.group == 0 && task_.weight_inner_stride == 1) {
      RunFewRowsOfInt8();
    } else if (few && IsStreamable(task_)) {
#if defined(__AVX512BF16__)
      using Steps = std::conditional_t<std::is_same_v<T, BFloat16>, BFloat16Steps, FloatSteps>;
#else
      using Steps = FloatSteps;
#endif
      RunFewRowsOfInt4<Steps>();
    } else {
      ForEachOutputBlock(1, rows(), columns(), depth(), kBlocksTogether,
                         [&](std::int64_t, const OutputBlock& block) {
                           // Whole numbers are exact in bf16; few rows give the same bits whatever
                           // their strides.
                           const bool narrow = task_.group == 0 ||
                                               task_.rounding == QuantizedTask::Rounding::kWeight;
                           if (narrow && !few) {
                             RunBlock<Narrow>(block);
                           } else {
                             RunBlock<float>(block);
                           }
                         });
    }
  }

 private:
  /// What many rows are multiplied in where that loses nothing, or may.
#if defined(__AVX512BF16__)
  using Narrow = std::conditional_t<std::is_same_v<T, BFloat16>, BFloat16, float>;
#else
  using Narrow = float;
#endif

  /// Packs a chunk of rows as tiles read them.
  template <typename Element>
  void PackX(std::int64_t row, std::int64_t count, std::int64_t k, std::int64_t length,
             Element* to) const {
    constexpr std::int64_t kStep = Arithmetic<Element>::kStep;
    const std::int64_t padded = WholeSteps<Element>(length);
    alignas(64) Element line[kChunk<Element>];
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t strip = i / kMaxTileRows * kMaxTileRows;
      const std::int64_t strip_rows = Least(kMaxTileRows, count - strip);
      this->ReadX(row + i, k, length, line);
      for (std::int64_t at = length; at < padded; ++at) line[at] = {};
      Element* target = to + strip * padded + (i - strip) * kStep;
      for (std::int64_t at = 0; at < padded; at += kStep) {
        std::memcpy(target + at * strip_rows, line + at, kStep * sizeof(Element));
      }
    }
  }

  void ScaleColumns(const OutputBlock& block, float* sums, std::int64_t sums_stride) const {
    static_assert(kStreamColumns <= kBlockColumns);
    float scales[kBlockColumns];
    for (std::int64_t j = 0; j < block.columns; ++j) scales[j] = this->ScaleOf(block.column + j, 0);
    for (std::int64_t i = 0; i < block.rows; ++i) {
      float* row = sums + i * sums_stride;
      for (std::int64_t j = 0; j < block.columns; ++j) row[j] *= scales[j];
    }
  }

  void RunFewRowsOfInt8() const {
    const std::int64_t padded = WholeSteps<float>(depth());
    auto* x = static_cast<float*>(Scratch(
        ScratchPurpose::kShared, static_cast<std::size_t>(rows() * padded) * sizeof(float)));
    for (std::int64_t k = 0; k < depth(); k += kChunk<float>) {
      PackX(0, rows(), k, Least(kChunk<float>, depth() - k), x + k * rows());
    }
    ForEachStream(rows(), columns(), depth(), depth(), [&](const OutputBlock& block) {
      if (rows() <= kMaxWideTileRows) {
        StreamInt8<8>(x, block);
      } else {
        StreamInt8<4>(x, block);
      }
    });
  }

  template <int kColumns>
  void StreamInt8(const float* x, const OutputBlock& block) const {
    alignas(64) float sums[kFewRows * kStreamColumns];
    const std::int64_t stride = RoundUp(block.columns, kMaxTileColumns);
    for (std::int64_t i = 0; i < block.rows * stride; ++i) sums[i] = 0;
    const auto* weight =
        reinterpret_cast<const std::int8_t*>(task_.weight) + block.column * task_.weight_row_stride;
    const std::int64_t ahead = StreamAhead(depth(), task_.weight_row_stride, kColumns);
    for (std::int64_t j = 0; j < block.columns; j += kColumns) {
      TileWeight<std::int8_t> tile = {weight + j * task_.weight_row_stride, task_.weight_row_stride,
                                      block.columns - j, ahead};
      for (std::int64_t k = 0; k < depth(); k += kChunk<float>) {
        AddColumns<std::int8_t, kColumns, Source::kShortRows>(x + k * block.rows, block.rows, tile,
                                                              Least(kChunk<float>, depth() - k),
                                                              sums + j, stride);
        tile.data += kChunk<float>;
      }
    }
    ScaleColumns(block, sums, stride);
    this->Write(block, sums, stride);
  }

  template <class Steps>
  void RunFewRowsOfInt4() const {
    const std::int64_t stride = DivideUp(depth(), kGroupBlock) * kPackedBlock<Steps>;
    auto* x = static_cast<char*>(
        Scratch(ScratchPurpose::kShared, static_cast<std::size_t>(rows() * stride)));
    const auto read = [this](std::int64_t row, std::int64_t k, std::int64_t count, float* line) {
      this->ReadX(row, k, count, line);
    };
    PackGroupRows<Steps>(rows(), depth(), read, x, stride);
    ForEachStream(rows(), columns(), depth(), depth() / 2, [&](const OutputBlock& block) {
      alignas(64) float sums[kFewRows * kStreamColumns];
      StreamGroups<Steps>(task_, x, stride, block, sums, kStreamColumns);
      this->Write(block, sums, kStreamColumns);
    });
  }

  static void StoreWide(Floats value, float* to) { Store(value, to); }
#if defined(__AVX512BF16__)
  static void StoreWide(Floats value, BFloat16* to) {
    const __m256bh narrow = _mm512_cvtneps_pbh(value);
    std::memcpy(to, &narrow, sizeof(narrow));
  }
#endif

  /// Widens `count` numbers as `(number - zero) * scale`. Reads and writes whole vectors.
  template <typename Wide>
  static void WidenNumbers(const std::int8_t* numbers, std::int64_t count, float zero, float scale,
                           Wide* to) {
    for (std::int64_t i = 0; i < count; i += kLanes) {
      StoreWide((Load(numbers + i) - zero) * scale, to + i);
    }
  }

  /// Widens a chunk of the rows of the weight. Without groups, the scale is left for later.
  template <typename Wide>
  void WidenWeight(const OutputBlock& block, std::int64_t k, std::int64_t length, Wide* to,
                   std::int64_t stride) const {
    // Vectors at the end of a group reach past it.
    alignas(64) std::int8_t numbers[kChunk<Wide> + kLanes] = {};
    for (std::int64_t j = 0; j < block.columns; ++j) {
      const std::int64_t column = block.column + j;
      const char* row = task_.weight + column * task_.weight_row_stride;
      Wide* target = to + j * stride;
      if (task_.group == 0) {
        const std::int64_t inner = task_.weight_inner_stride;
        const char* from = row + k * inner;
        if (inner == 1) {
          std::memcpy(numbers, from, static_cast<std::size_t>(length));
        } else {
          for (std::int64_t i = 0; i < length; ++i) {
            numbers[i] = static_cast<std::int8_t>(from[i * inner]);
          }
        }
        WidenNumbers(numbers, length, 0, 1, target);
      } else {
        WidenGroups(row, column, k, length, numbers, target);
      }
      for (std::int64_t i = length; i < WholeSteps<Wide>(length); ++i) target[i] = {};
    }
  }

  template <typename Wide>
  void WidenGroups(const char* row, std::int64_t column, std::int64_t k, std::int64_t length,
                   std::int8_t* numbers, Wide* to) const {
    for (std::int64_t i = 0; i < length;) {
      const std::int64_t group = (k + i) / task_.group;
      const std::int64_t end = Least(length, (group + 1) * task_.group - k);
      const std::int64_t pair = (k + i - group * task_.group) / 2;
      this->UnpackPairs(row + group * task_.weight_group_stride + pair * task_.weight_inner_stride,
                        task_.weight_inner_stride, (end - i) / 2, numbers);
      WidenNumbers(numbers, end - i, this->ZeroOf(column, group), this->ScaleOf(column, group),
                   to + i);
      i = end;
    }
  }

  template <typename Wide>
  void RunBlock(const OutputBlock& block) const {
    constexpr std::int64_t kStride = kChunk<Wide> + 2 * kLanes;  // rows lie in different sets
    const std::int64_t sums_stride = SumsStride(block.columns);
    const std::int64_t sums_count = block.rows * sums_stride;
    const std::int64_t x_count = Least(block.rows, kBlockRows) * kChunk<Wide>;
    const std::int64_t wide_count = x_count + block.columns * kStride;
    auto* sums = static_cast<float*>(
        Scratch(ScratchPurpose::kOwn, static_cast<std::size_t>(sums_count) * sizeof(float) +
                                          static_cast<std::size_t>(wide_count) * sizeof(Wide)));
    auto* x = reinterpret_cast<Wide*>(sums + sums_count);
    Wide* weight = x + x_count;
    for (std::int64_t i = 0; i < sums_count; ++i) sums[i] = 0;
    for (std::int64_t k = 0; k < depth(); k += kChunk<Wide>) {
      const std::int64_t length = Least(kChunk<Wide>, depth() - k);
      WidenWeight(block, k, length, weight, kStride);
      ForEachRowBlock(block, [&](const OutputBlock& part) {
        float* part_sums = sums + (part.row - block.row) * sums_stride;
        PackX(part.row, part.rows, k, length, x);
        for (std::int64_t j = 0; j < part.columns; j += 4) {
          AddColumns<Wide, 4, Source::kCaches>(
              x, part.rows, {weight + j * kStride, kStride, part.columns - j},
              WholeSteps<Wide>(length), part_sums + j, sums_stride);
        }
      });
    }
    if (task_.group == 0) ScaleColumns(block, sums, sums_stride);
    this->Write(block, sums, sums_stride);
  }
};

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_QUANTIZED_H_
