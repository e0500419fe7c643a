// Products with weights of few bits and rows of x that are rounded to 8 bits first: whole numbers
// are multiplied and added up exactly, then scaled.
#ifndef INFINI_OPS_NATIVE_CPU_VECTOR_ROUNDED_H_
#define INFINI_OPS_NATIVE_CPU_VECTOR_ROUNDED_H_

#include <type_traits>

#include "native/cpu/vector/quantized.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// Most numbers whose products a 32-bit sum holds: each is at most 127 times 255.
inline constexpr std::int64_t kExactNumbers = 64 * 1024;

/// The sum of products of whole numbers; `count` is at most `kExactNumbers`.
template <typename Number>
inline std::int32_t WholeDot(const Number* a, const std::int8_t* b, std::int64_t count) {
  std::int32_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    sum += static_cast<std::int32_t>(a[i]) * static_cast<std::int32_t>(b[i]);
  }
  return sum;
}

#if defined(__AVX512VNNI__)

/// The products of rows of int8 numbers, all columns with all rows of x. `x_sums` holds the sums of
/// the rows of x: the instruction takes the weight without a sign, 128 more than it is.
template <int kRows, int kColumns>
inline void VnniDots(const std::int8_t* const* x, const std::int8_t* const* weight,
                     std::int64_t count, const std::int32_t* x_sums, std::int64_t ahead,
                     std::int32_t (*dots)[kColumns]) {
  // One row of x: few at a time, so that memory is read nearly in order.
  constexpr int kTogether = kRows == 1 ? 2 : kColumns;
  __m512i sums[kRows][kColumns] = {};
  const __m512i sign = _mm512_set1_epi8(static_cast<char>(0x80));
#pragma GCC unroll 4
  for (int first = 0; first < kColumns; first += kTogether) {
    const auto add = [&](const auto& read) {
#pragma GCC unroll 4
      for (int c = first; c < first + kTogether; ++c) {
        const __m512i numbers = _mm512_xor_si512(read(weight[c]), sign);
#pragma GCC unroll 4
        for (int i = 0; i < kRows; ++i) {
          sums[i][c] = _mm512_dpbusd_epi32(sums[i][c], numbers, read(x[i]));
        }
      }
    };
    std::int64_t k = 0;
    for (; k + 64 <= count; k += 64) {
#pragma GCC unroll 4
      for (int c = first; c < first + kTogether; ++c) {
        __builtin_prefetch(weight[c] + k + ahead, 0, 2);
      }
      add([k](const std::int8_t* from) { return _mm512_loadu_si512(from + k); });
    }
    if (k < count) {
#pragma GCC unroll 4
      for (int c = first; c < first + kTogether; ++c) {
        __builtin_prefetch(weight[c] + count - 1 + ahead, 0, 2);
      }
      const auto mask = static_cast<__mmask64>((std::uint64_t{1} << (count - k)) - 1);
      add([k, mask](const std::int8_t* from) { return _mm512_maskz_loadu_epi8(mask, from + k); });
    }
  }
  for (int i = 0; i < kRows; ++i) {
    for (int c = 0; c < kColumns; ++c) {
      dots[i][c] = _mm512_reduce_add_epi32(sums[i][c]) - 128 * x_sums[i];
    }
  }
}

#endif

/// The product of a `QuantizedTask` that rounds x.
template <typename T>
class RoundedProduct : QuantizedBase<T> {
  using Base = QuantizedBase<T>;
  using Base::columns;
  using Base::depth;
  using Base::rows;
  using Base::task_;

 public:
  using Base::Base;

  void Run() {
    // All of x in 8 bits, then for each row its scale, then the sums of its parts.
    stride_ = RoundUp(depth(), 64);
    parts_ = task_.group == 0 ? DivideUp(depth(), kPart) : depth() / task_.group;
    const auto numbers = static_cast<std::size_t>(rows() * stride_);
    const auto others = static_cast<std::size_t>(rows() * (1 + parts_)) * sizeof(float);
    x_ = static_cast<std::int8_t*>(Scratch(ScratchPurpose::kShared, numbers + others));
    x_scales_ = reinterpret_cast<float*>(x_ + numbers);
    x_sums_ = reinterpret_cast<std::int32_t*>(x_scales_ + rows());
    for (std::int64_t row = 0; row < rows(); ++row) RoundRow(row);
#if defined(__AVX512VNNI__)
    if (IsStreamable(task_)) return RunGroups<WholeSteps8>();
#endif
    ForEachBlockOf([&](const OutputBlock& block) { RunBlock(block); });
  }

