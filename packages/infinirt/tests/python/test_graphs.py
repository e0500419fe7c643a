"""Capture and replay from Python."""

from __future__ import annotations

import pytest

import infini.rt as rt


def test_replay_does_what_the_calls_would(backend: str) -> None:
    stream = rt.stream_create()
    device = rt.malloc(1000)
    back = bytearray(1000)
    rt.memset(device, 0, 1000)
    rt.stream_begin_capture(stream)
    assert rt.stream_is_capturing(stream)
    for index in range(1000):
        rt.memset_async(device + index, index % 251, 1, stream)
    graph = rt.stream_end_capture(stream)
    assert rt.graph_task_count(graph) == 1000
    rt.memcpy(back, device, 1000, rt.MemcpyKind.DEVICE_TO_HOST)
    assert bytes(back) == bytes(1000)  # recorded, not run
    executable = rt.graph_instantiate(graph)
    rt.graph_destroy(graph)
    for _ in range(3):
        rt.memset(device, 0, 1000)
        rt.graph_launch(executable, stream)
        rt.stream_synchronize(stream)
        rt.memcpy(back, device, 1000, rt.MemcpyKind.DEVICE_TO_HOST)
        assert bytes(back) == bytes(index % 251 for index in range(1000))
    rt.graph_exec_destroy(executable)
    with pytest.raises(ValueError, match="the graph does not exist"):
        rt.graph_launch(executable, stream)
    rt.stream_destroy(stream)
    rt.free(device)


def test_illegal_call_spoils_the_capture_and_names_itself(backend: str) -> None:
    stream = rt.stream_create()
    rt.stream_begin_capture(stream)
    with pytest.raises(RuntimeError, match="Malloc cannot be captured"):
        rt.malloc(16)
    with pytest.raises(RuntimeError, match="nothing was captured: Malloc was called"):
        rt.stream_end_capture(stream)
    rt.stream_begin_capture(stream)
    rt.graph_destroy(rt.stream_end_capture(stream))
    rt.stream_destroy(stream)


def test_misuse_is_refused(backend: str) -> None:
    stream = rt.stream_create()
    with pytest.raises(RuntimeError, match="not being captured"):
        rt.stream_end_capture(stream)
    with pytest.raises(ValueError, match="default stream cannot be captured"):
        rt.stream_begin_capture(rt.default_stream())
    rt.stream_begin_capture(stream)
    with pytest.raises(RuntimeError, match="captured already"):
        rt.stream_begin_capture(stream)
    with pytest.raises(RuntimeError, match="being captured"):
        rt.stream_destroy(stream)
    rt.graph_destroy(rt.stream_end_capture(stream))
    rt.stream_destroy(stream)


def test_failing_task_is_raised_by_the_launch_or_the_wait(backend: str) -> None:
    stream = rt.stream_create()
    rt.stream_begin_capture(stream)
    rt.launch_host(stream, rt.testing.DO_NOTHING)
    rt.launch_host(stream, rt.testing.FAIL)
    graph = rt.stream_end_capture(stream)
    executable = rt.graph_instantiate(graph)

    def launch_and_wait() -> None:
        rt.graph_launch(executable, stream)
        rt.stream_synchronize(stream)

    with pytest.raises(RuntimeError, match="the host task failed"):
        launch_and_wait()
    rt.stream_synchronize(stream)
    rt.graph_exec_destroy(executable)
    rt.graph_destroy(graph)
    rt.stream_destroy(stream)
