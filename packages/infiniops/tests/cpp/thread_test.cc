// Calls from eight threads, each with its own arguments, streams and selections, give what one
// thread gives. Run under ThreadSanitizer too.
#include <infini/ops.h>
#include <infini/rt/guard.h>
#include <infini/rt/runtime.h>

#include <thread>
#include <vector>

#include "check.h"

namespace infini::ops {
namespace {

constexpr int kThreads = 8;
constexpr int kSteps = 200;

struct Problem {
  std::int64_t rows;
  std::int64_t inner;
  std::int64_t columns;
  double eps;
};

Problem ProblemOf(int index) {
  return {1 + index % 7, 16 + 8 * (index % 11), 5 + index % 13, 1.0 / (1 + index % 5)};
}

std::vector<float> Solve(const Problem& problem, Stream stream) {
  const auto fill = [](std::int64_t count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(i * 7919 % 101) * 0.01f;
    }
    return values;
  };
  auto x = fill(problem.rows * problem.inner);
  auto w = fill(problem.columns * problem.inner);
  std::vector<float> y(static_cast<std::size_t>(problem.rows * problem.columns));
  const Context context = {.stream = stream};
  const TensorView out(y.data(), {problem.rows, problem.columns}, DataType::kFloat32, Device());
  Linear::Call(context, {x.data(), {problem.rows, problem.inner}, DataType::kFloat32, Device()},
               {w.data(), {problem.columns, problem.inner}, DataType::kFloat32, Device()},
               std::nullopt, out);
  RmsNorm::Call(context, out, std::nullopt, problem.eps, out);
  return y;
}

}  // namespace
}  // namespace infini::ops

int main() {
  using namespace infini::ops;  // NOLINT(google-build-using-namespace): one scope
  std::vector<std::vector<float>> expected;
  for (int index = 0; index < 64; ++index) expected.push_back(Solve(ProblemOf(index), {}));
  std::vector<int> wrong(kThreads);
  std::vector<std::thread> threads;
  for (int number = 0; number < kThreads; ++number) {
    threads.emplace_back([&, number] {
      const infini::rt::DeviceGuard guard{infini::rt::Device()};
      const Stream stream = infini::rt::runtime::StreamCreate();
      const ScopedSelection selection(number % 2 == 0 ? "linear=native" : "linear=0");
      for (int step = 0; step < kSteps; ++step) {
        const int index = (number * 17 + step) % 64;
        if (Solve(ProblemOf(index), stream) != expected[static_cast<std::size_t>(index)]) {
          ++wrong[static_cast<std::size_t>(number)];
        }
      }
      infini::rt::runtime::StreamDestroy(stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : wrong) CHECK_EQUAL(count, 0);
  return testing::Finish();
}
