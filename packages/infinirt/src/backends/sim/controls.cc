#include "backends/sim/controls.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>

#include "infini/rt/error.h"
#include "infini/rt/sim.h"

namespace infini::rt::sim {
namespace {

struct CallState {
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::int64_t> until_fault{0};  // the call that brings this from 1 to 0 fails
};

std::array<CallState, kFunctionCount> call_states;
std::atomic<std::int64_t> task_delay{0};

/// Returns the number in `text`, or `fallback` unless all of it is a number from `low` to `high`.
std::int64_t ParseNumber(std::string_view text, std::int64_t low, std::int64_t high,
                         std::int64_t fallback) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && value >= low && value <= high ? value : fallback;
}

/// Reads an environment variable once per process. A malformed value is an error where the device
/// is first used.
std::int64_t Setting(const char* name, std::int64_t low, std::int64_t high, std::int64_t fallback) {
  const char* const text = std::getenv(name);
  if (text == nullptr || *text == '\0') return fallback;
  const std::int64_t value = ParseNumber(text, low, high, low - 1);
  if (value < low) {
    throw Error(ErrorCode::kInvalidArgument, name, "sim",
                "the environment variable is \"" + std::string(text) +
                    "\"; expected a number from " + std::to_string(low) + " to " +
                    std::to_string(high));
  }
  return value;
}

[[noreturn]] void FailPlan(std::string_view plan, const std::string& reason) {
  throw Error(ErrorCode::kInvalidArgument, "SetFaultPlan", "sim",
              "cannot read fault plan \"" + std::string(plan) + "\": " + reason +
                  "; expected items such as malloc:3, joined by commas");
}

/// Reads `plan` whole, then puts it in force.
void StorePlan(std::string_view plan) {
  std::array<std::int64_t, kFunctionCount> faults{};
  std::string_view rest = plan;
  for (bool more = !plan.empty(); more;) {
    const std::size_t comma = rest.find(',');
    const std::string item(rest.substr(0, comma));
    more = comma != std::string_view::npos;
    if (more) rest = rest.substr(comma + 1);
    const std::size_t colon = item.find(':');
    if (colon == std::string::npos) FailPlan(plan, "\"" + item + "\" has no call number");
    const std::int64_t number =
        ParseNumber(std::string_view(item).substr(colon + 1), 1, INT32_MAX, 0);
    if (number == 0) FailPlan(plan, "the number in \"" + item + "\" is not 1 or more");
    const std::string name = item.substr(0, colon);
    const auto* const found = std::find(std::begin(kFunctionSnakeNames),
                                        std::end(kFunctionSnakeNames), std::string_view(name));
    if (found == std::end(kFunctionSnakeNames)) {
      FailPlan(plan, "no runtime function is named \"" + name + "\"");
    }
    std::int64_t& fault = faults[static_cast<std::size_t>(found - kFunctionSnakeNames)];
    if (fault != 0) FailPlan(plan, "\"" + name + "\" is named twice");
    fault = number;
  }
  for (std::size_t i = 0; i < faults.size(); ++i) call_states[i].until_fault.store(faults[i]);
}

/// Reads delay and faults from the environment before the first call is counted.
void ReadEnvironment() {
  static const bool read = [] {
    task_delay.store(Setting("INFINI_RT_SIM_DELAY", 0, 60'000'000, 0));
    if (const char* const plan = std::getenv("INFINI_RT_SIM_FAULT")) StorePlan(plan);
    return true;
  }();
  static_cast<void>(read);
}

}  // namespace

std::chrono::microseconds TaskDelay() noexcept {
  return std::chrono::microseconds(task_delay.load(std::memory_order_relaxed));
}

void OnCall(Function function) {
  ReadEnvironment();
  CallState& state = call_states[static_cast<std::size_t>(function)];
  state.calls.fetch_add(1, std::memory_order_relaxed);
  if (state.until_fault.load(std::memory_order_relaxed) <= 0) return;
  if (state.until_fault.fetch_sub(1, std::memory_order_relaxed) != 1) return;
  const bool allocates = function == Function::kMalloc || function == Function::kMallocAsync ||
                         function == Function::kMallocHost;
  throw Error(
      allocates ? ErrorCode::kOutOfMemory : ErrorCode::kDeviceFailure, FunctionName(function),
      "sim",
      "this call fails because the fault plan says so (INFINI_RT_SIM_FAULT or SetFaultPlan)");
}

int DeviceCountFromEnvironment() {
  static const int count = static_cast<int>(Setting("INFINI_RT_SIM_DEVICES", 0, 64, 0));
  return count;
}

std::size_t MemoryFromEnvironment() {
  constexpr std::int64_t kDefault = std::int64_t{4} << 30;
  return static_cast<std::size_t>(
      Setting("INFINI_RT_SIM_MEMORY", 4096, std::int64_t{1} << 40, kDefault));
}

void SetTaskDelay(std::int64_t microseconds) {
  ReadEnvironment();
  if (microseconds < 0) {
    throw Error(
        ErrorCode::kInvalidArgument, "SetTaskDelay", "sim",
        "the delay is " + std::to_string(microseconds) + " microseconds; expected 0 or more");
  }
  task_delay.store(microseconds, std::memory_order_relaxed);
}

void SetFaultPlan(std::string_view plan) {
  ReadEnvironment();
  StorePlan(plan);
}

std::vector<std::string_view> FaultPoints() {
  return {std::begin(kFunctionSnakeNames), std::end(kFunctionSnakeNames)};
}

std::vector<std::uint64_t> CallCounts() {
  std::vector<std::uint64_t> counts;
  for (const CallState& state : call_states)
    counts.push_back(state.calls.load(std::memory_order_relaxed));
  return counts;
}

}  // namespace infini::rt::sim
