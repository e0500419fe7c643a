// Host tasks, capture and graphs.
#include <memory>
#include <string>
#include <utility>

#include "core/check_bytes.h"
#include "core/handle_table.h"
#include "core/host_tasks.h"
#include "core/stream_record.h"
#include "core/thread_end.h"
#include "core/thread_state.h"
#include "infini/rt/runtime.h"

namespace infini::rt::runtime {
namespace {

/// A recording: `tasks` of a host-task backend, or `native` and what it refers to.
struct Recording {
  const Backend* backend;
  int device;
  std::shared_ptr<const HostGraph> tasks;
  std::shared_ptr<void> native;
};

struct GraphRecord : Recording {};
struct GraphExecRecord : Recording {};

HandleTable<GraphRecord>& GraphTable() {
  static HandleTable<GraphRecord>* const table = [] {
    auto* const fresh = new HandleTable<GraphRecord>;  // used until the process ends
    RegisterForkChild([] { GraphTable().ResetInForkedChild([](GraphRecord&) {}); });
    return fresh;
  }();
  return *table;
}

HandleTable<GraphExecRecord>& GraphExecTable() {
  static HandleTable<GraphExecRecord>* const table = [] {
    auto* const fresh = new HandleTable<GraphExecRecord>;  // used until the process ends
    RegisterForkChild([] { GraphExecTable().ResetInForkedChild([](GraphExecRecord&) {}); });
    return fresh;
  }();
  return *table;
}

template <typename Record>
typename HandleTable<Record>::Use Resolve(Function function, const Backend& backend,
                                          HandleTable<Record>& table, std::uint64_t id) {
  auto use = table.Find(id);
  if (!use) {
    Fail(ErrorCode::kInvalidArgument, function, backend,
         "the graph does not exist: it was destroyed or never created");
  }
  if (use->backend != &backend) {
    Fail(ErrorCode::kInvalidArgument, function, backend,
         "the graph belongs to " + Device(use->backend->type, use->device).ToString() +
             "; select that backend (DeviceGuard) or pass one of its own graphs");
  }
  return use;
}

template <typename Record>
void Destroy(Function function, HandleTable<Record>& table, std::uint64_t id) {
  const Backend& backend = Enter(function);
  Resolve(function, backend, table, id);
  if (table.Remove(id) == nullptr) {
    Fail(ErrorCode::kInvalidArgument, function, backend,
         "another thread destroyed the graph just now");
  }
}

template <typename Record>
std::uint64_t InsertOrFail(Function function, const Backend& backend, HandleTable<Record>& table,
                           std::unique_ptr<Record> record) {
  const std::uint64_t id = table.Insert(std::move(record));
  if (id == 0)
    Fail(ErrorCode::kOutOfMemory, function, backend, "too many live graphs; destroy some");
  return id;
}

/// Returns the calling thread's capture of `stream`, sound or spoilt. Throws `Error` when it has
/// none.
Capture& OwnCapture(const Backend& backend, const StreamUse& stream) {
  const std::uint64_t owner = stream.record
                                  ? stream.record->capture_owner.load(std::memory_order_acquire)
                                  : std::uint64_t{0};
  if (owner == 0) {
    Fail(ErrorCode::kInvalidState, Function::kStreamEndCapture, backend, stream.device,
         "the stream is not being captured; call StreamBeginCapture first");
  }
  if (owner != ThreadToken()) {
    Fail(ErrorCode::kInvalidState, Function::kStreamEndCapture, backend, stream.device,
         "another thread began the capture of the stream and must end it");
  }
  return *stream.record->capture;
}

}  // namespace

void LaunchHost(Stream stream, HostFunction function, const void* arguments, std::size_t size) {
  const Backend& backend = Enter(Function::kLaunchHost);
  if (function == nullptr)
    Fail(ErrorCode::kInvalidArgument, Function::kLaunchHost, backend, "function is null");
  CheckBytes(Function::kLaunchHost, backend, "arguments", arguments, size);
  StreamUse use = ResolveStream(Function::kLaunchHost, backend, stream);
  Capture* const capture = CaptureOf(Function::kLaunchHost, backend, use);
  if (backend.runs_host_tasks()) {
    EnqueueHostTask(backend, std::move(use), capture, function, arguments, size);
  } else {
    backend.launch_host(use.native, function, arguments, size);
  }
}

void StreamBeginCapture(Stream stream) {
  const Backend& backend = Enter(Function::kStreamBeginCapture);
  const StreamUse use = ResolveStream(Function::kStreamBeginCapture, backend, stream);
  if (!backend.has(Capability::kGraphCapture)) {
    Fail(ErrorCode::kNotSupported, Function::kStreamBeginCapture, backend,
         "this backend cannot capture streams");
  }
  if (!use.record) {
    Fail(ErrorCode::kInvalidArgument, Function::kStreamBeginCapture, backend, use.device,
         "the default stream cannot be captured; create a stream for it");
  }
  auto capture = std::make_unique<Capture>();
  WatchThreadEnd();
  std::uint64_t nobody = 0;
  if (!use.record->capture_owner.compare_exchange_strong(nobody, ThreadToken(),
                                                         std::memory_order_acq_rel)) {
    Fail(ErrorCode::kInvalidState, Function::kStreamBeginCapture, backend, use.device,
         "the stream is being captured already; end that capture with StreamEndCapture first");
  }
  try {
    if (!backend.runs_host_tasks()) backend.begin_capture(use.native);
  } catch (...) {
    use.record->capture_owner.store(0, std::memory_order_release);
    throw;
  }
  use.record->capture = std::move(capture);
  ++thread_state.captures;
}

Graph StreamEndCapture(Stream stream) {
  const Backend& backend = Enter(Function::kStreamEndCapture);
  const StreamUse use = ResolveStream(Function::kStreamEndCapture, backend, stream);
  OwnCapture(backend, use);
  const std::unique_ptr<Capture> capture = std::move(use.record->capture);
  // The stream leaves the capture whatever happens below.
  std::shared_ptr<void> native;
  try {
    if (!backend.runs_host_tasks())
      native = {backend.end_capture(use.native), backend.graph_destroy};
  } catch (...) {
    use.record->capture_owner.store(0, std::memory_order_release);
    --thread_state.captures;
    throw;
  }
  use.record->capture_owner.store(0, std::memory_order_release);
  --thread_state.captures;
  if (!capture->spoilt_by.empty()) {
    Fail(ErrorCode::kInvalidState, Function::kStreamEndCapture, backend, use.device,
         "nothing was captured: " + capture->spoilt_by +
             " was called during the capture and cannot be captured; the stream can be used again");
  }
  auto record = std::make_unique<GraphRecord>();
  record->backend = &backend;
  record->device = use.device;
  record->tasks = std::make_shared<const HostGraph>(std::move(capture->tasks));
  record->native = std::move(native);
  return {InsertOrFail(Function::kStreamEndCapture, backend, GraphTable(), std::move(record))};
}

bool StreamIsCapturing(Stream stream) {
  const Backend& backend = Enter(Function::kStreamIsCapturing);
  const StreamUse use = ResolveStream(Function::kStreamIsCapturing, backend, stream);
  return use.record && use.record->capture_owner.load(std::memory_order_acquire) != 0;
}

GraphExec GraphInstantiate(Graph graph) {
  const Backend& backend = Enter(Function::kGraphInstantiate);
  const auto use = Resolve(Function::kGraphInstantiate, backend, GraphTable(), graph.id);
  auto record = std::make_unique<GraphExecRecord>();
  record->backend = &backend;
  record->device = use->device;
  record->tasks = use->tasks;
  if (!backend.runs_host_tasks()) {
    record->native = {backend.graph_instantiate(use->native.get()), backend.graph_exec_destroy};
  }
  return {InsertOrFail(Function::kGraphInstantiate, backend, GraphExecTable(), std::move(record))};
}

void GraphLaunch(GraphExec graph, Stream stream) {
  const Backend& backend = Enter(Function::kGraphLaunch);
  auto exec = Resolve(Function::kGraphLaunch, backend, GraphExecTable(), graph.id);
  StreamUse use = ResolveStream(Function::kGraphLaunch, backend, stream);
  RefuseOnCapturedStream(Function::kGraphLaunch, backend, use);
  if (exec->device != use.device) {
    Fail(ErrorCode::kInvalidArgument, Function::kGraphLaunch, backend, use.device,
         "the graph was captured on device " + std::to_string(exec->device) +
             " but the stream is on device " + std::to_string(use.device));
  }
  if (!backend.runs_host_tasks()) {
    backend.graph_launch(exec->native.get(), use.native);
    return;
  }
  std::shared_ptr<const HostGraph> tasks = exec->tasks;
  void* const native = use.native;
  if (!backend.has(Capability::kAsyncStreams)) {
    // The tasks run inside the call below and may destroy the graph or the stream.
    exec = {};
    use.record = {};
  }
  backend.enqueue_graph(native, std::move(tasks));
}

std::size_t GraphTaskCount(Graph graph) {
  const Backend& backend = Enter(Function::kGraphTaskCount);
  const auto use = Resolve(Function::kGraphTaskCount, backend, GraphTable(), graph.id);
  return backend.runs_host_tasks() ? use->tasks->task_count()
                                   : backend.graph_task_count(use->native.get());
}

void GraphDestroy(Graph graph) { Destroy(Function::kGraphDestroy, GraphTable(), graph.id); }

void GraphExecDestroy(GraphExec graph) {
  Destroy(Function::kGraphExecDestroy, GraphExecTable(), graph.id);
}

}  // namespace infini::rt::runtime
