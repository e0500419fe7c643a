// Events.
#include "state.h"

using namespace standin;  // NOLINT(google-build-using-namespace): the functions below are its C
                          // face

namespace {

constexpr unsigned kTimingOff = SDK(EventDisableTiming);
constexpr unsigned kInterprocess = SDK(EventInterprocess);
constexpr unsigned kKnownFlags = SDK(EventBlockingSync) | kTimingOff | kInterprocess;

bool IsTimed(SDK(Event_t) event) {
  return event->point != nullptr && (event->flags & kTimingOff) == 0;
}

Status CheckWait(State& state, SDK(Event_t) event) {
  return state.events.contains(event) ? CheckMayWait(state) : kInvalidHandle;
}

}  // namespace

Status SDK(EventCreateWithFlags)(SDK(Event_t) * event, unsigned flags) {
  return Call(SDK_NAME(EventCreateWithFlags), [&](State& state) -> Outcome {
    if (event == nullptr || (flags & ~kKnownFlags) != 0) return kInvalidValue;
    if ((flags & kInterprocess) != 0 && (flags & kTimingOff) == 0) return kInvalidValue;
    *event = new SDK(Event_st){GetThreadState().device, flags, nullptr};
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
    if (const Status status = CheckNotCaptured(state, stream); status != kSuccess) return status;
    if (event->device != QueueOf(state, stream)->device) return kInvalidHandle;
    auto point = std::make_shared<Point>(Point{.queue = QueueOf(state, stream), .time = {}});
    event->point = point;
    return Submit(state, stream, [point = std::move(point)] {
      point->time = std::chrono::steady_clock::now();
      point->is_done = true;
      return kSuccess;
    });
  });
}

// Does a piece of work, so that asking often enough comes to an end.
Status SDK(EventQuery)(SDK(Event_t) event) {
  return Call(SDK_NAME(EventQuery), [&](State& state) -> Outcome {
    if (const Status status = CheckWait(state, event); status != kSuccess) return status;
    if (event->point == nullptr || event->point->is_done) return kSuccess;
    return Work([queue = event->point->queue] {
      Status status = kSuccess;
      RunOne(*queue, status);
      return status == kSuccess ? SDK(ErrorNotReady) : status;
    });
  });
}

Status SDK(EventSynchronize)(SDK(Event_t) event) {
  return Call(SDK_NAME(EventSynchronize), [&](State& state) -> Outcome {
    if (const Status status = CheckWait(state, event); status != kSuccess) return status;
    if (event->point == nullptr) return kSuccess;
    return Work([point = event->point] { return RunUntil(*point); });
  });
}

Status SDK(EventElapsedTime)(float* milliseconds, SDK(Event_t) start, SDK(Event_t) end) {
  return Call(SDK_NAME(EventElapsedTime), [&](State& state) -> Outcome {
    if (milliseconds == nullptr) return kInvalidValue;
    if (!state.events.contains(start) || !state.events.contains(end)) return kInvalidHandle;
    if (!IsTimed(start) || !IsTimed(end)) return kInvalidHandle;
    if (!start->point->is_done || !end->point->is_done) return SDK(ErrorNotReady);
    const auto elapsed = end->point->time - start->point->time;
    *milliseconds = std::chrono::duration<float, std::milli>(elapsed).count();
    return kSuccess;
  });
}
