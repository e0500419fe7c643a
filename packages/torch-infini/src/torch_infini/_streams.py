"""Streams and events of `torch.infini`, which follow torch.cuda."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import torch

from torch_infini import _native
from torch_infini._devices import DeviceLike, existing_index


class Stream(torch.Stream):
    """A queue of work on one device. Work on one stream runs in order.

    Streams come from a pool of 32 for each priority and device, so that two objects may name the
    same stream; they live as long as the process.

    Args:
        device: device of the stream (default: the current one).
        priority: negative for a high priority. Cut to the range of the backend, which is just 0
            where it has no priorities.
        stream_id, device_index, device_type: name an existing stream, as `torch.Stream` does.
    """

    def __new__(cls, device: DeviceLike = None, priority: int = 0, **names: Any) -> Stream:
        """See the class."""
        if names:
            return super().__new__(cls, priority=priority, **names)
        where = torch.device("infini", existing_index(device))
        return super().__new__(cls, device=where, priority=priority)

    @property
    def priority(self) -> int:
        """The priority that the backend gave the stream; lower numbers come first."""
        return _native.stream_priority(self.device_index, self.stream_id)

    def wait_event(self, event: torch.Event) -> None:
        """Makes later work on this stream wait for the last record of `event`."""
        event.wait(self)

    def wait_stream(self, stream: torch.Stream) -> None:
        """Makes later work on this stream wait for the work queued on `stream` so far."""
        event = Event()
        event.record(stream)
        event.wait(self)

    def record_event(self, event: torch.Event | None = None) -> torch.Event:
        """Records `event` (default: a new one) on this stream and returns it."""
        if event is None:
            event = Event()
        event.record(self)
        return event

    def __repr__(self) -> str:
        return f"<torch.infini.Stream device=infini:{self.device_index} id={self.stream_id}>"


class Event(torch.Event):
    """A point in the work of a stream.

    Args:
        enable_timing: whether `elapsed_time` can be asked.
        blocking: whether `synchronize` lets the thread sleep.
        interprocess: whether other processes can use the event.

    Raises:
        NotImplementedError: the backend lacks what `blocking` or `interprocess` ask for.
    """

    def __new__(
        cls, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> Event:
        """See the class."""
        for asked, name, capability in (
            (blocking, "blocking", "blocking_event"),
            (interprocess, "interprocess", "ipc_event"),
        ):
            # PyTorch's generic event hands neither option to a device.
            if asked:
                lacks = (
                    ""
                    if _native.has_capability(capability)
                    else f" {_native.backend_name()} lacks it;"
                )
                raise NotImplementedError(
                    f"torch.infini.Event({name}=True) is not supported:{lacks} create the event "
                    f"without it"
                )
        return super().__new__(cls, device="infini", enable_timing=enable_timing)

    def record(self, stream: torch.Stream | None = None) -> None:
        """Marks the work queued on `stream` (default: the current one) so far."""
        super().record(current_stream() if stream is None else stream)

    def wait(self, stream: torch.Stream | None = None) -> None:
        """Makes later work on `stream` (default: the current one) wait for the last record."""
        super().wait(current_stream() if stream is None else stream)

    def elapsed_time(self, end_event: torch.Event) -> float:
        """Returns the milliseconds from this event to `end_event`, negative if that came first.

        Raises:
            RuntimeError: an event was not recorded, is not done, has no timing, or the events are
                of two devices.
        """
        # `torch.Event.elapsed_time` accepts no subclass.
        return _native.elapsed_time(self.event_id, end_event.event_id)

    def __repr__(self) -> str:
        return f"<torch.infini.Event {self.event_id:#x}>"


def _as_stream(stream: torch.Stream) -> Stream:
    return Stream(
        stream_id=stream.stream_id,
        device_index=stream.device_index,
        device_type=stream.device_type,
    )


def current_stream(device: DeviceLike = None) -> Stream:
    """Returns the calling thread's current stream on a device (default: the current one)."""
    return _as_stream(torch.accelerator.current_stream(existing_index(device)))


def default_stream(device: DeviceLike = None) -> Stream:
    """Returns the default stream of a device (default: the current one)."""
    return Stream(
        stream_id=0,
        device_index=existing_index(device),
        device_type=_device_type(),
    )


def set_stream(stream: torch.Stream | None) -> None:
    """Makes `stream` the calling thread's current stream, and its device current.

    Does nothing for None, as torch.cuda.
    """
    if stream is None:
        return
    _native.exchange_device(stream.device_index)
    torch.accelerator.set_stream(stream)


class StreamContext:
    """Context manager: makes a stream and its device current, and restores both.

    Args:
        stream: the stream; None changes nothing.
    """

    def __init__(self, stream: torch.Stream | None) -> None:
        self.stream = stream
        self._previous: list[tuple[int, Stream]] = []

    def __enter__(self) -> None:
        if self.stream is None:
            return
        device = _native.exchange_device(self.stream.device_index)
        try:
            self._previous.append((device, current_stream()))
            torch.accelerator.set_stream(self.stream)
        except BaseException:
            _native.exchange_device(device)
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.stream is None:
            return
        device, stream = self._previous.pop()
        torch.accelerator.set_stream(stream)
        _native.exchange_device(device)


def stream(stream: torch.Stream | None) -> StreamContext:
    """Returns a context manager that makes `stream` current; None changes nothing."""
    return StreamContext(stream)


def _device_type() -> int:
    return int(torch._C._autograd.DeviceType.PrivateUse1.value)
