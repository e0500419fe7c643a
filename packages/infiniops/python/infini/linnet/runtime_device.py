"""Where a plan's work runs: a device of PyTorch, and the InfiniRT back end behind it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from linnet.backends import Target


@dataclass(frozen=True)
class RuntimeDevice:
    """A device as PyTorch names it, and InfiniRT's back end and index for it."""

    torch_device: str
    backend: str
    index: int

    @contextmanager
    def selected(self) -> Iterator[None]:
        """Makes the back end and the device this thread's current ones for a while.

        ImportError where the distribution infinirt is not installed.
        """
        from infini import rt

        backend = rt.selected_backend()
        if backend != self.backend:
            rt.select_backend(self.backend)
        try:
            device = rt.get_device()
            if device != self.index:
                rt.set_device(self.index)
            try:
                yield
            finally:
                if device != self.index:
                    rt.set_device(device)
        finally:
            if backend != self.backend:
                rt.select_backend(backend)


def runtime_device(target: Target) -> RuntimeDevice | None:
    """Where the work for `target` runs; None for a device that is not InfiniRT's."""
    if target.kind == "cpu":
        return RuntimeDevice("cpu", "cpu", 0)
    # The device's package was imported by whoever made a tensor there.
    torch_infini = sys.modules.get("torch_infini")
    if target.kind == "infini" and torch_infini is not None:
        return RuntimeDevice(f"infini:{target.index}", torch_infini.backend_name(), target.index)
    return None
