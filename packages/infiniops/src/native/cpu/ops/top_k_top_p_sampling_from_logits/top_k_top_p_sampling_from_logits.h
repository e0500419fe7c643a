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
#include "native/cpu/vector/rows.h"

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
  const std::int32_t sign = static_cast<std::int32_t>(bits) >> 31;  // all bits, or none
  return bits ^ (static_cast<std::uint32_t>(sign) | 0x80000000u);
}

/// Sums in eight parts, in an order of their own.
inline double SumOfShares(const float* shares, std::int64_t count) {
  double parts[8] = {};
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (int j = 0; j < 8; ++j) parts[j] += static_cast<double>(shares[i + j]);
  }
  double sum = 0;
  for (int j = 0; j < 8; ++j) sum += parts[j];
  for (; i < count; ++i) sum += static_cast<double>(shares[i]);
  return sum;
}

/// Where the greatest of some numbers end: those above `number`, and `ties` of those at it.
struct Cut {
  std::uint32_t number;
  std::int64_t ties;
};

/// The cut below the `k` greatest of `count` numbers, `k` being at least 1 and at most `count`.
inline Cut CutBelow(const std::uint32_t* numbers, std::int64_t count, std::int64_t k) {
  Cut cut = {0, k};
  for (int shift = 24; shift >= 0; shift -= 8) {
    // Those that agree with the cut so far, by their next byte.
    const std::uint32_t high = shift == 24 ? 0u : 0xffffffffu << (shift + 8);
    std::int64_t counts[256] = {};
    for (std::int64_t i = 0; i < count; ++i) {
      if ((numbers[i] & high) == cut.number) ++counts[numbers[i] >> shift & 0xffu];
    }
    std::uint32_t byte = 255;
    while (byte > 0 && counts[byte] < cut.ties) cut.ties -= counts[byte--];
    cut.number |= byte << shift;
  }
  return cut;
}

/// Tokens of one row in the order of their indices, with what is drawn from: the order of each
/// logit, and its share relative to the greatest.
///
/// A row is searched by groups of neighbours: the k-th greatest of their greatest logits is at most
/// the k-th greatest of all, so the k greatest are in the groups that reach it.
class Candidates {
 public:
  static constexpr std::int64_t kGroup = 64;

  /// Numbers of memory for a row of `count` logits.
  static std::size_t MemoryFor(std::int64_t count) {
    return static_cast<std::size_t>(4 * count + count / kGroup + 1);
  }

  Candidates(const float* logits, std::int64_t count, std::uint32_t* memory)
      : logits_(logits),
        size_(count),
        orders_(memory),
        shares_(reinterpret_cast<float*>(memory + count)),
        tokens_(reinterpret_cast<std::int32_t*>(memory + 2 * count)),
        places_(reinterpret_cast<std::int32_t*>(memory + 3 * count)),
        groups_(memory + 4 * count),
        group_count_((count + kGroup - 1) / kGroup) {}

  /// Reads the row. Returns false for one that cannot be drawn from.
  bool Read() {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    Floats odd = {};  // 0, or the last NaN of a lane
    bool is_nan = false;
    top_ = -kInfinity;
    for (std::int64_t group = 0; group < group_count_; ++group) {
      const std::int64_t end = EndOf(group);
      std::int64_t i = group * kGroup;
      Floats greatest = Broadcast(-kInfinity);
      for (; i + kLanes <= end; i += kLanes) {
        const Floats values = Load(logits_ + i);
        greatest = values > greatest ? values : greatest;
        odd = values == values ? odd : values;
      }
      float top = GreatestLane(greatest);
      for (; i < end; ++i) {
        top = logits_[i] > top ? logits_[i] : top;
        is_nan |= logits_[i] != logits_[i];
      }
      groups_[group] = OrderOf(top);
      top_ = top > top_ ? top : top_;
    }
    is_nan |= SumOfLanes(odd) != SumOfLanes(odd);
    return !is_nan && top_ != -kInfinity;
  }

