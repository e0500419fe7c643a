"""Records operator calls into an InfiniRT graph, which replays them without Python.

This module alone needs `infini.rt`, the package of the distribution infinirt.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from math import prod

import torch

from infini import rt
from infini.linnet.recording import current, recording
from infini.linnet.runtime_device import RuntimeDevice


class GraphRecorder:
    """A `linnet.backends.Recorder`: calls made inside `recording` are captured on a stream."""

    def __init__(self, device: RuntimeDevice) -> None:
        self._device = device
        self._execs: list[rt.GraphExec] = []
        self._calls = 0
        self._kept: list[object] = []
        self._temporaries: dict[tuple[int, torch.dtype], torch.Tensor] = {}
        with device.selected():
            self.stream = rt.stream_create()
        # The graphs live as long as the replay, which shares this list.
        self._release = weakref.finalize(self, _release, device, self.stream, self._execs)

    def keep(self, tensors: Iterable[object]) -> None:
        """Keeps what recorded calls read or write alive as long as the replay."""
        self._kept += tensors

    def temporary(self, slot: int, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """Memory that recorded calls use until the executable that asked for it has done its last
        one: calls run one after another, so all executables share it, slot by slot.
        """
        count = prod(shape)
        found = self._temporaries.get((slot, dtype))
        if found is None or found.numel() < count:
            found = torch.empty(count, dtype=dtype, device=self._device.torch_device)
            self._temporaries[(slot, dtype)] = found
            self._kept.append(found)
        return found[:count].view(shape)

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Captures what executables do; an error drops what was captured since it was entered."""
        if recording() is not None:
            raise RuntimeError("infiniops: this thread is recording already")
        with self._device.selected():
            rt.stream_begin_capture(self.stream)
            current.recorder = self
            try:
                yield
            except BaseException:
                current.recorder = None
                rt.graph_destroy(rt.stream_end_capture(self.stream))
                raise
            current.recorder = None
            graph = rt.stream_end_capture(self.stream)
            try:
                self._calls += rt.graph_task_count(graph)
                self._execs.append(rt.graph_instantiate(graph))
            finally:
                rt.graph_destroy(graph)

    def finish(self) -> GraphReplay:
        """The captured work; this recorder must not be used afterwards."""
        self._release.detach()
        execs = tuple(self._execs)
        return GraphReplay(self._device, self.stream, execs, self._calls, tuple(self._kept))


class GraphReplay:
    """A `linnet.backends.Replay` of InfiniRT graphs."""

    def __init__(
        self,
        device: RuntimeDevice,
        stream: rt.Stream,
        execs: tuple[rt.GraphExec, ...],
        calls: int,
        kept: tuple[object, ...],
    ) -> None:
        self.calls = calls
        self._kept = kept
        self._device = device
        self._stream = stream
        self._execs = execs
        weakref.finalize(self, _release, device, stream, execs)

    def run(self) -> None:
        """Does the recorded calls in order; they have been done when it returns."""
        device = self._device
        if device.backend != "cpu" or device.index != rt.get_device():
            return self._run_queued()
        # `selected` spelled out: a context manager would cost more than the calls.
        before = rt.selected_backend()
        if before != "cpu":
            rt.select_backend("cpu")
        try:
            for graph in self._execs:
                rt.graph_launch(graph, self._stream)
        finally:
            if before != "cpu":
                rt.select_backend(before)

    def _run_queued(self) -> None:
        """The same on a device that works while its host goes on: after what was queued before."""
        with self._device.selected():
            rt.device_synchronize()
            for graph in self._execs:
                rt.graph_launch(graph, self._stream)
            rt.stream_synchronize(self._stream)


def _release(
    device: RuntimeDevice, stream: rt.Stream, execs: list[rt.GraphExec] | tuple[rt.GraphExec, ...]
) -> None:
    with device.selected():
        for graph in execs:
            rt.graph_exec_destroy(graph)
        rt.stream_destroy(stream)
