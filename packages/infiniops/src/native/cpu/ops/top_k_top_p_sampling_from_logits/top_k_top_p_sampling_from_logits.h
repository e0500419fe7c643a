// top_k_top_p_sampling_from_logits for the CPU: see
// src/base/top_k_top_p_sampling_from_logits.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_TOP_K_TOP_P_SAMPLING_FROM_LOGITS_H_
#define INFINI_OPS_NATIVE_CPU_OPS_TOP_K_TOP_P_SAMPLING_FROM_LOGITS_H_

#include "native/cpu/indices.h"
#include "native/cpu/kernel.h"
#include "native/cpu/strided_loop.h"

namespace infini::ops::cpu {

struct SamplingTask {
  Rows logits;
  rt::DataType dtype;
  Indices top_k_rows;  // null data: none
  const float* top_p_rows;
  std::int64_t top_p_stride;
  std::int64_t top_k;
  double top_p;
  std::uint64_t seed;
  std::uint64_t offset;
  std::int32_t* samples;
  std::int64_t samples_stride;
  std::uint8_t* valid;
  std::int64_t valid_stride;
};
INFINI_OPS_CPU_KERNEL(SamplingTask);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#include <infini/rt/parallel.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "native/cpu/vector/math.h"
#include "native/cpu/vector/rotary.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {

/// A number in [0, 1) that follows from its three arguments: the first two words of Philox4x32-10
/// (J. Salmon and others, "Parallel random numbers: as easy as 1, 2, 3").
inline double Draw(std::uint64_t seed, std::uint64_t offset, std::uint64_t row) {
  std::uint32_t key[2] = {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
  std::uint32_t counter[4] = {
      static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(offset >> 32),
      static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(row >> 32)};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xd2511f53} * counter[0];
    const std::uint64_t b = std::uint64_t{0xcd9e8d57} * counter[2];
    const std::uint32_t next[4] = {
        static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    std::memcpy(counter, next, sizeof(counter));
    key[0] += 0x9e3779b9;
    key[1] += 0xbb67ae85;
  }
  const std::uint64_t bits = (std::uint64_t{counter[0]} << 32 | counter[1]) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

/// A number for a logit whose order is that of logits; -0 counts as 0.
inline std::uint32_t OrderOf(float logit) {
  const std::uint32_t bits = BitsOf(logit + 0.0f);
  return bits ^ (bits >> 31 != 0 ? 0xffffffffu : 0x80000000u);
}

/// Tokens of one row in the order of their indices, with what is drawn from: the order of each
/// logit, and its share relative to the greatest.
class Candidates {
 public:
  /// Uses `memory` of 3 * `count` numbers.
  Candidates(std::uint32_t* memory, std::int64_t count)
      : orders_(memory),
        shares_(reinterpret_cast<float*>(memory + count)),
        tokens_(reinterpret_cast<std::int32_t*>(memory + 2 * count)),
        count_(count) {}

  /// Takes all tokens of a row. Returns false for one that cannot be drawn from.
  bool Take(const float* logits) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    Floats tops = Broadcast(-kInfinity);
    Floats odd = {};  // 0, or the last NaN of a lane
    std::int64_t i = 0;
    for (; i + kLanes <= count_; i += kLanes) {
      const Floats values = Load(logits + i);
      tops = values > tops ? values : tops;
      odd = values == values ? odd : values;
    }
    float top = GreatestLane(tops);
    bool is_nan = SumOfLanes(odd) != SumOfLanes(odd);
    for (; i < count_; ++i) {
      top = logits[i] > top ? logits[i] : top;
      is_nan |= logits[i] != logits[i];
    }
    if (is_nan || top == -kInfinity) return false;
    for (std::int64_t k = 0; k < count_; ++k) {
      orders_[k] = OrderOf(logits[k]);
      tokens_[k] = static_cast<std::int32_t>(k);
    }
    if (top == kInfinity) {
      for (std::int64_t k = 0; k < count_; ++k) shares_[k] = logits[k] == top ? 1.0f : 0.0f;
      return true;
    }
    for (i = 0; i + kLanes <= count_; i += kLanes) Store(Exp(Load(logits + i) - top), shares_ + i);
    for (; i < count_; ++i) shares_[i] = Exp(Broadcast(logits[i] - top))[0];
    return true;
  }

  /// Keeps the `k` greatest.
  void KeepGreatest(std::int64_t k) {
    if (k >= count_) return;
    std::uint32_t cut = 0;
    for (int shift = 24; shift >= 0; shift -= 8) {
      std::int64_t counts[256] = {};
      ForEachAt(cut, shift, [&](std::int64_t, std::uint32_t byte) { ++counts[byte]; });
      std::uint32_t byte = 255;
      while (byte > 0 && counts[byte] < k) k -= counts[byte--];
      cut |= byte << shift;
    }
    Keep(cut, k);
  }

  /// Keeps the fewest, from the greatest share on, that have `mass` of all.
  void KeepNucleus(double mass) {
    const double target = mass * Total();
    double above = 0;  // of shares beyond the cut so far
    std::uint32_t cut = 0;
    for (int shift = 24; shift >= 0; shift -= 8) {
      double sums[256] = {};
      std::int64_t counts[256] = {};
      ForEachAt(cut, shift, [&](std::int64_t i, std::uint32_t byte) {
        sums[byte] += static_cast<double>(shares_[i]);
        ++counts[byte];
      });
      std::uint32_t chosen = 256;
      for (std::uint32_t byte = 256; byte-- > 0;) {
        if (counts[byte] == 0) continue;
        if (chosen < 256) above += sums[chosen];
        chosen = byte;
        if (above + sums[byte] >= target) break;
      }
      cut |= chosen << shift;
    }
    // All at the cut have one share.
    std::int64_t ties = 0;
    double share = 0;
    for (std::int64_t i = 0; i < count_; ++i) {
      if (orders_[i] != cut) continue;
      share = static_cast<double>(shares_[i]);
      ++ties;
    }
    std::int64_t needed = 1;
    if (share > 0 && above + share < target) {
      const double wanted = std::ceil((target - above) / share);
      needed = wanted < static_cast<double>(ties) ? static_cast<std::int64_t>(wanted) : ties;
    }
    Keep(cut, needed);
  }

  /// The token at `point`, from 0 to 1, of the shares in the order of indices.
  std::int64_t At(double point) const {
    const double target = point * Total();
    double sum = 0;
    std::int64_t last = 0;
    for (std::int64_t i = 0; i < count_; ++i) {
      if (shares_[i] == 0.0f) continue;
      last = tokens_[i];
      sum += static_cast<double>(shares_[i]);
      if (sum > target) break;
    }
    return last;
  }

 private:
  /// Calls `visitor(i, byte)` for those whose order agrees with `cut` above byte `shift` / 8.
  template <typename Visitor>
  void ForEachAt(std::uint32_t cut, int shift, Visitor visitor) const {
    const std::uint32_t high = shift == 24 ? 0u : 0xffffffffu << (shift + 8);
    for (std::int64_t i = 0; i < count_; ++i) {
      if ((orders_[i] & high) == (cut & high)) visitor(i, orders_[i] >> shift & 0xffu);
    }
  }

  /// Keeps those above `cut`, and the first `ties` at it.
  void Keep(std::uint32_t cut, std::int64_t ties) {
    std::int64_t kept = 0;
    for (std::int64_t i = 0; i < count_; ++i) {
      if (orders_[i] < cut || (orders_[i] == cut && ties-- <= 0)) continue;
      orders_[kept] = orders_[i];
      shares_[kept] = shares_[i];
      tokens_[kept] = tokens_[i];
      ++kept;
    }
    count_ = kept;
  }

  double Total() const {
    double total = 0;
    for (std::int64_t i = 0; i < count_; ++i) total += static_cast<double>(shares_[i]);
    return total;
  }

  std::uint32_t* orders_;
  float* shares_;
  std::int32_t* tokens_;
  std::int64_t count_;
};

template <typename T>
void SampleRow(const SamplingTask& task, std::int64_t row) {
  const std::int64_t count = task.logits.length;
  auto* memory = static_cast<std::uint32_t*>(
      Scratch(ScratchPurpose::kOwn, static_cast<std::size_t>(4 * count) * sizeof(std::uint32_t)));
  const T* logits = reinterpret_cast<const T*>(task.logits.data) + task.logits.Offset(row);
  Candidates candidates(memory + count, count);
  const bool valid = candidates.Take(
      ReadFloats(logits, task.logits.inner_stride, count, reinterpret_cast<float*>(memory)));
  std::int64_t token = 0;
  if (valid) {
    const std::int64_t k =
        task.top_k_rows.rows.data == nullptr ? task.top_k : task.top_k_rows.Get(row);
    const double p = task.top_p_rows == nullptr
                         ? task.top_p
                         : static_cast<double>(task.top_p_rows[row * task.top_p_stride]);
    if (k > 0) candidates.KeepGreatest(k);
    if (p < 1) candidates.KeepNucleus(p);
    token = candidates.At(Draw(task.seed, task.offset, static_cast<std::uint64_t>(row)));
  }
  task.samples[row * task.samples_stride] = static_cast<std::int32_t>(token);
  task.valid[row * task.valid_stride] = valid;
}

void Run(const SamplingTask& task) {
  if (task.top_k_rows.rows.data != nullptr) {
    CheckIndices("top_k_top_p_sampling_from_logits", "top_k_rows", task.top_k_rows, -1,
                 std::numeric_limits<std::int64_t>::max(), "-1 and 0 keep all");
  }
  if (task.top_p_rows != nullptr) {
    CheckShares("top_k_top_p_sampling_from_logits", "top_p_rows", task.top_p_rows,
                task.top_p_stride, task.logits.count);
  }
  VisitFloatDtype(task.dtype, [&]<typename T>(Type<T>) {
    rt::ParallelFor(task.logits.count, 4096 / task.logits.length + 1,
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t row = begin; row < end; ++row) SampleRow<T>(task, row);
                    });
  });
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

