// Every block of a product is computed once, whatever the number of threads, in the order of memory
// by the thread it belongs to, and by others where that one is held up.
#include "native/cpu/vector/blocks.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "check.h"

namespace infini::ops::cpu::INFINI_OPS_CPU_ISA {
namespace {

void EachBlockRunsOnce() {
  for (const int threads : {1, 2, 3, 8}) {
    rt::SetNumThreads(threads);
    for (const std::int64_t count : {0, 1, 2, 7, 8, 9, 64, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(count));
      ForEachBlock(count, [&](std::int64_t index) { ++runs[static_cast<std::size_t>(index)]; });
      for (const auto& times : runs) CHECK_EQUAL(times.load(), 1);
    }
  }
}

void BlocksOfOneThreadAreNeighbours() {
  rt::SetNumThreads(1);
  std::vector<std::int64_t> order;
  ForEachBlock(5, [&](std::int64_t index) { order.push_back(index); });
  CHECK_EQUAL((order == std::vector<std::int64_t>{0, 1, 2, 3, 4}), true);

  Share share;
  share.Set(3, 6);
  CHECK_EQUAL(share.Take(false), 3);
  CHECK_EQUAL(share.Take(true), 5);
  CHECK_EQUAL(share.Take(false), 4);
  CHECK_EQUAL(share.Take(false), -1);
  CHECK_EQUAL(share.Take(true), -1);
}

void BlocksOfOutputsCoverEachOnceAndLeaveNoThreadWithoutWork() {
  for (const int threads : {1, 2, 5, 16}) {
    rt::SetNumThreads(threads);
    for (const std::int64_t together : {std::int64_t{1}, kBlocksTogether}) {
      for (const auto& [rows, columns] :
           {std::pair<std::int64_t, std::int64_t>{17, 1}, {512, 512}, {1000, 70}, {1023, 1023}}) {
        std::vector<std::atomic<int>> times(static_cast<std::size_t>(rows * columns));
        std::atomic<std::int64_t> blocks{0};
        ForEachOutputBlock(
            1, rows, columns, 64, together, [&](std::int64_t, const OutputBlock& block) {
              ++blocks;
              CHECK_EQUAL(block.rows <= together * kBlockRows, true);
              CHECK_EQUAL(block.columns <= kBlockColumns, true);
              for (std::int64_t row = block.row; row < block.row + block.rows; ++row) {
                for (std::int64_t j = 0; j < block.columns; ++j) {
                  ++times[static_cast<std::size_t>(row * columns + block.column + j)];
                }
              }
            });
        for (const auto& count : times) CHECK_EQUAL(count.load(), 1);
        if (rows >= 512) CHECK_EQUAL(blocks.load() >= threads, true);
      }
    }
  }
}

void OthersDoTheWorkOfAThreadThatIsHeldUp() {
  rt::SetNumThreads(2);
  constexpr std::int64_t kCount = 16;
  std::atomic<std::int64_t> done{0};
  bool was_waited_for = false;
  ForEachBlock(kCount, [&](std::int64_t index) {
    if (index == 0) {
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (done < kCount - 1 && std::chrono::steady_clock::now() < end) {
        std::this_thread::yield();
      }
      was_waited_for = done < kCount - 1;
    }
    ++done;
  });
  CHECK_EQUAL(was_waited_for, false);
  CHECK_EQUAL(done.load(), kCount);
}

}  // namespace

void Check() {
  EachBlockRunsOnce();
  BlocksOfOneThreadAreNeighbours();
  BlocksOfOutputsCoverEachOnceAndLeaveNoThreadWithoutWork();
  OthersDoTheWorkOfAThreadThatIsHeldUp();
}

}  // namespace infini::ops::cpu::INFINI_OPS_CPU_ISA

int main() {
  infini::ops::cpu::INFINI_OPS_CPU_ISA::Check();
  return infini::ops::testing::Finish();
}
