import threading
from typing import Any

import numpy as np
import pytest
from this_build import (  # type: ignore[import-not-found]  # on the path by conftest
    needs_device,
    needs_operators,
)

import infini.ops

SIM = needs_device("sim")
SHAPE = [4, 64]


def on(device: str, value: float) -> infini.ops.Tensor:
    tensor = infini.ops.empty(SHAPE, device=device)
    tensor.copy_from(np.full(SHAPE, value, np.float32))
    return tensor


def host(tensor: infini.ops.Tensor) -> np.ndarray:
    return np.from_dlpack(tensor.to_cpu())


@pytest.fixture
def task_delay(rt: Any) -> Any:
    """Makes sim tasks slow, so that an unordered read would see old values."""
    rt.sim.set_task_delay(2000)
    yield
    rt.sim.set_task_delay(0)


@SIM
@pytest.mark.smoke
def test_work_on_one_stream_is_ordered(rt: Any, task_delay: None) -> None:
    with rt.DeviceGuard(rt.Device("sim:0")):
        stream = rt.stream_create()
    a, b = on("sim:0", 1), on("sim:0", 2)
    for _ in range(10):
        infini.ops.add(a, b, out=a, stream=stream)
    assert (host(a) == 21).all()


@SIM
def test_a_call_on_sim_returns_before_its_work_is_done(rt: Any, task_delay: None) -> None:
    rt.sim.set_task_delay(500_000)
    with rt.DeviceGuard(rt.Device("sim:0")):
        stream = rt.stream_create()
        a, b = on("sim:0", 1), on("sim:0", 2)
        infini.ops.add(a, b, out=a, stream=stream)
        assert not rt.stream_query(stream)
        rt.stream_synchronize(stream)
        assert rt.stream_query(stream)
    assert (host(a) == 3).all()


@pytest.mark.parametrize("device", ["cpu", pytest.param("sim:1", marks=SIM)])
def test_the_current_stream_is_the_default(device: Any, rt: Any) -> None:
    with rt.DeviceGuard(rt.Device(device)):
        stream = rt.stream_create()
        a = on(device, 1)
        rt.stream_begin_capture(stream)
        with rt.StreamGuard(stream):
            infini.ops.add(a, a, out=a)
        graph = rt.stream_end_capture(stream)
        assert rt.graph_task_count(graph) == 1
        rt.graph_destroy(graph)


@SIM
def test_memory_may_be_dropped_while_its_work_is_queued(task_delay: None) -> None:
    a = on("sim:0", 1)
    for _ in range(20):
        a = infini.ops.add(a, on("sim:0", 1))
    assert (host(a) == 21).all()


@SIM
@pytest.mark.smoke
def test_the_device_of_the_tensors_is_used_and_the_current_one_kept(rt: Any) -> None:
    before = (rt.selected_backend(), rt.get_device())
    result = infini.ops.add(on("sim:1", 1), on("sim:1", 2))
    assert result.device == "sim:1"
    assert (rt.selected_backend(), rt.get_device()) == before
    with pytest.raises(ValueError):
        infini.ops.add(on("sim:1", 1), np.ones(5, np.float32))
    assert (rt.selected_backend(), rt.get_device()) == before
    with rt.DeviceGuard(rt.Device("sim:1")):
        assert infini.ops.add(np.ones(2, np.float32), np.ones(2, np.float32)).tolist() == [2, 2]
        assert (rt.selected_backend(), rt.get_device()) == ("sim", 1)


@SIM
@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        ("sim:0", "cpu", "`other` is on cpu:0, but the call is for sim:0"),
        ("cpu", "sim:0", "`other` is on sim:0, but the call is for cpu:0"),
        ("sim:0", "sim:1", "`other` is on sim:1, but the call is for sim:0"),
    ],
)
def test_mixed_devices_are_named(left: Any, right: Any, message: Any) -> None:
    with pytest.raises(ValueError) as error:
        infini.ops.add(on(left, 1), on(right, 1))
    assert str(
        error.value
    ) == f"add on {left if ':' in left else 'cpu:0'}: {message}; move all " + (
        "tensors to one device"
    )


