"""Describes the device that a plan is made for."""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path

import torch

from linnet.backends import Target


def target_for(device: torch.device) -> Target:
    """The target for a PyTorch device."""
    index = device.index or 0
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
        capability = torch.cuda.get_device_capability(device)
        return Target("cuda", index, name, tuple(capability), torch.__version__)
    name = cpu_name() if device.type == "cpu" else device.type
    return Target(device.type, index, name, (), torch.__version__)


@cache
def cpu_name() -> str:
    """The processor's name with the instruction set that PyTorch uses on it."""
    name = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.is_file():
        for line in information.read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
    return f"{name} ({torch.backends.cpu.get_cpu_capability()})"
