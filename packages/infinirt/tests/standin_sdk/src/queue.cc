// How work is queued and done.
#include "state.h"

namespace standin {
namespace {

/// Held while work of lazy streams is done, so that no two threads change its order. Work may wait
/// for other work.
std::recursive_mutex& RunMutex() {
  static auto* const mutex = new std::recursive_mutex;
  return *mutex;
}

}  // namespace

const std::shared_ptr<Queue>& QueueOf(State& state, SDK(Stream_t) stream) {
  if (stream != nullptr) return stream->queue;
  return state.default_queues[static_cast<std::size_t>(GetThreadState().device)];
}

Outcome Submit(State& state, SDK(Stream_t) stream, Work work) {
  if (!IsStream(state, stream)) return kInvalidHandle;
  if (stream != nullptr && stream->capture != nullptr) {
    if (!stream->capture->is_valid) return SDK(ErrorStreamCaptureInvalidated);
    stream->capture->work.push_back(std::move(work));
    return kSuccess;
  }
  if (!state.is_lazy) return work;
  QueueOf(state, stream)->work.push_back(std::move(work));
  return kSuccess;
}

Status CheckNotCaptured(State& state, SDK(Stream_t) stream) {
  if (!IsStream(state, stream)) return kInvalidHandle;
  if (stream == nullptr || stream->capture == nullptr) return kSuccess;
  stream->capture->is_valid = false;
  return kCaptureUnsupported;
}

bool RunOne(Queue& queue, Status& status) {
  const std::scoped_lock run_lock(RunMutex());
  Work work;
  {
    const std::scoped_lock lock(GetState().mutex);
    if (queue.work.empty()) return false;
    work = std::move(queue.work.front());
    queue.work.pop_front();
  }
  const Status result = work();
  if (status == kSuccess) status = result;
  return true;
}

Status RunDevice(int device) {
  std::vector<std::shared_ptr<Queue>> queues;
  {
    const std::scoped_lock lock(GetState().mutex);
    queues = GetState().queues;
  }
  Status status = kSuccess;
  for (const std::shared_ptr<Queue>& queue : queues) {
    while (queue->device == device && RunOne(*queue, status)) {
    }
  }
  return status;
}

Status RunUntil(const Point& point) {
  // Whoever does the work that sets `is_done` holds this, too.
  const std::scoped_lock run_lock(RunMutex());
  Status status = kSuccess;
  while (!point.is_done && RunOne(*point.queue, status)) {
  }
  return status;
}

}  // namespace standin
