"""Streams and events: order, misuse, handles after destruction, no growth."""

from __future__ import annotations

import gc
import resource
import threading
import time

import pytest

import infini.rt as rt

Kind = rt.MemcpyKind


def sleep_task(stream: rt.Stream, milliseconds: int) -> None:
    """Keeps `stream` busy."""
    rt.launch_host(stream, rt.testing.SLEEP, (1000 * milliseconds).to_bytes(8, "little"))


def test_copy_is_seen_by_another_stream_only_after_the_event(sim: None) -> None:
    writer, reader = rt.stream_create(), rt.stream_create()
    device, pinned = rt.malloc(8), rt.malloc_host(16)
    rt.memset(device, 1, 8)
    rt.memcpy(pinned, b"\x02" * 16, 16, Kind.HOST_TO_HOST)
    written = rt.event_create()

    sleep_task(writer, 300)
    rt.memcpy_async(device, pinned, 8, Kind.HOST_TO_DEVICE, writer)
    rt.event_record(written, writer)
    rt.memcpy_async(pinned + 8, device, 8, Kind.DEVICE_TO_HOST, reader)
    rt.stream_synchronize(reader)
    back = bytearray(16)
    rt.memcpy(back, pinned, 16, Kind.HOST_TO_HOST)
    assert bytes(back) == b"\x02" * 8 + b"\x01" * 8  # the writer is still busy
    assert not rt.event_query(written)

    rt.stream_wait_event(reader, written)
    rt.memcpy_async(pinned + 8, device, 8, Kind.DEVICE_TO_HOST, reader)
    rt.stream_synchronize(reader)
    rt.memcpy(back, pinned, 16, Kind.HOST_TO_HOST)
    assert bytes(back) == b"\x02" * 16
    for stream in (writer, reader):
        rt.stream_destroy(stream)
    rt.event_destroy(written)
    rt.free(device)
    rt.free_host(pinned)


def test_waits_release_the_interpreter(sim: None) -> None:
    stream = rt.stream_create()
    sleep_task(stream, 400)

    def wait() -> None:
        rt.select_backend("sim")
        rt.stream_synchronize(stream)

    waiter = threading.Thread(target=wait)
    waiter.start()
    turns = 0
    while waiter.is_alive():  # could not run at all if the wait held the interpreter
        turns += 1
        time.sleep(0.001)
    assert turns > 10
    rt.stream_destroy(stream)


def test_destroyed_handles_are_refused(backend: str) -> None:
    stream, event = rt.stream_create(), rt.event_create()
    rt.stream_destroy(stream)
    rt.event_destroy(event)
    for call in (
        rt.stream_destroy,
        rt.stream_query,
        rt.stream_synchronize,
        rt.set_current_stream,
        rt.stream_device,
        rt.stream_begin_capture,
        rt.stream_is_capturing,
        rt.stream_native_handle,
    ):
        with pytest.raises(ValueError, match="the stream does not exist"):
            call(stream)
    for event_call in (rt.event_destroy, rt.event_query, rt.event_synchronize, rt.event_record):
        with pytest.raises(ValueError, match="the event does not exist"):
            event_call(event)
    with pytest.raises(ValueError, match="the stream does not exist"):
        rt.memset_async(1, 0, 1, stream)
    rt.device_synchronize()


def test_stream_of_another_backend_is_refused() -> None:
    rt.select_backend("sim")
    stream, event = rt.stream_create(), rt.event_create()
    rt.select_backend("cpu")
    with pytest.raises(ValueError, match="belongs to sim:0; select that backend"):
        rt.stream_synchronize(stream)
    with pytest.raises(ValueError, match="belongs to sim:0; select that backend"):
        rt.event_query(event)
    rt.select_backend("sim")
    rt.stream_destroy(stream)
    rt.event_destroy(event)


def test_priorities(backend: str) -> None:
    assert rt.get_stream_priority_range() == (0, 0)
    with pytest.raises(ValueError, match="priority -1 is out of range"):
        rt.stream_create(-1)


def test_default_stream_stays(backend: str) -> None:
    with pytest.raises(ValueError, match="cannot be destroyed"):
        rt.stream_destroy(rt.default_stream())
    assert rt.stream_query()
    assert rt.Stream() == rt.Stream()


def test_native_streams_do_not_exist_here(backend: str) -> None:
    assert rt.stream_native_handle() == 0
    with pytest.raises(NotImplementedError, match="no native streams"):
        rt.stream_from_native_handle(1)


def test_stream_guard(sim: None) -> None:
    rt.set_device(1)
    stream = rt.stream_create()
    rt.set_device(0)

    def leave_by_exception() -> None:
        with rt.StreamGuard(stream):
            assert rt.get_device() == 1
            assert rt.current_stream() == stream
            assert str(rt.stream_device(stream)) == "sim:1"
            raise KeyError

    with pytest.raises(KeyError):
        leave_by_exception()
    assert rt.get_device() == 0
    assert rt.current_stream() == rt.default_stream()
    rt.stream_destroy(stream)


