"""Memory figures of `torch.infini`, in bytes, of the caching allocator (but `mem_get_info`)."""

from __future__ import annotations

from typing import Any

import torch

from torch_infini._devices import DeviceLike, existing_index


def memory_stats(device: DeviceLike = None) -> dict[str, Any]:
    """Returns the allocator's statistics of a device, under the names of torch.cuda."""
    return dict(torch.accelerator.memory_stats(existing_index(device)))


def memory_allocated(device: DeviceLike = None) -> int:
    """Bytes that tensors hold."""
    return int(torch.accelerator.memory_allocated(existing_index(device)))


def max_memory_allocated(device: DeviceLike = None) -> int:
    """Most bytes that tensors held since the start or `reset_peak_memory_stats`."""
    return int(torch.accelerator.max_memory_allocated(existing_index(device)))


def memory_reserved(device: DeviceLike = None) -> int:
    """Bytes that the allocator took from the device, in use or not."""
    return int(torch.accelerator.memory_reserved(existing_index(device)))


def max_memory_reserved(device: DeviceLike = None) -> int:
    """Most bytes taken from the device since the start or `reset_peak_memory_stats`."""
    return int(torch.accelerator.max_memory_reserved(existing_index(device)))


def reset_peak_memory_stats(device: DeviceLike = None) -> None:
    """Makes the current figures the peaks."""
    torch.accelerator.reset_peak_memory_stats(existing_index(device))


def reset_accumulated_memory_stats(device: DeviceLike = None) -> None:
    """Sets the totals of allocated and freed memory to zero."""
    torch.accelerator.reset_accumulated_memory_stats(existing_index(device))


def empty_cache() -> None:
    """Gives memory that no tensor holds back to the devices."""
    torch.accelerator.empty_cache()


def mem_get_info(device: DeviceLike = None) -> tuple[int, int]:
    """Returns free and total bytes of a device, as its runtime tells."""
    free, total = torch.accelerator.get_memory_info(existing_index(device))
    return int(free), int(total)
