"""Where torch 2.12 and 2.13 know a device by its name, and none for a renamed PrivateUse1.

Two functions of torch decide by the text of `device.type` and offer no hook. Each is wrapped so
that it also knows `infini`; for every other device the wrapped function runs as before.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import _tensor_str


def install() -> None:
    """Wraps both functions."""
    _print_from_host()
    _name_dlpack_device()


def _print_from_host() -> None:
    """Formats infini tensors from a host copy, as PyTorch does for xla, lazy, ipu and mtia.

    Formatting takes a dozen operators, and must work in tracebacks and debuggers, for element types
    whose operators a device need not have.
    """
    format_contents: Any = _tensor_str._tensor_str

    @functools.wraps(format_contents)
    def format_from_host(self: torch.Tensor, *arguments: Any, **named: Any) -> Any:
        if self.device.type == "infini":
            self = self.detach().cpu()
        return format_contents(self, *arguments, **named)

    _tensor_str._tensor_str = format_from_host


def _name_dlpack_device() -> None:
    """Gives `__dlpack_device__` the external device type that the capsule has too."""
    find_device = torch.Tensor.__dlpack_device__

    @functools.wraps(find_device)
    def find_infini_device(self: torch.Tensor) -> Any:
        if self.device.type != "infini" or torch.overrides.has_torch_function_unary(self):
            return find_device(self)
        from torch.utils.dlpack import DLDeviceType

        return DLDeviceType.kDLExtDev, self.device.index

    torch.Tensor.__dlpack_device__ = find_infini_device  # type: ignore[method-assign]  # see above
