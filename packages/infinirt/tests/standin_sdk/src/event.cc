// Events.
#include "state.h"

using namespace standin;  // NOLINT(google-build-using-namespace): the functions
                          // below are the namespace's C face

namespace {

constexpr unsigned kTimingOff = SDK(EventDisableTiming);
constexpr unsigned kInterprocess = SDK(EventInterprocess);
constexpr unsigned kKnownFlags = SDK(EventBlockingSync) | kTimingOff | kInterprocess;

bool IsTimed(SDK(Event_t) event) { return event->is_recorded && (event->flags & kTimingOff) == 0; }

Status CheckWait(State& state, SDK(Event_t) event) {
  return state.events.contains(event) ? CheckMayWait(state) : kInvalidHandle;
}

}  // namespace

Status SDK(EventCreateWithFlags)(SDK(Event_t) * event, unsigned flags) {
  return Call(SDK_NAME(EventCreateWithFlags), [&](State& state) -> Outcome {
    if (event == nullptr || (flags & ~kKnownFlags) != 0) return kInvalidValue;
    if ((flags & kInterprocess) != 0 && (flags & kTimingOff) == 0) return kInvalidValue;
    *event = new SDK(Event_st){.device = GetThreadState().device, .flags = flags, .time = {}};
    state.events.insert(*event);
    return kSuccess;
  });
}

Status SDK(EventDestroy)(SDK(Event_t) event) {
  return CallDestroy(SDK_NAME(EventDestroy), [&](State& state) -> Outcome {
    if (state.events.erase(event) == 0) return kInvalidHandle;
    delete event;
    return kSuccess;
  });
}

Status SDK(EventRecord)(SDK(Event_t) event, SDK(Stream_t) stream) {
  return Call(SDK_NAME(EventRecord), [&](State& state) -> Outcome {
    if (!state.events.contains(event)) return kInvalidHandle;
    if (const Status status = CheckImmediate(state, stream); status != kSuccess) return status;
    if (event->device != DeviceOf(stream)) return kInvalidHandle;
    event->is_recorded = true;
    event->time = std::chrono::steady_clock::now();
    return kSuccess;
  });
}

Status SDK(EventQuery)(SDK(Event_t) event) {
  return Call(SDK_NAME(EventQuery), [&](State& state) { return CheckWait(state, event); });
}

Status SDK(EventSynchronize)(SDK(Event_t) event) {
  return Call(SDK_NAME(EventSynchronize), [&](State& state) { return CheckWait(state, event); });
}

Status SDK(EventElapsedTime)(float* milliseconds, SDK(Event_t) start, SDK(Event_t) end) {
  return Call(SDK_NAME(EventElapsedTime), [&](State& state) -> Outcome {
    if (milliseconds == nullptr) return kInvalidValue;
    if (!state.events.contains(start) || !state.events.contains(end)) return kInvalidHandle;
    if (!IsTimed(start) || !IsTimed(end)) return kInvalidHandle;
    *milliseconds = std::chrono::duration<float, std::milli>(end->time - start->time).count();
    return kSuccess;
  });
}
