"""Devices of `torch.infini`: how many there are, which one is current, waiting for one."""

from __future__ import annotations

from types import TracebackType
from typing import Any, NamedTuple, TypeAlias

import torch

from torch_infini import _native

DeviceLike: TypeAlias = "torch.device | str | int | None"

_NO_INDEX = 2**31  # the native functions take numbers below it


def device_index(device: Any, *, optional: bool = True) -> int:
    """Returns the index of an infini device; of the current one for None or `"infini"`.

    Args:
        device: `torch.device`, its text, an index, or None.
        optional: whether None and devices without an index are accepted.

    Raises:
        ValueError: the device is of another kind, or has no index where one is needed.
        TypeError: `device` is none of the accepted types.
        RuntimeError: `device` is a number that no device of any process has.
    """
    if isinstance(device, int) and not isinstance(device, bool):
        if not -_NO_INDEX < device < _NO_INDEX:
            raise RuntimeError(f"infini:{device} does not exist")
        return device
    if isinstance(device, str):
        device = torch.device(device)
    index: int | None = None
    if isinstance(device, torch.device):
        if device.type != "infini":
            raise ValueError(f"expected an infini device, got {device}")
        index = device.index
    elif device is not None:
        raise TypeError(f"expected a torch.device, str, int or None, got {type(device).__name__}")
    if index is None:
        if not optional:
            raise ValueError(f"expected a device with an index, such as 'infini:0', got {device}")
        return _native.current_device()
    return index


def existing_index(device: Any) -> int:
    """Returns what `device_index` does, or raises `RuntimeError` where there is no such device.

    PyTorch's own functions keep the lowest eight bits of an index, so they get a checked one.
    """
    return _native.checked_device(device_index(device))


def is_available() -> bool:
    """Whether a device can be used. False in a forked child of a process that used one."""
    return _native.is_available()


def device_count() -> int:
    """Number of devices; 1 when InfiniRT falls back to the CPU."""
    return _native.device_count()


def current_device() -> int:
    """Index of the calling thread's current device; 0 in a new thread."""
    return _native.current_device()


def set_device(device: DeviceLike) -> None:
    """Makes a device current in the calling thread. A negative index changes nothing.

    Raises:
        RuntimeError: there is no such device.
    """
    index = device_index(device)
    if index >= 0:
        _native.exchange_device(index)


def exchange_device(device: int) -> int:
    """Makes a device current and returns the one that was; a negative index changes nothing."""
    return _native.exchange_device(device) if device >= 0 else _native.current_device()


def synchronize(device: DeviceLike = None) -> None:
    """Waits for all work on a device (default: the current one); other threads go on."""
    _native.synchronize(device_index(device))


class DeviceProperties(NamedTuple):
    """What `get_device_properties` returns."""

    name: str
    total_memory: int  # bytes
    multi_processor_count: int
    major: int
    minor: int


def get_device_properties(device: DeviceLike = None) -> DeviceProperties:
    """Returns name, memory in bytes, number of multiprocessors and capability of a device."""
    return DeviceProperties(**_native.device_properties(device_index(device)))  # type: ignore[arg-type]  # the dictionary has exactly these keys


def get_device_name(device: DeviceLike = None) -> str:
    """Returns the name that the runtime gives a device."""
    return get_device_properties(device).name


def get_device_capability(device: DeviceLike = None) -> tuple[int, int]:
    """Returns the compute capability; (0, 0) where the family of devices has none."""
    properties = get_device_properties(device)
    return properties.major, properties.minor


class device:  # noqa: N801  # named as in torch.cuda
    """Context manager: makes a device current, and restores the previous one.

    Args:
        device: `torch.device`, its text or an index. None or a negative index changes nothing.
    """

    def __init__(self, device: DeviceLike) -> None:
        self.idx = -1 if device is None else device_index(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            self.prev_idx = _native.exchange_device(self.idx)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.idx >= 0:
            _native.exchange_device(self.prev_idx)


class device_of(device):  # noqa: N801  # named as in torch.cuda
    """Context manager: makes the device of a tensor or storage current.

    Args:
        obj: tensor or storage; one that is not on infini changes nothing.
    """

    def __init__(self, obj: torch.Tensor | torch.UntypedStorage) -> None:
        super().__init__(obj.device.index if obj.device.type == "infini" else -1)
