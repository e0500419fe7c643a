// Parallel loops cover their range once, split at the grain, keep exceptions, and never deadlock.
#include "infini/rt/parallel.h"

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "check.h"

using namespace infini::rt;

namespace {

void TestCoverage() {
  for (const int threads : {1, 2, 7}) {
    SetNumThreads(threads);
    for (const std::int64_t n : {0, 1, 2, 63, 64, 65, 1000}) {
      for (const std::int64_t grain : {1, 7, 64, 5000}) {
        std::vector<std::atomic<int>> visits(static_cast<std::size_t>(n));
        std::atomic<bool> aligned{true};
        ParallelFor(n, grain, [&](std::int64_t begin, std::int64_t end) {
          if (begin % grain != 0 || (end != n && end % grain != 0) || begin >= end) aligned = false;
          for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
        });
        CHECK(aligned);
        bool once = true;
        for (const auto& visit : visits) once &= visit == 1;
        CHECK(once);
      }
    }
  }
}

void TestInlineCases() {
  SetNumThreads(4);
  const auto self = std::this_thread::get_id();
  bool here = false;
  ParallelFor(10, 10,
              [&](std::int64_t, std::int64_t) { here = std::this_thread::get_id() == self; });
  CHECK(here);
  CHECK(!InParallelRegion());
  std::atomic<int> inner_ranges{0};
  std::atomic<bool> nested_inside{true};
  ParallelFor(4, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto outer = std::this_thread::get_id();
      ParallelFor(100, 1, [&](std::int64_t, std::int64_t) {
        nested_inside = nested_inside && InParallelRegion() && std::this_thread::get_id() == outer;
        ++inner_ranges;
      });
    }
  });
  CHECK(nested_inside);
  CHECK_EQ(inner_ranges.load(), 4);
}

void TestErrors() {
  SetNumThreads(4);
  for (int repeat = 0; repeat < 20; ++repeat) {
    bool caught = false;
    try {
      ParallelFor(100, 1, [](std::int64_t begin, std::int64_t) {
        if (begin >= 0) throw std::runtime_error("from a range");
      });
    } catch (const std::runtime_error& error) {
      caught = std::string(error.what()) == "from a range";
    }
    CHECK(caught);
    CHECK(!InParallelRegion());
  }
  CHECK_THROWS(ParallelFor(-1, 1, [](std::int64_t, std::int64_t) {}), ErrorCode::kInvalidArgument,
               "n is -1");
  CHECK_THROWS(ParallelFor(1, 0, [](std::int64_t, std::int64_t) {}), ErrorCode::kInvalidArgument,
               "grain is 0");
  CHECK_THROWS(SetNumThreads(0), ErrorCode::kInvalidArgument, "count is 0");
  CHECK_THROWS(SetNumThreads(1025), ErrorCode::kInvalidArgument,
               "count is 1025; expected 1 to 1024");
  CHECK_EQ(GetNumThreads(), 4);
}

void TestManyCallers() {
  std::vector<std::thread> callers;
  std::atomic<std::int64_t> total{0};
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 50; ++repeat) {
        ParallelFor(100, 10, [&](std::int64_t begin, std::int64_t end) { total += end - begin; });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK_EQ(total.load(), std::int64_t{8 * 50 * 100});
}

}  // namespace

int main() {
  CHECK(GetNumThreads() >= 1);
  TestCoverage();
  TestInlineCases();
  TestErrors();
  TestManyCallers();
  return testing::Finish();
}