 private:
  /// Numbers of int8 rows whose products are added up before they are scaled.
  static constexpr std::int64_t kPart = kExactNumbers;
  static constexpr int kRowsAtOnce = 4;
  static constexpr int kColumnsAtOnce = 4;

  template <typename Function>
  void ForEachBlockOf(Function function) const {
    const std::int64_t bytes = task_.group == 0 ? depth() : depth() / 2;
    if (rows() <= kFewRows) {
      ForEachStream(rows(), columns(), depth(), bytes, function);
    } else {
      ForEachOutputBlock(1, rows(), columns(), depth(), 1,
                         [&](std::int64_t, const OutputBlock& block) { function(block); });
    }
  }

  /// Groups that can be streamed; they see the rounded rows of x as any others.
  template <class Steps>
  void RunGroups() const {
    const std::int64_t stride = DivideUp(depth(), kGroupBlock) * kPackedBlock<Steps>;
    auto* x = static_cast<char*>(
        Scratch(ScratchPurpose::kPacked, static_cast<std::size_t>(rows() * stride)));
    const auto read = [this](std::int64_t row, std::int64_t k, std::int64_t count, float* line) {
      for (std::int64_t i = 0; i < count; ++i) line[i] = x_[row * stride_ + k + i];
    };
    PackGroupRows<Steps>(rows(), depth(), read, x, stride);
    ForEachBlockOf([&](const OutputBlock& block) {
      auto* sums = static_cast<float*>(
          Scratch(ScratchPurpose::kOwn,
                  static_cast<std::size_t>(block.rows * block.columns) * sizeof(float)));
      StreamGroups<Steps>(task_, x, stride, block, sums, block.columns);
      for (std::int64_t i = 0; i < block.rows; ++i) {
        const float scale = x_scales_[block.row + i];
        for (std::int64_t j = 0; j < block.columns; ++j) sums[i * block.columns + j] *= scale;
      }
      this->Write(block, sums, block.columns);
    });
  }

  void RoundRow(std::int64_t row) const {
    constexpr std::int64_t kLine = 512;
    alignas(64) float line[kLine];
    float largest = 0;
    float poison = 0;  // NaN where an element is not finite
    for (std::int64_t k = 0; k < depth(); k += kLine) {
      const std::int64_t count = Least(kLine, depth() - k);
      this->ReadX(row, k, count, line);
      for (std::int64_t i = 0; i < count; ++i) {
        const float magnitude = __builtin_fabsf(line[i]);
        largest = magnitude > largest ? magnitude : largest;
        poison += line[i] * 0;
      }
    }
    const bool finite = poison == 0;
    const double factor = largest > 0 && finite ? 127.0 / static_cast<double>(largest) : 0;
    x_scales_[row] = finite ? largest / 127 : poison;
    std::int8_t* to = x_ + row * stride_;
    for (std::int64_t k = 0; k < depth(); k += kLine) {
      const std::int64_t count = Least(kLine, depth() - k);
      this->ReadX(row, k, count, line);
      for (std::int64_t i = 0; i < count; ++i) {
        const double value = finite ? static_cast<double>(line[i]) * factor : 0;
        to[k + i] = static_cast<std::int8_t>(__builtin_rint(value));
      }
    }
    const std::int64_t part = task_.group == 0 ? kPart : task_.group;
    for (std::int64_t index = 0; index < parts_; ++index) {
      std::int32_t sum = 0;
      const std::int64_t end = Least((index + 1) * part, depth());
      for (std::int64_t k = index * part; k < end; ++k) sum += to[k];
      x_sums_[row * parts_ + index] = sum;
    }
  }

