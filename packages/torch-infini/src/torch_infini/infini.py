"""`torch.infini`: devices, streams, events, memory and seeds, named as in torch.cuda."""

from __future__ import annotations

import torch

from torch_infini import _native
from torch_infini._devices import (
    DeviceProperties,
    current_device,
    device,
    device_count,
    device_of,
    exchange_device,
    get_device_capability,
    get_device_name,
    get_device_properties,
    is_available,
    set_device,
    synchronize,
)
from torch_infini._memory import (
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_stats,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
)
from torch_infini._random import (
    _is_in_bad_fork,
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from torch_infini._streams import (
    Event,
    Stream,
    StreamContext,
    current_stream,
    default_stream,
    set_stream,
    stream,
)

__all__ = [
    "DeviceProperties",
    "Event",
    "Stream",
    "StreamContext",
    "_is_in_bad_fork",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "exchange_device",
    "get_amp_supported_dtype",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "initial_seed",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
]


def init() -> None:
    """Binds the calling thread to its device now; otherwise its first use does."""
    _native.init()


def is_initialized() -> bool:
    """Whether this process has used a device, and may go on (not after fork). Counting devices is
    no use."""
    return _native.is_initialized()


def get_amp_supported_dtype() -> list[torch.dtype]:
    """Returns the low precisions of `torch.autocast("infini")`."""
    return [torch.float16, torch.bfloat16]


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether operators take bfloat16: always."""
    return True