  /// Takes the `k` greatest, fewer than all.
  void TakeGreatest(std::int64_t k) {
    if (k <= group_count_) {
      TakeFrom(CutBelow(groups_, group_count_, k).number);
    } else {
      TakeEach();
    }
    Keep(CutBelow(orders_, count_, k));
    for (std::int64_t i = 0; i < count_; ++i) shares_[i] = logits_[tokens_[i]];
    MakeShares(shares_, count_);
  }

  void TakeAll() {
    MakeShares(logits_, size_);
    TakeEach();
  }

  /// Takes the fewest of all, from the greatest share on, that have `mass` of all.
  void TakeNucleus(double mass) {
    MakeShares(logits_, size_);
    const double target = mass * SumOfShares(shares_, size_);
    // Few of them have most of it, as a rule: those that reach the greatest of some groups.
    for (const std::int64_t some : {group_count_ / 8, group_count_}) {
      if (some == 0) continue;
      TakeFrom(CutBelow(groups_, group_count_, some).number);
      double held = 0;
      for (std::int64_t i = 0; i < count_; ++i) {
        held += static_cast<double>(shares_[tokens_[i]]);
      }
      if (held < target) continue;
      // Shares move down to the places of their tokens, which come in order.
      for (std::int64_t i = 0; i < count_; ++i) shares_[i] = shares_[tokens_[i]];
      return KeepNucleusOf(target);
    }
    TakeEach();
    KeepNucleusOf(target);
  }

  /// Keeps the fewest, from the greatest share on, that have `mass` of those taken.
  void KeepNucleus(double mass) { KeepNucleusOf(mass * SumOfShares(shares_, count_)); }

  /// The token at `point`, from 0 to 1, of the shares in the order of indices.
  std::int64_t At(double point) const {
    const double target = point * SumOfShares(shares_, count_);
    double sum = 0;
    for (std::int64_t begin = 0; begin < count_; begin += kGroup) {
      const std::int64_t end = begin + kGroup < count_ ? begin + kGroup : count_;
      const double after = sum + SumOfShares(shares_ + begin, end - begin);
      if (after <= target) {
        sum = after;
        continue;
      }
      for (std::int64_t i = begin; i < end; ++i) {
        sum += static_cast<double>(shares_[i]);
        if (sum > target) return tokens_[i];
      }
    }
    // Rounding: the point lies behind the last share.
    std::int64_t last = count_ - 1;
    while (last > 0 && shares_[last] == 0.0f) --last;
    return tokens_[last];
  }

 private:
  std::int64_t EndOf(std::int64_t group) const {
    return (group + 1) * kGroup < size_ ? (group + 1) * kGroup : size_;
  }

  /// Takes all tokens whose order is `least` or more; their shares are still to be made.
  void TakeFrom(std::uint32_t least) {
    count_ = 0;
    for (std::int64_t group = 0; group < group_count_; ++group) {
      if (groups_[group] < least) continue;
      for (std::int64_t i = group * kGroup; i < EndOf(group); ++i) {
        const std::uint32_t order = OrderOf(logits_[i]);
        orders_[count_] = order;
        tokens_[count_] = static_cast<std::int32_t>(i);
        count_ += order >= least ? 1 : 0;
      }
    }
  }

  void TakeEach() {
    count_ = size_;
    for (std::int64_t i = 0; i < size_; ++i) {
      orders_[i] = OrderOf(logits_[i]);
      tokens_[i] = static_cast<std::int32_t>(i);
    }
  }

