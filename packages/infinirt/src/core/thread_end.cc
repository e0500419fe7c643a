#include "core/thread_end.h"

#include "core/current_stream.h"
#include "core/stream_record.h"

namespace infini::rt {
namespace {

struct ThreadEnd {
  ~ThreadEnd() {
    DiscardCapturesOfThread();
    ForgetCurrentStreams();
  }
};

}  // namespace

void WatchThreadEnd() {
  thread_local const ThreadEnd end;
  static_cast<void>(&end);
}

}  // namespace infini::rt
