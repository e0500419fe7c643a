#include "state.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace standin {
namespace {

// The stand-in has no caller who could be told, so a test run with a bad variable ends here.
[[noreturn]] void FailEnvironment(const char* variable, std::string_view text) {
  std::fprintf(stderr, "stand-in SDK: cannot read %s=\"%s\"\n", variable,
               std::string(text).c_str());
  std::abort();
}

template <typename Number>
Number ReadNumber(const char* variable, std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) {
    FailEnvironment(variable, text);
  }
  return number;
}

template <typename Number>
Number ReadVariable(const char* variable, Number unset) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? unset : ReadNumber<Number>(variable, text);
}

}  // namespace

State::State()
    : device_count(ReadVariable<int>("STANDIN_DEVICES", 2)),
      is_lazy(ReadVariable<int>("STANDIN_LAZY", 0) != 0),
      memory_per_device(static_cast<std::size_t>(
          ReadVariable<std::int64_t>("STANDIN_MEMORY", std::int64_t{1} << 30))) {
  for (int device = 0; device < device_count; ++device) {
    default_queues.push_back(std::make_shared<Queue>(Queue{device, {}}));
  }
  queues = default_queues;
  const char* const text = std::getenv("STANDIN_FAULT");
  if (text == nullptr) return;
  const std::string_view plan = text;
  const std::size_t colon = plan.find(':');
  if (colon == std::string_view::npos || colon == 0) FailEnvironment("STANDIN_FAULT", plan);
  fault_function = plan.substr(0, colon);
  fault_countdown =
      static_cast<std::size_t>(ReadNumber<std::int64_t>("STANDIN_FAULT", plan.substr(colon + 1)));
  fault_status = SDK(ErrorUnknown);
}

State& GetState() {
  static State* const state = new State;  // used until the process ends
  return *state;
}

ThreadState& GetThreadState() {
  thread_local ThreadState state;
  return state;
}

Status CallWithFault(const char* name, const std::function<Outcome(State&, Status)>& body) {
  State& state = GetState();
  Outcome outcome = kSuccess;
  {
    const std::scoped_lock lock(state.mutex);
    ++state.calls;
    Status fault = kSuccess;
    const bool is_planned = state.fault_countdown != 0 &&
                            (state.fault_function.empty() || state.fault_function == name);
    if (is_planned) --state.fault_countdown;
    if (is_planned && state.fault_countdown == 0) {
      state.faulted_function = name;
      fault = state.fault_status;
    }
    outcome = state.device_count == 0 ? Outcome(SDK(ErrorNoDevice)) : body(state, fault);
  }
  const Status status = outcome.work ? outcome.work() : outcome.status;
  if (status != kSuccess) GetThreadState().last_error = status;
  return status;
}

Status Call(const char* name, const std::function<Outcome(State&)>& body) {
  return CallWithFault(name, [&](State& state, Status fault) {
    return fault != kSuccess ? Outcome(fault) : body(state);
  });
}

Status CallDestroy(const char* name, const std::function<Outcome(State&)>& body) {
  return CallWithFault(name, [&](State& state, Status fault) {
    Outcome outcome = body(state);
    return fault != kSuccess ? Outcome(fault) : outcome;
  });
}

Status CheckMayWait(State& state) {
  const CaptureMode thread_mode = GetThreadState().capture_mode;
  if (thread_mode == SDK(StreamCaptureModeRelaxed)) return kSuccess;
  Status status = kSuccess;
  for (const SDK(Stream_t) stream : state.streams) {
    if (stream->capture == nullptr || stream->capture->mode == SDK(StreamCaptureModeRelaxed)) {
      continue;
    }
    const bool is_own = stream->capture->owner == std::this_thread::get_id();
    const bool is_global = stream->capture->mode == SDK(StreamCaptureModeGlobal) &&
                           thread_mode == SDK(StreamCaptureModeGlobal);
    if (!is_own && !is_global) continue;
    stream->capture->is_valid = false;
    status = kCaptureUnsupported;
  }
  return status;
}

bool IsDeviceRange(const State& state, const void* data, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  const auto after = state.device_memory.upper_bound(begin);
  if (after == state.device_memory.begin()) return false;
  const auto& [start, memory] = *std::prev(after);
  const std::size_t offset = begin - start;
  return offset < memory.bytes && bytes <= memory.bytes - offset;
}

}  // namespace standin

extern "C" {

const char* standinPrefix(void) { return STANDIN_STRING_EXPANDED(STANDIN_PREFIX); }

StandinLive standinLive(void) {
  standin::State& state = standin::GetState();
  const std::scoped_lock lock(state.mutex);
  const auto count = [](const auto& objects) { return objects.size(); };
  return {count(state.device_memory), count(state.host_memory), count(state.streams),
          count(state.events),        count(state.graphs),      count(state.graph_execs)};
}

std::size_t standinCallCount(void) {
  standin::State& state = standin::GetState();
  const std::scoped_lock lock(state.mutex);
  return state.calls;
}

void standinSetFault(const char* function, std::size_t nth, int status) {
  standin::State& state = standin::GetState();
  const std::scoped_lock lock(state.mutex);
  state.fault_function = function == nullptr ? "" : function;
  state.fault_countdown = nth;
  state.fault_status = static_cast<standin::Status>(status);
  state.faulted_function = nullptr;
}

const char* standinFaultedFunction(void) {
  standin::State& state = standin::GetState();
  const std::scoped_lock lock(state.mutex);
  return state.faulted_function;
}

int standinPeekLastError(void) { return standin::GetThreadState().last_error; }

}  // extern "C"
