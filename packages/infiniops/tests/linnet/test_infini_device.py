"""Plans on PyTorch's device `infini`: the same operators, recorded on the device's back end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from decoder import (  # type: ignore[import-not-found]  # on the path by conftest
    captured,
    decoder,
    given,
    needs_operators,
)

from infini.linnet.runtime_device import RuntimeDevice, runtime_device
from linnet.backends import Target

torch_infini = pytest.importorskip("torch_infini")


def last_device() -> str:
    """The device that is least likely to be used by accident."""
    return f"infini:{torch.infini.device_count() - 1}"  # type: ignore[attr-defined]  # torch_infini adds it


@needs_operators
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_a_captured_decoder_on_the_device_equals_one_on_the_cpu(dtype: str) -> None:
    device = last_device()
    here, there = decoder(dtype), decoder(dtype, device=device)
    on_cpu, on_device = captured(here), captured(there, device)
    for position in range(20):
        (expected,) = on_cpu(given(position))
        (made,) = on_device([one.to(device) for one in given(position)])
        assert made.device == torch.device(device)
        assert torch.equal(made.cpu(), expected), position
    report = on_device.report()
    assert report.parts == 1
    assert not report.unrecorded
    assert report.calls == on_cpu.report().calls
    for path in here.state_paths():
        assert torch.equal(there.tensor(path).cpu(), here.tensor(path)), path


@needs_operators
def test_a_replay_runs_after_what_was_queued_on_the_device_before() -> None:
    device = last_device()
    here, there = decoder("f32"), decoder("f32", device=device)
    on_cpu, on_device = captured(here), captured(there, device)
    for position in range(6):
        (expected,) = on_cpu(given(position))
        tokens, positions = given(position)
        # Made on the device, by work that may still be in the queue when the step is called.
        queued = [tokens.to(device) + 1 - 1, positions.to(device) + 1 - 1]
        (made,) = on_device(queued)
        assert torch.equal(made.cpu(), expected), position


def test_a_device_is_known_once_its_package_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    target = Target("infini", 0, "infini", "", torch.__version__)
    backend = torch_infini.backend_name()
    assert runtime_device(target) == RuntimeDevice("infini:0", backend, 0)
    monkeypatch.delitem(sys.modules, "torch_infini")
    assert runtime_device(target) is None


@pytest.mark.parametrize(
    "setting",
    [
        {"INFINI_RT_SIM_DEVICES": "0"},  # the device is the CPU's memory
        # Microseconds a task: what does not wait reads old values.
        {"INFINI_RT_SIM_DEVICES": "2", "INFINI_RT_SIM_DELAY": "200"},
    ],
    ids=["cpu", "slow"],
)
def test_plans_hold_on_other_back_ends_of_the_device(setting: dict[str, str]) -> None:
    environment = {**os.environ, **setting}
    environment.pop("PYTEST_XDIST_WORKER", None)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    result = subprocess.run(
        [*command, str(Path(__file__)), "-k", "not other_back_ends"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
