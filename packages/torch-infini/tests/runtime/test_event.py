"""Events: states, order and misuse."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

if TYPE_CHECKING:
    from gate import Gate


def test_unrecorded_event_is_done_and_waits_for_nothing() -> None:
    event = torch.infini.Event()
    assert event.query()
    event.synchronize()
    event.wait()
    torch.infini.Stream().wait_event(event)


def test_recorded_event_is_done_after_synchronisation() -> None:
    stream = torch.infini.Stream()
    with torch.infini.stream(stream):
        torch.ones(16, device="infini") + 1
    event = stream.record_event()
    stream.synchronize()
    assert event.query()
    event.synchronize()


def test_event_follows_the_last_record() -> None:
    x = torch.zeros(8, dtype=torch.int32, device="infini")
    event = torch.infini.Event()
    event.record()
    for _ in range(20):
        x += 1
    event.record()
    event.synchronize()
    other = torch.infini.Stream()
    with torch.infini.stream(other):
        assert x.cpu()[0] == 20


def test_event_outlives_its_stream_object() -> None:
    event = torch.infini.Stream().record_event()
    event.synchronize()
    assert event.query()


def test_elapsed_time_is_in_milliseconds_and_signed() -> None:
    start, end = (torch.infini.Event(enable_timing=True) for _ in range(2))
    start.record()
    x = torch.zeros(1 << 16, device="infini")
    for _ in range(10):
        x += 1
    end.record()
    torch.infini.synchronize()
    assert start.elapsed_time(end) > 0
    assert end.elapsed_time(start) < 0
    assert start.elapsed_time(start) == 0


@pytest.mark.sim
def test_elapsed_time_covers_queued_device_work() -> None:
    start, end = (torch.infini.Event(enable_timing=True) for _ in range(2))
    x = torch.zeros(8, device="infini")
    torch.infini.synchronize()
    start.record()
    for _ in range(50):
        x += 1
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) >= 50 * 0.2  # INFINI_RT_SIM_DELAY in test_on_sim.py


def test_elapsed_time_of_events_without_timing_is_refused() -> None:
    start, end = torch.infini.Event(), torch.infini.Event(enable_timing=True)
    start.record()
    end.record()
    torch.infini.synchronize()
    with pytest.raises(RuntimeError, match="timing"):
        start.elapsed_time(end)


def test_elapsed_time_of_unrecorded_events_is_refused() -> None:
    start, end = (torch.infini.Event(enable_timing=True) for _ in range(2))
    start.record()
    with pytest.raises(RuntimeError, match="recorded"):
        start.elapsed_time(end)


@pytest.mark.sim
def test_elapsed_time_of_unfinished_events_is_refused(gate: Gate) -> None:
    start, end = (torch.infini.Event(enable_timing=True) for _ in range(2))
    start.record()
    gate.hold(torch.infini.current_stream())
    end.record()
    assert not end.query()
    with pytest.raises(RuntimeError):
        start.elapsed_time(end)
    gate.open()
    end.synchronize()
    assert start.elapsed_time(end) >= 0


@pytest.mark.usefixtures("two_devices")
def test_elapsed_time_across_devices_is_refused() -> None:
    start, end = (torch.infini.Event(enable_timing=True) for _ in range(2))
    start.record(torch.infini.default_stream(0))
    end.record(torch.infini.default_stream(1))
    torch.infini.synchronize(0)
    torch.infini.synchronize(1)
    with pytest.raises(RuntimeError, match="device"):
        start.elapsed_time(end)


@pytest.mark.parametrize("option", ["blocking", "interprocess"])
def test_options_that_the_backend_lacks_are_refused(option: str) -> None:
    with pytest.raises(NotImplementedError, match=rf"torch\.infini\.Event\({option}=True\)"):
        torch.infini.Event(**{option: True})


def test_generic_events_work() -> None:
    event = torch.Event("infini")
    event.record()
    event.synchronize()
    assert event.query()
    assert torch.infini.Event().device.type == "infini"


def test_events_of_many_streams_do_not_accumulate() -> None:
    for _ in range(2000):
        torch.infini.current_stream().record_event()