  void RunBlock(const OutputBlock& block) const {
    const auto sums_bytes = static_cast<std::size_t>(block.rows * block.columns) * sizeof(float);
    auto* sums = static_cast<float*>(Scratch(
        ScratchPurpose::kOwn, sums_bytes + static_cast<std::size_t>(kColumnsAtOnce * stride_)));
    auto* lines = reinterpret_cast<std::int8_t*>(sums + block.rows * block.columns);
    for (std::int64_t j = 0; j < block.columns; j += kColumnsAtOnce) {
      const std::int64_t count = Least(kColumnsAtOnce, block.columns - j);
      const std::int8_t* weight[kColumnsAtOnce];
      for (std::int64_t c = 0; c < kColumnsAtOnce; ++c) {
        weight[c] = c < count ? Numbers(block.column + j + c, lines + c * stride_) : weight[0];
      }
      const std::int64_t ahead = task_.group == 0 && task_.weight_inner_stride == 1
                                     ? StreamAhead(depth(), task_.weight_row_stride, kColumnsAtOnce)
                                     : 0;
      for (std::int64_t i = 0; i < block.rows; i += kRowsAtOnce) {
        Dots(block, i, j, count, weight, ahead, sums);
      }
    }
    this->Write(block, sums, block.columns);
  }

  /// The numbers of a row of the weight: where they are, or copied one a byte to `line`.
  const std::int8_t* Numbers(std::int64_t column, std::int8_t* line) const {
    const char* row = task_.weight + column * task_.weight_row_stride;
    const std::int64_t inner = task_.weight_inner_stride;
    if (task_.group == 0) {
      if (inner == 1) return reinterpret_cast<const std::int8_t*>(row);
      for (std::int64_t k = 0; k < depth(); ++k) {
        line[k] = static_cast<std::int8_t>(row[k * inner]);
      }
      return line;
    }
    std::int8_t* to = line;
    for (std::int64_t group = 0; group < parts_; ++group) {
      this->UnpackPairs(row + group * task_.weight_group_stride, inner, task_.group / 2, to);
      to += task_.group;
    }
    return line;
  }

  /// The outputs of some rows, from row `i` of the block, and `count` columns, from column `j`.
  void Dots(const OutputBlock& block, std::int64_t i, std::int64_t j, std::int64_t count,
            const std::int8_t* const* weight, std::int64_t ahead, float* sums) const {
    const std::int64_t row_count = Least(kRowsAtOnce, block.rows - i);
    float totals[kRowsAtOnce][kColumnsAtOnce] = {};
    const std::int64_t part = task_.group == 0 ? kPart : task_.group;
    for (std::int64_t index = 0; index < parts_; ++index) {
      const std::int64_t k = index * part;
      const std::int64_t length = Least(part, depth() - k);
      std::int32_t dots[kRowsAtOnce][kColumnsAtOnce];
      std::int32_t x_sums[kRowsAtOnce];
      const std::int8_t* x[kRowsAtOnce];
      for (std::int64_t r = 0; r < kRowsAtOnce; ++r) {
        const std::int64_t row = block.row + i + (r < row_count ? r : 0);
        x[r] = x_ + row * stride_ + k;
        x_sums[r] = x_sums_[row * parts_ + index];
      }
      const std::int8_t* w[kColumnsAtOnce];
      for (int c = 0; c < kColumnsAtOnce; ++c) w[c] = weight[c] + k;
#if defined(__AVX512VNNI__)
      if (row_count == 1) {
        VnniDots<1, kColumnsAtOnce>(x, w, length, x_sums, ahead, dots);
      } else {
        VnniDots<kRowsAtOnce, kColumnsAtOnce>(x, w, length, x_sums, ahead, dots);
      }
#else
      static_cast<void>(ahead);
      for (std::int64_t r = 0; r < row_count; ++r) {
        for (std::int64_t c = 0; c < count; ++c) dots[r][c] = WholeDot(w[c], x[r], length);
      }
#endif
      for (std::int64_t r = 0; r < row_count; ++r) {
        for (std::int64_t c = 0; c < count; ++c) {
          const std::int64_t column = block.column + j + c;
          auto dot = static_cast<float>(dots[r][c]);
          if (task_.group != 0) {
            dot -= this->ZeroOf(column, index) * static_cast<float>(x_sums[r]);
          }
          totals[r][c] += this->ScaleOf(column, task_.group == 0 ? 0 : index) * dot;
        }
      }
    }
    for (std::int64_t r = 0; r < row_count; ++r) {
      const float scale = x_scales_[block.row + i + r];
      for (std::int64_t c = 0; c < count; ++c) {
        sums[(i + r) * block.columns + j + c] = totals[r][c] * scale;
      }
    }
  }

  std::int8_t* x_ = nullptr;
  float* x_scales_ = nullptr;
  std::int32_t* x_sums_ = nullptr;
  std::int64_t stride_ = 0;
  std::int64_t parts_ = 0;
};

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_VECTOR_ROUNDED_H_
