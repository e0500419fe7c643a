"""Holds a stream of the simulated device: what is pending in a test is then no matter of time."""

from __future__ import annotations

import ctypes
import threading

import torch

import infini.rt

#: Long enough for any test; then a wait that has no end is a failed test and not a hang.
SECONDS = 60


class Gate:
    """Work queued on a held stream stays pending until the gate opens, which it does for good."""

    def __init__(self) -> None:
        self._opened = threading.Event()
        # A wait that lasts this long is a stream that something in the test waited for.
        self._task = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: self._wait())
        self._address = ctypes.cast(self._task, ctypes.c_void_p).value

    def hold(self, stream: torch.Stream) -> None:
        """Queues the gate on `stream`; needs a device that works on threads of its own."""
        with torch.infini.stream(stream):
            infini.rt.launch_host(infini.rt.current_stream(), self._address)

    def open(self) -> None:
        """Lets every held stream go on."""
        self._opened.set()

    def _wait(self) -> None:
        self._opened.wait(SECONDS)