@SIM
def test_a_stream_of_another_device_is_refused(rt: Any) -> None:
    with rt.DeviceGuard(rt.Device("sim:1")):
        stream = rt.stream_create()
    with pytest.raises(ValueError):
        infini.ops.add(on("sim:0", 1), on("sim:0", 1), stream=stream)
    with pytest.raises(ValueError):
        infini.ops.add(on("cpu", 1), on("cpu", 1), stream=stream)


@pytest.mark.smoke
@pytest.mark.parametrize("device", ["cpu", pytest.param("sim:1", marks=SIM)])
@needs_operators("linear", "rms_norm")
def test_a_captured_call_is_replayed_without_dispatch(device: Any, rt: Any) -> None:
    with rt.DeviceGuard(rt.Device(device)):
        stream = rt.stream_create()
        a, b = on(device, 1), on(device, 2)
        y, w = infini.ops.empty([4, 8], device=device), infini.ops.empty([8, 64], device=device)
        w.copy_from(np.full([8, 64], 0.5, np.float32))
        rt.stream_begin_capture(stream)
        infini.ops.add(a, b, out=a, stream=stream)
        infini.ops.linear(a, w, out=y, stream=stream)
        infini.ops.rms_norm(y, out=y, stream=stream)
        graph = rt.stream_end_capture(stream)
        assert rt.graph_task_count(graph) == 3
        assert (host(a) == 1).all(), "capturing runs nothing"
        ready = rt.graph_instantiate(graph)
        rt.graph_destroy(graph)
        for step in range(1, 4):
            rt.graph_launch(ready, stream)
            rt.stream_synchronize(stream)
            assert (host(a) == 1 + 2 * step).all()
        direct = infini.ops.rms_norm(infini.ops.linear(a, w))
        assert (host(y) == host(direct)).all()
        # Replaced contents are seen.
        w.copy_from(np.arange(512, dtype=np.float32).reshape(8, 64))
        rt.graph_launch(ready, stream)
        rt.stream_synchronize(stream)
        assert (host(y) == host(infini.ops.rms_norm(infini.ops.linear(a, w)))).all()
        rt.graph_exec_destroy(ready)
        rt.stream_destroy(stream)


def test_a_refused_call_leaves_a_capture_usable(rt: Any) -> None:
    with rt.DeviceGuard(rt.Device("cpu")):
        stream = rt.stream_create()
        a = on("cpu", 1)
        rt.stream_begin_capture(stream)
        with pytest.raises(ValueError):
            infini.ops.add(a, np.ones(5, np.float32), stream=stream)
        infini.ops.add(a, a, out=a, stream=stream)
        graph = rt.stream_end_capture(stream)
        assert rt.graph_task_count(graph) == 1
        rt.graph_destroy(graph)
        rt.stream_destroy(stream)


@pytest.mark.parametrize("device", ["cpu", pytest.param("sim", marks=SIM)])
def test_eight_threads_give_serial_results(device: Any) -> None:
    rng = np.random.default_rng(0)
    sizes = [(1 + i % 7, 16 + 8 * i, 5 + i) for i in range(16)]
    problems = [
        (
            rng.standard_normal((m, k), np.float32),
            rng.standard_normal((n, k), np.float32),
            10.0 ** -(i % 5),
        )
        for i, (m, k, n) in enumerate(sizes)
    ]

    def solve(x: Any, w: Any, eps: Any) -> Any:
        if device == "cpu":
            return infini.ops.rms_norm(infini.ops.linear(x, w), eps=eps)
        there = []
        for array in (x, w):
            there.append(infini.ops.empty(array.shape, device="sim:0"))
            there[-1].copy_from(array)
        return host(infini.ops.rms_norm(infini.ops.linear(*there), eps=eps))

    expected = [infini.ops.rms_norm(infini.ops.linear(x, w), eps=eps) for x, w, eps in problems]
    failures = []

    def work(first: Any) -> None:
        for step in range(200 if device == "cpu" else 8):
            index = (first + step) % len(problems)
            if not np.array_equal(solve(*problems[index]), expected[index]):
                failures.append((first, step, index))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@SIM
def test_external_devices_are_unknown_until_they_are_bound() -> None:
    infini.ops.bind_external_device("sim")
    infini.ops.bind_external_device(None)
    with pytest.raises(ValueError):
        infini.ops.bind_external_device("no such device")
