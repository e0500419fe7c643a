#include "core/current_stream.h"

#include <map>
#include <utility>

#include "core/stream_record.h"
#include "core/thread_end.h"

namespace infini::rt {
namespace {

using StreamMap = std::map<std::pair<Device::Type, int>, Stream>;

// A plain pointer, so that it can still be read when the thread's other objects are gone.
constinit thread_local StreamMap* current_streams = nullptr;

}  // namespace

Stream GetCurrentStream(const Backend& backend, int device) {
  if (current_streams != nullptr) {
    const auto found = current_streams->find({backend.type, device});
    if (found != current_streams->end()) return found->second;
  }
  return DefaultStreamHandle(backend, device);
}

void PutCurrentStream(const Backend& backend, int device, Stream stream) {
  if (current_streams == nullptr) {
    WatchThreadEnd();
    current_streams = new StreamMap;
  }
  (*current_streams)[{backend.type, device}] =
      IsDefaultStream(stream) ? DefaultStreamHandle(backend, device) : stream;
}

void LeaveStream(const Backend& backend, int device, Stream stream) noexcept {
  if (current_streams == nullptr) return;
  const auto found = current_streams->find({backend.type, device});
  if (found != current_streams->end() && found->second == stream) {
    found->second = DefaultStreamHandle(backend, device);
  }
}

void RestoreCurrentStream(const Backend& backend, int device, Stream stream) noexcept {
  if (current_streams == nullptr) return;
  const auto found = current_streams->find({backend.type, device});
  if (found == current_streams->end()) return;  // the scope set no stream here
  const bool exists = IsDefaultStream(stream) || static_cast<bool>(StreamTable().Find(stream.id));
  found->second = exists ? stream : DefaultStreamHandle(backend, device);
}

void ForgetCurrentStreams() noexcept {
  delete current_streams;
  current_streams = nullptr;
}

}  // namespace infini::rt