def test_a_stream_that_is_left_out_is_the_current_one(sim: None) -> None:
    stream = rt.stream_create()
    data = rt.malloc(4)
    rt.stream_begin_capture(stream)
    with rt.StreamGuard(stream):
        rt.memset_async(data, 1, 4)
        rt.memcpy_async(data, data, 4, rt.MemcpyKind.DEVICE_TO_DEVICE)
    graph = rt.stream_end_capture(stream)
    assert rt.graph_task_count(graph) == 2
    rt.graph_destroy(graph)
    rt.free(data)
    rt.set_current_stream(stream)
    rt.stream_destroy(stream)
    assert rt.current_stream() == rt.default_stream()


def test_handles_show_what_they_are(backend: str) -> None:
    assert repr(rt.Stream()) == "Stream(id=0)"
    assert repr(rt.get_memory_info()).startswith("MemoryInfo(free=")
    assert repr(rt.get_device_properties(0)).startswith('DeviceProperties(name="')
    event = rt.event_create()
    assert repr(event) == f"Event(id={event.id})"
    rt.event_destroy(event)


def test_event_life_cycle(backend: str) -> None:
    stream, event = rt.stream_create(), rt.event_create()
    assert rt.event_query(event)
    rt.stream_wait_event(stream, event)  # never recorded: no wait
    rt.stream_synchronize(stream)
    rt.event_record(event, stream)
    rt.stream_synchronize(stream)
    assert rt.event_query(event)
    rt.stream_destroy(stream)
    assert rt.event_query(event)
    rt.event_destroy(event)


def test_elapsed_time(backend: str) -> None:
    start, end, untimed, unrecorded = (
        rt.event_create(),
        rt.event_create(),
        rt.event_create(timing=False),
        rt.event_create(),
    )
    rt.event_record(start)
    rt.event_synchronize(start)
    time.sleep(0.002)
    for event in (end, untimed):
        rt.event_record(event)
        rt.event_synchronize(event)
    assert rt.event_elapsed_time(start, end) >= 1
    assert rt.event_elapsed_time(end, start) <= -1
    assert rt.event_elapsed_time(end, end) == 0
    with pytest.raises(ValueError, match="end was created without timing"):
        rt.event_elapsed_time(start, untimed)
    with pytest.raises(RuntimeError, match="start was never recorded"):
        rt.event_elapsed_time(unrecorded, end)
    for event in (start, end, untimed, unrecorded):
        rt.event_destroy(event)


def test_elapsed_time_covers_queued_work(sim: None) -> None:
    start, end = rt.event_create(), rt.event_create()
    rt.event_record(start)
    sleep_task(rt.Stream(), 20)
    rt.event_record(end)
    with pytest.raises(RuntimeError, match="not done yet"):
        rt.event_elapsed_time(start, end)
    rt.event_synchronize(end)
    assert rt.event_elapsed_time(start, end) >= 19
    rt.event_destroy(start)
    rt.event_destroy(end)


def test_options_that_a_backend_lacks_are_refused(backend: str) -> None:
    with pytest.raises(
        NotImplementedError, match="blocking = true need the capability blocking_event"
    ):
        rt.event_create(blocking=True)
    with pytest.raises(
        NotImplementedError, match="interprocess = true need the capability ipc_event"
    ):
        rt.event_create(timing=False, interprocess=True)


def test_ten_thousand_streams_and_events_do_not_grow(backend: str) -> None:
    def cycle(count: int) -> int:
        for _ in range(count):
            stream, event = rt.stream_create(), rt.event_create()
            rt.event_record(event, stream)
            rt.event_destroy(event)
            rt.stream_destroy(stream)
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = cycle(2000)
    assert cycle(10_000) - before < 2048  # KiB


def test_error_of_a_task_is_raised_once(sim: None) -> None:
    stream = rt.stream_create()
    rt.launch_host(stream, rt.testing.FAIL)
    rt.launch_host(stream, rt.testing.DO_NOTHING)
    with pytest.raises(RuntimeError, match="the host task failed"):
        rt.stream_synchronize(stream)
    rt.stream_synchronize(stream)
    rt.launch_host(stream, rt.testing.FAIL)
    with pytest.raises(RuntimeError, match="the host task failed"):
        rt.device_synchronize()
    rt.device_synchronize()
    rt.stream_destroy(stream)


def test_error_of_a_task_leaves_the_call_on_cpu() -> None:
    rt.select_backend("cpu")
    with pytest.raises(RuntimeError, match="the host task failed"):
        rt.launch_host(rt.Stream(), rt.testing.FAIL)
    rt.stream_synchronize()
    with pytest.raises(ValueError, match="function is null"):
        rt.launch_host(rt.Stream(), 0)