#else

#include <string>

#include "infini/ops/base/top_k_top_p_sampling_from_logits.h"

namespace infini::ops {

template <>
struct Operator<TopKTopPSamplingFromLogits, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& logits,
                   const std::optional<TensorView>& top_k_rows,
                   const std::optional<TensorView>& top_p_rows, std::int64_t top_k, double top_p,
                   std::int64_t seed, std::int64_t offset, const TensorView& samples,
                   const TensorView& valid) {
    if (top_p > 1) {
      Refuse(logits, "`top_p` is greater than 1; expected 0 to 1");
    }
    if (logits.size(1) == 0 || logits.size(1) > INT32_MAX) {
      Refuse(logits, "`logits` has " + std::to_string(logits.size(1)) + " columns; expected 1 to " +
                         std::to_string(INT32_MAX));
    }
    if (logits.size(0) == 0) return;
    cpu::SamplingTask task = {};
    task.logits = cpu::MakeRows(TopKTopPSamplingFromLogits::kOperator, logits);
    task.dtype = logits.dtype();
    if (top_k_rows) {
      task.top_k_rows = cpu::MakeIndices(TopKTopPSamplingFromLogits::kOperator, *top_k_rows);
    }
    if (top_p_rows) {
      task.top_p_rows = static_cast<const float*>(cpu::TaskAddress(*top_p_rows));
      task.top_p_stride = top_p_rows->stride(0);
    }
    task.top_k = top_k;
    task.top_p = top_p;
    task.seed = static_cast<std::uint64_t>(seed);
    task.offset = static_cast<std::uint64_t>(offset);
    task.samples = static_cast<std::int32_t*>(cpu::TaskAddress(samples));
    task.samples_stride = samples.stride(0);
    task.valid = static_cast<std::uint8_t*>(cpu::TaskAddress(valid));
    task.valid_stride = valid.stride(0);
    cpu::Launch(context, task);
  }

 private:
  [[noreturn]] static void Refuse(const TensorView& logits, const std::string& message) {
    throw Error(ErrorCode::kInvalidArgument, TopKTopPSamplingFromLogits::kOperator,
                logits.device().ToString(), message);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_OPS_TOP_K_TOP_P_SAMPLING_FROM_LOGITS_H_
