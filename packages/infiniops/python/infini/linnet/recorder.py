"""Records operator calls into an InfiniRT graph, which replays them without Python."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

from infini import rt

_current = threading.local()


def recording_stream() -> rt.Stream | None:
    """The stream that this thread records on, or None when it does not record."""
    stream: rt.Stream | None = getattr(_current, "stream", None)
    return stream


@contextmanager
def selected(backend: str) -> Iterator[None]:
    """Makes `backend` the runtime back end of this thread for a while."""
    before = rt.selected_backend()
    if before == backend:
        yield
        return
    rt.select_backend(backend)
    try:
        yield
    finally:
        rt.select_backend(before)


class GraphRecorder:
    """A `linnet.backends.Recorder`: calls made inside `recording` are captured on a stream."""

    def __init__(self, backend: str) -> None:
        self._backend = backend
        self._execs: list[rt.GraphExec] = []
        self._calls = 0
        with selected(backend):
            self._stream = rt.stream_create()
        # The graphs live as long as the replay, which shares this list.
        self._release = weakref.finalize(self, _release, backend, self._stream, self._execs)

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Captures what executables do; an error drops what was captured since it was entered."""
        if recording_stream() is not None:
            raise RuntimeError("infiniops: this thread is recording already")
        with selected(self._backend):
            rt.stream_begin_capture(self._stream)
            _current.stream = self._stream
            try:
                yield
            except BaseException:
                _current.stream = None
                rt.graph_destroy(rt.stream_end_capture(self._stream))
                raise
            _current.stream = None
            graph = rt.stream_end_capture(self._stream)
            try:
                self._calls += rt.graph_task_count(graph)
                self._execs.append(rt.graph_instantiate(graph))
            finally:
                rt.graph_destroy(graph)

    def finish(self) -> GraphReplay:
        """The captured work; this recorder must not be used afterwards."""
        self._release.detach()
        return GraphReplay(self._backend, self._stream, tuple(self._execs), self._calls)


class GraphReplay:
    """A `linnet.backends.Replay` of InfiniRT graphs."""

    def __init__(
        self, backend: str, stream: rt.Stream, execs: tuple[rt.GraphExec, ...], calls: int
    ) -> None:
        self.calls = calls
        self._backend = backend
        self._stream = stream
        self._execs = execs
        weakref.finalize(self, _release, backend, stream, execs)

    def run(self) -> None:
        """Does the recorded calls in order; they have been done when it returns."""
        # `selected` spelled out: a context manager would cost more than the calls.
        before = rt.selected_backend()
        if before != self._backend:
            rt.select_backend(self._backend)
        try:
            for graph in self._execs:
                rt.graph_launch(graph, self._stream)
        finally:
            if before != self._backend:
                rt.select_backend(before)


def _release(
    backend: str, stream: rt.Stream, execs: list[rt.GraphExec] | tuple[rt.GraphExec, ...]
) -> None:
    with selected(backend):
        for graph in execs:
            rt.graph_exec_destroy(graph)
        rt.stream_destroy(stream)
