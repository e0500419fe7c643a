// Costs of the runtime's own work, in nanoseconds. Prints one JSON object: name -> {value, unit,
// aim?, note}.
//
// Each figure is the median of many repetitions, each long enough for the clock; a figure beside a
// peer ("over memcpy") is measured in turns with it, so that the machine's noise meets both.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "infini/rt.h"

namespace {

namespace rt = infini::rt;
using Clock = std::chrono::steady_clock;

constexpr int kRepetitions = 31;

/// Keeps the compiler from dropping `value`.
template <typename T>
void Keep(T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

/// Returns the nanoseconds that one of `count` turns of `body` takes.
template <typename Body>
double TimeOnce(std::int64_t count, Body&& body) {
  const Clock::time_point start = Clock::now();
  for (std::int64_t i = 0; i < count; ++i) body();
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() /
         static_cast<double>(count);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

template <typename Body>
double Measure(std::int64_t count, Body&& body) {
  TimeOnce(count, body);
  std::vector<double> times;
  for (int i = 0; i < kRepetitions; ++i) times.push_back(TimeOnce(count, body));
  return Median(times);
}

/// Returns the median of `body` minus `baseline`, taken in turns.
template <typename Body, typename Baseline>
double MeasureOver(std::int64_t count, Body&& body, Baseline&& baseline) {
  TimeOnce(count, body);
  TimeOnce(count, baseline);
  std::vector<double> differences;
  for (int i = 0; i < kRepetitions; ++i) {
    const double base = TimeOnce(count, baseline);
    differences.push_back(TimeOnce(count, body) - base);
  }
  return Median(differences);
}

struct Result {
  const char* name;
  double value;
  double aim;  // 0 when there is none
  const char* note;
};

void Print(const std::vector<Result>& results) {
  std::printf("{\n");
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Result& result = results[i];
    std::printf("  \"%s\": {\"value\": %.2f, \"unit\": \"ns\", ", result.name, result.value);
    if (result.aim > 0) std::printf("\"aim\": %.0f, ", result.aim);
    std::printf("\"note\": \"%s\"}%s\n", result.note, i + 1 == results.size() ? "" : ",");
  }
  std::printf("}\n");
}

void BenchmarkTensorViews(std::vector<Result>& results) {
  static float storage[1];
  std::int64_t shape[] = {2, 3, 4, 5};
  std::int64_t strides[] = {60, 20, 5, 1};
  const auto rank4 = [&](std::span<const std::int64_t> steps) {
    Keep(shape);
    rt::TensorView view(storage, shape, steps, rt::DataType::kFloat32, rt::Device());
    Keep(view);
  };
  results.push_back({"tensor_view_construct_rank4", Measure(200000, [&] { rank4(strides); }), 5,
                     "with strides, all checks"});
  results.push_back({"tensor_view_construct_contiguous_rank4",
                     Measure(200000,
                             [&] {
                               Keep(shape);
                               rt::TensorView view(storage, shape, rt::DataType::kFloat32,
                                                   rt::Device());
                               Keep(view);
                             }),
                     5, "strides computed, all checks"});
  rt::TensorView source(storage, shape, rt::DataType::kFloat32, rt::Device());
  results.push_back({"tensor_view_copy_rank4",
                     Measure(200000,
                             [&] {
                               Keep(source);
                               rt::TensorView copy(source);
                               Keep(copy);
                             }),
                     5, ""});
  const std::vector<std::int64_t> shape12(12, 1);
  const rt::TensorView source12(storage, shape12, rt::DataType::kFloat32, rt::Device());
  results.push_back({"tensor_view_copy_rank12",
                     Measure(200000,
                             [&] {
                               rt::TensorView copy(source12);
                               Keep(copy);
                             }),
                     0, "one heap block"});
}

void BenchmarkQueries(std::vector<Result>& results) {
  results.push_back({"get_device",
                     Measure(500000,
                             [] {
                               int device = rt::runtime::GetDevice();
                               Keep(device);
                             }),
                     3, "cpu"});
  results.push_back({"selection_generation",
                     Measure(500000,
                             [] {
                               auto number = rt::runtime::SelectionGeneration();
                               Keep(number);
                             }),
                     0, ""});
  results.push_back({"device_guard",
                     Measure(200000, [] { const rt::DeviceGuard guard{rt::Device()}; }), 0,
                     "cpu, already selected"});
  results.push_back({"set_device", Measure(500000, [] { rt::runtime::SetDevice(0); }), 0, "cpu"});
}

void BenchmarkMemory(std::vector<Result>& results) {
  std::vector<char> source(64);
  std::vector<char> target(64);
  // Through pointers that the compiler cannot see through, so that both sides call memmove.
  void* (*volatile copy)(void*, const void*, std::size_t) = std::memmove;
  results.push_back({"memcpy_64_bytes_over_memmove",
                     MeasureOver(
                         200000,
                         [&] {
                           rt::runtime::Memcpy(target.data(), source.data(), 64,
                                               rt::MemcpyKind::kHostToDevice);
                         },
                         [&] { copy(target.data(), source.data(), 64); }),
                     20, "cpu"});
  const rt::Stream stream = rt::runtime::StreamCreate();
  results.push_back({"memcpy_async_64_bytes_over_memmove",
                     MeasureOver(
                         200000,
                         [&] {
                           rt::runtime::MemcpyAsync(target.data(), source.data(), 64,
                                                    rt::MemcpyKind::kHostToDevice, stream);
                         },
                         [&] { copy(target.data(), source.data(), 64); }),
                     0, "cpu, created stream"});
  rt::runtime::StreamDestroy(stream);
  results.push_back({"malloc_free_256_bytes",
                     Measure(50000, [] { rt::runtime::Free(rt::runtime::Malloc(256)); }), 0,
                     "cpu, both calls"});
}

void BenchmarkStreams(std::vector<Result>& results) {
  results.push_back({"stream_event_cycle",
                     Measure(20000,
                             [] {
                               const rt::Stream stream = rt::runtime::StreamCreate();
                               const rt::Event event = rt::runtime::EventCreate();
                               rt::runtime::EventRecord(event, stream);
                               rt::runtime::EventSynchronize(event);
                               rt::runtime::EventDestroy(event);
                               rt::runtime::StreamDestroy(stream);
                             }),
                     0, "cpu: create, record, synchronise, destroy"});
  const rt::HostFunction nothing = [](const void*) {};
  results.push_back({"launch_host_default_stream",
                     Measure(200000, [&] { rt::runtime::LaunchHost({}, nothing, nullptr, 0); }), 0,
                     "cpu, an empty task"});
}

void BenchmarkGraphs(std::vector<Result>& results) {
  constexpr std::int64_t kTasks = 1000;
  const rt::Stream stream = rt::runtime::StreamCreate();
  const rt::HostFunction nothing = [](const void*) {};
  struct Arguments {
    std::int64_t values[8];
  } arguments{};
  rt::runtime::StreamBeginCapture(stream);
  for (std::int64_t i = 0; i < kTasks; ++i) {
    rt::runtime::LaunchHost(stream, nothing, &arguments, sizeof arguments);
  }
  const rt::Graph graph = rt::runtime::StreamEndCapture(stream);
  const rt::GraphExec exec = rt::runtime::GraphInstantiate(graph);
  const double launch = Measure(500, [&] { rt::runtime::GraphLaunch(exec, stream); });
  results.push_back({"graph_launch_per_task", launch / kTasks, 100,
                     "cpu, 1000 empty tasks with 64 bytes of arguments"});
  rt::runtime::GraphExecDestroy(exec);
  rt::runtime::GraphDestroy(graph);
  rt::runtime::StreamDestroy(stream);
}

void BenchmarkParallel(std::vector<Result>& results) {
  std::int64_t sink = 0;
  results.push_back(
      {"parallel_for_inline",
       Measure(200000,
               [&] {
                 rt::ParallelFor(16, 16, [&sink](std::int64_t, std::int64_t end) { sink += end; });
               }),
       0, "a loop below its grain"});
  rt::SetNumThreads(2);
  results.push_back(
      {"parallel_for_two_threads",
       Measure(5000, [&] { rt::ParallelFor(2, 1, [](std::int64_t, std::int64_t) {}); }), 0,
       "start and end of a region"});
  Keep(sink);
}

}  // namespace

int main() {
  rt::runtime::SelectBackend(rt::Device::Type::kCpu);
  std::vector<Result> results;
  BenchmarkTensorViews(results);
  BenchmarkQueries(results);
  BenchmarkMemory(results);
  BenchmarkStreams(results);
  BenchmarkGraphs(results);
  BenchmarkParallel(results);
  Print(results);
  return 0;
}
