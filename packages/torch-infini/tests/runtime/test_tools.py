"""PyTorch's profiler and benchmark timer."""

from __future__ import annotations

import pytest
import torch
from torch.utils import benchmark


def test_profiler_sees_the_operators() -> None:
    x = torch.ones(8, device="infini")
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        x + x
    assert "aten::add" in {event.key for event in profile.key_averages()}


@pytest.mark.sim
def test_profiler_times_the_work_on_the_device() -> None:
    x = torch.ones(8, device="infini")
    x + x
    with torch.autograd.profiler.profile(use_device="infini") as profile:
        x + x
    (event,) = (event for event in profile.function_events if event.name == "aten::add")
    # Microseconds; each task of the simulated device is delayed by 200.
    assert event.device_time_total >= 200


def test_memory_profiler_sees_what_is_allocated() -> None:
    with torch.profiler.profile(profile_memory=True) as profile:
        x = torch.empty(1024, dtype=torch.float32, device="infini")
        del x
    events = {event.key: event for event in profile.key_averages()}
    assert events["aten::empty"].self_device_memory_usage == 4096


def test_timer_waits_for_the_device() -> None:
    x = torch.ones(8, device="infini")
    statement = "for _ in range(20): x + x"
    measured = benchmark.Timer(statement, globals={"x": x}).timeit(3)
    assert torch.infini.current_stream().query()
    assert measured.mean > 0
    if torch.infini.get_device_name().startswith("sim"):
        assert measured.mean > 20 * 200e-6
