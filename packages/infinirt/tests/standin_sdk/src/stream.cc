// Streams and host functions.
#include "state.h"

namespace standin {

bool IsStream(const State& state, SDK(Stream_t) stream) {
  return stream == nullptr || state.streams.contains(stream);
}

}  // namespace standin

using namespace standin;  // NOLINT(google-build-using-namespace): the functions below are its C
                          // face

namespace {

/// For a function that waits for or asks about `stream`.
Status CheckWait(State& state, SDK(Stream_t) stream) {
  if (const Status status = CheckNotCaptured(state, stream); status != kSuccess) return status;
  return CheckMayWait(state);
}

}  // namespace

Status SDK(StreamCreateWithPriority)(SDK(Stream_t) * stream, unsigned flags, int /*priority*/) {
  return Call(SDK_NAME(StreamCreateWithPriority), [&](State& state) -> Outcome {
    constexpr unsigned kKnownFlags = SDK(StreamNonBlocking);
    if (stream == nullptr || (flags & ~kKnownFlags) != 0) return kInvalidValue;
    auto queue = std::make_shared<Queue>(Queue{GetThreadState().device, {}});
    state.queues.push_back(queue);
    *stream = new SDK(Stream_st){std::move(queue), flags, nullptr};
    state.streams.insert(*stream);
    return kSuccess;
  });
}

Status SDK(StreamDestroy)(SDK(Stream_t) stream) {
  return CallDestroy(SDK_NAME(StreamDestroy), [&](State& state) -> Outcome {
    if (state.streams.erase(stream) == 0) return kInvalidHandle;
    // What is queued will still be done.
    std::erase_if(state.queues, [stream](const std::shared_ptr<Queue>& queue) {
      return queue == stream->queue && queue->work.empty();
    });
    delete stream;
    return kSuccess;
  });
}

Status SDK(StreamGetFlags)(SDK(Stream_t) stream, unsigned* flags) {
  return Call(SDK_NAME(StreamGetFlags), [&](State& state) -> Outcome {
    if (flags == nullptr) return kInvalidValue;
    if (!IsStream(state, stream)) return kInvalidHandle;
    *flags = stream == nullptr ? SDK(StreamDefault) : stream->flags;
    return kSuccess;
  });
}

// Does a piece of work, so that asking often enough comes to an end.
Status SDK(StreamQuery)(SDK(Stream_t) stream) {
  return Call(SDK_NAME(StreamQuery), [&](State& state) -> Outcome {
    if (const Status status = CheckWait(state, stream); status != kSuccess) return status;
    return Work([queue = QueueOf(state, stream)] {
      Status status = kSuccess;
      const bool was_busy = RunOne(*queue, status);
      return status == kSuccess && was_busy ? SDK(ErrorNotReady) : status;
    });
  });
}

Status SDK(StreamSynchronize)(SDK(Stream_t) stream) {
  return Call(SDK_NAME(StreamSynchronize), [&](State& state) -> Outcome {
    if (const Status status = CheckWait(state, stream); status != kSuccess) return status;
    return Work([queue = QueueOf(state, stream)] {
      Status status = kSuccess;
      while (RunOne(*queue, status)) {
      }
      return status;
    });
  });
}

Status SDK(StreamWaitEvent)(SDK(Stream_t) stream, SDK(Event_t) event, unsigned flags) {
  return Call(SDK_NAME(StreamWaitEvent), [&](State& state) -> Outcome {
    if (flags != 0) return kInvalidValue;
    if (!state.events.contains(event)) return kInvalidHandle;
    if (const Status status = CheckNotCaptured(state, stream); status != kSuccess) return status;
    if (event->point == nullptr) return kSuccess;
    return Submit(state, stream, [point = event->point] { return RunUntil(*point); });
  });
}

Status SDK(LaunchHostFunc)(SDK(Stream_t) stream, SDK(HostFn_t) function, void* payload) {
  return Call(SDK_NAME(LaunchHostFunc), [&](State& state) -> Outcome {
    if (function == nullptr) return kInvalidValue;
    return Submit(state, stream, [function, payload] {
      function(payload);
      return kSuccess;
    });
  });
}
