"""What only the simulated accelerator can show: counted calls and injected faults."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch

sim = pytest.importorskip("infini.rt.sim", reason="the Python package of InfiniRT is not installed")

pytestmark = pytest.mark.sim

# Operators of InfiniOps translate addresses for their host tasks, and ask InfiniRT's own tables for
# the thread's device and the stream's. Nothing here reaches a device but the task itself.
PER_OPERATOR = {"launch_host", "task_pointer", "get_device", "stream_device"}


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
    assert set(counted) <= PER_OPERATOR, counted
    assert counted["launch_host"] == 150
    assert counted.get("get_device", 0) <= 150  # torch-infini itself adds none


def test_a_number_as_operand_does_not_wait_for_the_device() -> None:
    x = torch.ones(16, device="infini")
    ops = pytest.importorskip("infini.ops")
    if "fill" not in ops.operators():
        pytest.skip("this InfiniOps has no fill: numbers go through pinned memory")
    x + 1.5
    counted = calls(lambda: [x + 1.5 for _ in range(20)])
    assert set(counted) <= PER_OPERATOR, counted
    assert counted["launch_host"] == 40  # a fill, where InfiniOps has it, and the addition


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
    assert set(counted) <= PER_OPERATOR | {"set_current_stream"}, counted


def test_failed_allocation_flushes_the_cache_and_tries_again() -> None:
    torch.infini.empty_cache()
    torch.empty(64 << 20, dtype=torch.uint8, device="infini")  # cached: something to flush
    before = torch.infini.memory_stats()
    sim.set_fault_plan("malloc:1")
    assert torch.empty(200 << 20, dtype=torch.uint8, device="infini").numel() == 200 << 20
    after = torch.infini.memory_stats()
    assert after["num_alloc_retries"] == before["num_alloc_retries"] + 1
    assert after["num_device_free"] > before["num_device_free"]
    assert after["num_ooms"] == before["num_ooms"]


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