  /// Makes the shares of `count` logits. Where some are infinite, those alone have one.
  void MakeShares(const float* logits, std::int64_t count) {
    if (top_ == std::numeric_limits<float>::infinity()) {
      for (std::int64_t i = 0; i < count; ++i) shares_[i] = logits[i] == top_ ? 1.0f : 0.0f;
      return;
    }
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) Store(Exp(Load(logits + i) - top_), shares_ + i);
    for (; i < count; ++i) shares_[i] = Exp(Broadcast(logits[i] - top_))[0];
  }

  void KeepNucleusOf(double target) {
    double above = 0;  // of shares beyond the cut so far
    std::uint32_t cut = 0;
    std::int64_t left = count_;  // whose places may be at the cut
    for (std::int64_t i = 0; i < count_; ++i) places_[i] = static_cast<std::int32_t>(i);
    for (int shift = 24; shift >= 0; shift -= 8) {
      // Neighbours share a byte more often than not, and would wait for each other's sums.
      constexpr int kWays = 4;
      double sums[256][kWays] = {};
      std::int32_t counts[256][kWays] = {};
      for (std::int64_t i = 0; i < left; ++i) {
        const std::int32_t place = places_[i];
        const std::uint32_t byte = orders_[place] >> shift & 0xffu;
        sums[byte][i % kWays] += static_cast<double>(shares_[place]);
        ++counts[byte][i % kWays];
      }
      double chosen_sum = 0;
      std::uint32_t chosen = 0;
      for (std::uint32_t byte = 256; byte-- > 0;) {
        double sum = 0;
        std::int64_t count = 0;
        for (int way = 0; way < kWays; ++way) {
          sum += sums[byte][way];
          count += counts[byte][way];
        }
        if (count == 0) continue;
        above += chosen_sum;
        chosen_sum = sum;
        chosen = byte;
        if (above + sum >= target) break;
      }
      cut |= chosen << shift;
      // Without branches, which nobody could foretell.
      const std::int64_t seen = left;
      left = 0;
      for (std::int64_t i = 0; i < seen; ++i) {
        const std::int32_t place = places_[i];
        places_[left] = place;
        left += orders_[place] >> shift == cut >> shift ? 1 : 0;
      }
    }
    // Those left are at the cut and have one share.
    const std::int64_t ties = left;
    const auto share = static_cast<double>(shares_[places_[0]]);
    std::int64_t needed = 1;
    if (share > 0 && above + share < target) {
      const double wanted = std::ceil((target - above) / share);
      needed = wanted < static_cast<double>(ties) ? static_cast<std::int64_t>(wanted) : ties;
    }
    Keep({cut, needed});
  }

  /// Keeps those above the cut, and the first of those at it.
  void Keep(Cut cut) {
    std::int64_t kept = 0;
    for (std::int64_t i = 0; i < count_; ++i) {
      const std::uint32_t order = orders_[i];
      const std::int64_t ties = order == cut.number ? 1 : 0;
      orders_[kept] = order;
      shares_[kept] = shares_[i];
      tokens_[kept] = tokens_[i];
      kept += static_cast<std::int64_t>(order > cut.number) | (ties & (cut.ties > 0));
      cut.ties -= ties;
    }
    count_ = kept;
  }

  const float* logits_;
  std::int64_t size_;
  float top_ = 0;
  // Of those taken, in the order of indices.
  std::uint32_t* orders_;
  float* shares_;
  std::int32_t* tokens_;
  std::int64_t count_ = 0;
  std::int32_t* places_;  // of some of those taken
  // The order of the greatest logit of each group.
  std::uint32_t* groups_;
  std::int64_t group_count_;
};

template <typename T>
void SampleRow(const SamplingTask& task, std::int64_t row) {
  const std::int64_t count = task.logits.length;
  const std::size_t numbers = Candidates::MemoryFor(count) + static_cast<std::size_t>(count);
  auto* memory =
      static_cast<std::uint32_t*>(Scratch(ScratchPurpose::kOwn, numbers * sizeof(std::uint32_t)));
  const T* logits = reinterpret_cast<const T*>(task.logits.data) + task.logits.Offset(row);
  Candidates candidates(
      ReadBlock(logits, task.logits.inner_stride, count, reinterpret_cast<float*>(memory)), count,
      memory + count);
  const bool valid = candidates.Read();
  std::int64_t token = 0;
  if (valid) {
    const std::int64_t k =
        task.top_k_rows.rows.data == nullptr ? task.top_k : task.top_k_rows.Get(row);
    const double p = task.top_p_rows == nullptr
                         ? task.top_p
                         : static_cast<double>(task.top_p_rows[row * task.top_p_stride]);
    if (k > 0 && k < count) {
      candidates.TakeGreatest(k);
      if (p < 1) candidates.KeepNucleus(p);
    } else if (p < 1) {
      candidates.TakeNucleus(p);
    } else {
      candidates.TakeAll();
    }
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
