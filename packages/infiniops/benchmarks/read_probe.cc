// Reads memory as fast as the machine allows: the roofline of kernels that stream a weight once.
//
// Wide loads into four accumulators, on the threads of rt::ParallelFor, blocks handed out as the
// kernels do. Compiled for the machine at hand by probe.py, which loads it beside infini.ops.
#include <infini/rt/parallel.h>

#include <cstdint>
#include <cstring>

namespace {

using Vector = std::uint64_t __attribute__((vector_size(64)));

constexpr std::int64_t kBlock = 128 * 1024;

std::uint64_t SumOf(const char* data, std::int64_t bytes) {
  Vector sums[4] = {};
  std::int64_t at = 0;
  for (; at + 256 <= bytes; at += 256) {
    for (int i = 0; i < 4; ++i) {
      Vector value;
      std::memcpy(&value, data + at + 64 * i, sizeof(value));
      sums[i] += value;
    }
  }
  const Vector sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  std::uint64_t total = 0;
  for (int lane = 0; lane < 8; ++lane) total += sum[lane];
  for (; at < bytes; ++at) total += static_cast<unsigned char>(data[at]);
  return total;
}

}  // namespace

// Reads `bytes` from `data` and returns a number that depends on all of them.
extern "C" std::uint64_t infini_read_probe(const char* data, std::int64_t bytes) {
  const std::int64_t blocks = (bytes + kBlock - 1) / kBlock;
  std::int64_t next = 0;
  std::uint64_t total = 0;
  infini::rt::ParallelFor(infini::rt::GetNumThreads(), 1, [&](std::int64_t, std::int64_t) {
    std::uint64_t own = 0;
    for (;;) {
      const std::int64_t index = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
      if (index >= blocks) break;
      const std::int64_t begin = index * kBlock;
      own += SumOf(data + begin, bytes - begin < kBlock ? bytes - begin : kBlock);
    }
    __atomic_fetch_add(&total, own, __ATOMIC_RELAXED);
  });
  return total;
}
