"""Backends and devices are chosen per thread; what does not exist is refused."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable

import pytest

import infini.rt as rt

Run = Callable[..., subprocess.CompletedProcess[str]]


def in_thread(function: Callable[[], object]) -> object:
    """Returns the result of `function` in a new thread."""
    results: list[object] = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]


def test_compiled_backends_include_cpu_and_sim() -> None:
    assert set(rt.compiled_backends()) >= {"cpu", "sim"}


def test_default_is_an_accelerator_that_has_a_device_else_cpu(run_python: Run) -> None:
    code = "import infini.rt as rt; print(rt.selected_backend(), rt.device_count())"
    assert run_python(code, INFINI_RT_SIM_DEVICES="3").stdout.split() == ["sim", "3"]
    assert run_python(code, INFINI_RT_SIM_DEVICES="").stdout.split() == ["cpu", "1"]
    assert run_python(code, INFINI_RT_SIM_DEVICES="0").stdout.split() == ["cpu", "1"]


def test_bad_device_count_in_the_environment_is_an_error(run_python: Run) -> None:
    done = run_python(
        "import infini.rt as rt; rt.select_backend('sim'); rt.device_count()",
        INFINI_RT_SIM_DEVICES="two",
    )
    assert done.returncode == 1
    assert (
        'INFINI_RT_SIM_DEVICES on sim: the environment variable is "two"; expected a number'
        in done.stderr
    )


@pytest.mark.parametrize("name", ["nvidia", "ascend"])
def test_absent_backend_is_refused(backend: str, name: str) -> None:
    generation = rt.selection_generation()
    with pytest.raises(
        NotImplementedError, match=f"SelectBackend on {name}: this build .* it has cpu, sim"
    ):
        rt.select_backend(name)
    assert rt.selected_backend() == backend
    assert rt.selection_generation() == generation


def test_unknown_backend_name_lists_the_names() -> None:
    with pytest.raises(ValueError, match=r'cannot read "gpu" as a device.*cpu, nvidia, iluvatar'):
        rt.select_backend("gpu")


def test_generation_changes_with_the_selection() -> None:
    def changes() -> tuple[int, int, int]:
        first = rt.selection_generation()
        rt.select_backend("cpu")
        second = rt.selection_generation()
        rt.select_backend("cpu")
        rt.select_backend("sim")
        return first, second, rt.selection_generation()

    assert in_thread(changes) in [(1, 2, 3), (1, 1, 2)]  # the default may already be cpu


def test_new_thread_starts_at_device_0_and_the_default_stream(sim: None) -> None:
    rt.set_device(1)
    stream = rt.stream_create()
    rt.set_current_stream(stream)

    def fresh() -> tuple[int, bool]:
        rt.select_backend("sim")
        return rt.get_device(), rt.current_stream() == rt.default_stream()

    assert in_thread(fresh) == (0, True)
    assert rt.get_device() == 1
    assert rt.current_stream() == stream
    rt.set_current_stream(rt.default_stream())
    rt.stream_destroy(stream)


def test_eight_threads_keep_their_own_device_and_stream(sim: None) -> None:
    errors: list[str] = []

    def work(index: int) -> None:
        rt.select_backend("sim")
        rt.set_device(index % 2)
        stream = rt.stream_create()
        for _ in range(10_000):
            rt.set_device(index % 2)
            rt.set_current_stream(stream)
            if rt.get_device() != index % 2 or rt.current_stream() != stream:
                errors.append(f"thread {index} saw device {rt.get_device()}")
                break
        rt.stream_destroy(stream)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_a_device_is_no_backend_name() -> None:
    with pytest.raises(ValueError, match='"sim:1" names a device; expected a backend'):
        rt.select_backend("sim:1")


@pytest.mark.parametrize("index", [2**31, 2**40, -(2**80)])
def test_device_index_beyond_an_int_is_refused(sim: None, index: int) -> None:
    with pytest.raises(ValueError, match=f"SetDevice: device index {index} is not a number from"):
        rt.set_device(index)


@pytest.mark.parametrize("index", [-1, 2, 2**31 - 1])
def test_wrong_device_index_is_refused(sim: None, index: int) -> None:
    with pytest.raises(
        ValueError, match=f"SetDevice on sim: device index {index} is out of range; .* 2 devices"
    ):
        rt.set_device(index)
    assert rt.get_device() == 0


def test_properties_and_memory(backend: str) -> None:
    properties = rt.get_device_properties(0)
    assert properties.name
    assert properties.total_memory > 0
    assert properties.multiprocessor_count > 0
    memory = rt.get_memory_info()
    assert 0 <= memory.free <= memory.total
    with pytest.raises(ValueError, match="GetDeviceProperties"):
        rt.get_device_properties(99)


def test_capabilities_tell_cpu_and_sim_apart() -> None:
    rt.select_backend("cpu")
    assert rt.has_capability(rt.Capability.HOST_ACCESS)
    assert not rt.has_capability(rt.Capability.ASYNC_MEMCPY)
    rt.select_backend("sim")
    assert not rt.has_capability(rt.Capability.HOST_ACCESS)
    assert rt.has_capability(rt.Capability.ASYNC_MEMCPY)
    assert not rt.has_capability(rt.Capability.STREAM_PRIORITY)


def test_device_names_parse_both_ways() -> None:
    assert str(rt.Device("sim:1")) == "sim:1"
    assert rt.Device("cuda").type == "nvidia"
    assert rt.Device("musa:2") == rt.Device("moore:2")
    assert rt.Device("cpu") != rt.Device("sim")
    assert len({rt.Device("sim:0"), rt.Device("sim:0"), rt.Device("sim:1")}) == 2
    with pytest.raises(ValueError, match="index is not a number"):
        rt.Device("cpu:-1")


def test_device_guard_restores_after_an_exception() -> None:
    rt.select_backend("cpu")

    def leave_by_exception() -> None:
        with rt.DeviceGuard(rt.Device("sim:1")) as device:
            assert (rt.selected_backend(), rt.get_device(), str(device)) == ("sim", 1, "sim:1")
            raise KeyError

    with pytest.raises(KeyError):
        leave_by_exception()
    assert rt.selected_backend() == "cpu"
    rt.select_backend("sim")
    assert rt.get_device() == 0
    with pytest.raises(ValueError, match="out of range"), rt.DeviceGuard(rt.Device("sim:2")):
        pass
    guard = rt.DeviceGuard(rt.Device("sim:1"))
    with guard, pytest.raises(RuntimeError, match="already entered"), guard:
        pass


def test_a_guard_belongs_to_the_thread_that_entered_it() -> None:
    rt.select_backend("cpu")
    guard = rt.DeviceGuard(rt.Device("sim:1"))
    guard.__enter__()

    def leave() -> str:
        rt.select_backend("cpu")
        with pytest.raises(RuntimeError, match="entered in another thread"):
            guard.__exit__(None, None, None)
        return rt.selected_backend()

    assert in_thread(leave) == "cpu"
    assert rt.selected_backend() == "sim"
    guard.__exit__(None, None, None)
    assert rt.selected_backend() == "cpu"


def test_number_of_threads(backend: str) -> None:
    before = rt.get_num_threads()
    rt.set_num_threads(3)
    assert rt.get_num_threads() == 3
    with pytest.raises(ValueError, match="SetNumThreads: count is 0"):
        rt.set_num_threads(0)
    assert rt.get_num_threads() == 3
    rt.set_num_threads(before)


def test_omp_num_threads_is_honoured(run_python: Run) -> None:
    done = run_python("import infini.rt as rt; print(rt.get_num_threads())", OMP_NUM_THREADS="5")
    assert done.stdout.strip() == "5"
