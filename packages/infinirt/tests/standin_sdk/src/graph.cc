// Captures and graphs.
#include "state.h"

using namespace standin;  // NOLINT(google-build-using-namespace): the functions below are its C
                          // face

namespace {

Outcome Instantiate(State& state, SDK(GraphExec_t) * exec, SDK(Graph_t) graph) {
  if (exec == nullptr) return kInvalidValue;
  if (!state.graphs.contains(graph)) return kInvalidHandle;
  *exec = new SDK(GraphExec_st){graph->work};
  state.graph_execs.insert(*exec);
  return kSuccess;
}

Outcome EndCapture(State& state, SDK(Stream_t) stream, SDK(Graph_t) * graph, Status fault) {
  if (graph == nullptr) return kInvalidValue;
  if (!state.streams.contains(stream)) return kInvalidHandle;
  if (stream->capture == nullptr) return kIllegalState;
  if (stream->capture->owner != std::this_thread::get_id()) {
    return SDK(ErrorStreamCaptureWrongThread);
  }
  const std::unique_ptr<Capture> capture = std::move(stream->capture);
  *graph = nullptr;
  if (fault != kSuccess) return fault;
  if (!capture->is_valid) return SDK(ErrorStreamCaptureInvalidated);
  *graph = new SDK(Graph_st){std::make_shared<const std::vector<Work>>(std::move(capture->work))};
  state.graphs.insert(*graph);
  return kSuccess;
}

}  // namespace

Status SDK(ThreadExchangeStreamCaptureMode)(CaptureMode* mode) {
  return Call(SDK_NAME(ThreadExchangeStreamCaptureMode), [&](State&) -> Outcome {
    if (mode == nullptr) return kInvalidValue;
    std::swap(*mode, GetThreadState().capture_mode);
    return kSuccess;
  });
}

Status SDK(StreamBeginCapture)(SDK(Stream_t) stream, CaptureMode mode) {
  return Call(SDK_NAME(StreamBeginCapture), [&](State& state) -> Outcome {
    if (stream == nullptr) return kCaptureUnsupported;
    if (!state.streams.contains(stream)) return kInvalidHandle;
    if (stream->capture != nullptr) return kIllegalState;
    stream->capture = std::make_unique<Capture>(
        Capture{.mode = mode, .owner = std::this_thread::get_id(), .work = {}});
    return kSuccess;
  });
}

Status SDK(StreamEndCapture)(SDK(Stream_t) stream, SDK(Graph_t) * graph) {
  return CallWithFault(SDK_NAME(StreamEndCapture), [&](State& state, Status fault) {
    return EndCapture(state, stream, graph, fault);
  });
}

#ifdef STANDIN_INSTANTIATES_WITH_FLAGS
Status SDK(GraphInstantiate)(SDK(GraphExec_t) * exec, SDK(Graph_t) graph,
                             unsigned long long flags) {
  return Call(SDK_NAME(GraphInstantiate), [&](State& state) -> Outcome {
    return flags != 0 ? Outcome(kInvalidValue) : Instantiate(state, exec, graph);
  });
}
#else
Status SDK(GraphInstantiate)(SDK(GraphExec_t) * exec, SDK(Graph_t) graph,
                             SDK(GraphNode_t) * /*failed_node*/, char* log, std::size_t log_bytes) {
  return Call(SDK_NAME(GraphInstantiate), [&](State& state) -> Outcome {
    return log == nullptr && log_bytes != 0 ? Outcome(kInvalidValue)
                                            : Instantiate(state, exec, graph);
  });
}
#endif

Status SDK(GraphGetNodes)(SDK(Graph_t) graph, SDK(GraphNode_t) * nodes, std::size_t* count) {
  return Call(SDK_NAME(GraphGetNodes), [&](State& state) -> Outcome {
    if (count == nullptr) return kInvalidValue;
    if (!state.graphs.contains(graph)) return kInvalidHandle;
    if (nodes != nullptr) return SDK(ErrorNotSupported);  // nodes have no handles here
    *count = graph->work->size();
    return kSuccess;
  });
}

Status SDK(GraphLaunch)(SDK(GraphExec_t) exec, SDK(Stream_t) stream) {
  return Call(SDK_NAME(GraphLaunch), [&](State& state) -> Outcome {
    if (!state.graph_execs.contains(exec)) return kInvalidHandle;
    if (const Status status = CheckNotCaptured(state, stream); status != kSuccess) return status;
    return Submit(state, stream, [work = exec->work] {
      for (const Work& step : *work) {
        if (const Status status = step(); status != kSuccess) return status;
      }
      return kSuccess;
    });
  });
}

Status SDK(GraphDestroy)(SDK(Graph_t) graph) {
  return CallDestroy(SDK_NAME(GraphDestroy), [&](State& state) -> Outcome {
    if (state.graphs.erase(graph) == 0) return kInvalidHandle;
    delete graph;
    return kSuccess;
  });
}

Status SDK(GraphExecDestroy)(SDK(GraphExec_t) exec) {
  return CallDestroy(SDK_NAME(GraphExecDestroy), [&](State& state) -> Outcome {
    if (state.graph_execs.erase(exec) == 0) return kInvalidHandle;
    delete exec;
    return kSuccess;
  });
}
