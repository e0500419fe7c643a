"""What only the simulated accelerator can show: counted calls and injected faults."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch

sim = pytest.importorskip("infini.rt.sim", reason="the Python package of InfiniRT is not installed")

pytestmark = pytest.mark.sim


@pytest.fixture(autouse=True)
def _no_faults_are_left() -> Iterator[None]:
    yield
    sim.set_fault_plan("")


def calls(work: Callable[[], object]) -> dict[str, int]:
    """How often each runtime function reaches the device while `work` runs."""
    before = sim.call_counts()
    work()
    return {
        name: count - before[name]
        for name, count in sim.call_counts().items()
        if count != before[name]
    }


def test_steady_state_queues_work_and_asks_the_runtime_nothing() -> None:
    x, y, out = (torch.ones(16, device="infini") for _ in range(3))

    def step() -> None:
        torch.add(x, y)
        torch.add(x, y, out=out)
        x.add_(y)
        torch.empty(16, device="infini")

    step()
    counted = calls(lambda: [step() for _ in range(50)])
    # Operators translate device addresses for their host tasks; nothing else is asked.
    assert set(counted) <= {"launch_host", "task_pointer"}, counted
    assert counted["launch_host"] == 150


def test_a_number_as_operand_does_not_wait_for_the_device() -> None:
    x = torch.ones(16, device="infini")
    x + 1.5
    torch.infini.synchronize()
    counted = calls(lambda: [x + 1.5 for _ in range(20)])
    assert not {"stream_synchronize", "device_synchronize", "event_synchronize"} & set(counted)
    assert not {"get_device", "device_count", "malloc"} & set(counted), counted


def test_streams_and_guards_in_steady_state_ask_nothing() -> None:
    stream = torch.infini.Stream()
    x = torch.ones(16, device="infini")

    def step() -> None:
        with torch.infini.stream(stream):
            torch.add(x, x)
        torch.infini.current_stream()
        torch.infini.current_device()

    step()
    counted = calls(lambda: [step() for _ in range(20)])
    assert set(counted) <= {"launch_host", "task_pointer", "set_current_stream"}, counted


@pytest.mark.parametrize("point", ["malloc:1", "malloc:1,malloc:2"])
def test_failed_allocation_flushes_the_cache_and_tries_again(point: str) -> None:
    torch.infini.empty_cache()
    torch.empty(64 << 20, dtype=torch.uint8, device="infini")  # cached: something to flush
    retries = torch.infini.memory_stats()["num_alloc_retries"]
    sim.set_fault_plan(point)
    big = (200 << 20,)
    if point == "malloc:1":
        assert torch.empty(big, dtype=torch.uint8, device="infini").numel() == big[0]
    else:
        with pytest.raises(torch.OutOfMemoryError, match="infini out of memory: tried to allocate"):
            torch.empty(big, dtype=torch.uint8, device="infini")
    assert torch.infini.memory_stats()["num_alloc_retries"] == retries + 1


@pytest.mark.parametrize(
    ("point", "work"),
    [
        ("memcpy_async:1", lambda x: x.cpu()),
        ("launch_host:1", lambda x: x + x),
        ("stream_synchronize:1", lambda x: x.cpu()),
        ("memset_async:1", lambda x: x.zero_()),
        ("event_record:1", lambda x: torch.infini.Event().record()),
        ("device_synchronize:1", lambda x: torch.infini.synchronize()),
    ],
)
def test_failure_of_the_device_is_an_error_and_the_next_call_works(
    point: str, work: Callable[[torch.Tensor], object]
) -> None:
    x = torch.ones(16, device="infini")
    torch.infini.synchronize()
    allocated = torch.infini.memory_allocated()
    sim.set_fault_plan(point)
    with pytest.raises(RuntimeError):
        work(x)
    sim.set_fault_plan("")
    torch.infini.synchronize()
    assert torch.infini.memory_allocated() == allocated
    work(x)
    assert (x + 0).shape == (16,)
