"""Ends what a session started, when the session is told to end."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

_interrupted: list[int] = []


def go_on() -> None:
    """Raises KeyboardInterrupt where a signal has interrupted this process; called after each wait
    for a child.

    Python loses the status of a child that ends at the very moment of a signal, as one does that
    gets the same signal, and takes it for 0: whoever waits then takes the interrupt for handled.
    """
    if _interrupted:
        raise KeyboardInterrupt


def end_descendants_too() -> None:
    """Makes SIGTERM end this process as Ctrl-C does, and both end every process below it.

    A terminal sends Ctrl-C to them all, while other signals go to one process: installers and
    compilers would go on in the folders that a next session uses. A signal that this process was
    started to ignore stays ignored.
    """
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _interrupt)
    if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)


def _interrupt(number: int, _frame: FrameType | None) -> None:
    _interrupted.append(number)
    own = os.getpid()
    below = descendants_of(own)
    if number == signal.SIGTERM:
        # `timeout` sends it to the whole group, so a session gets another one from above it.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        # A child has had its own Ctrl-C, and is ended by who waits for it; a second one would cut
        # short what it says at its end.
        below = [(process, parent) for process, parent in below if parent != own]
    for process, _ in below:
        try:
            os.kill(process, signal.SIGTERM)
        except OSError:
            continue  # It has just ended, or belongs to another user.
    raise KeyboardInterrupt


def descendants_of(ancestor: int) -> list[tuple[int, int]]:
    """The processes below the process `ancestor` with their parents, which come before them."""
    children: dict[int, list[tuple[int, int]]] = {}
    for process, parent in _parents():
        children.setdefault(parent, []).append((process, parent))
    found = list(children.get(ancestor, ()))
    for process, _ in found:  # Grows while it is walked through.
        found += children.get(process, ())
    return found


def _parents() -> Iterator[tuple[int, int]]:
    """Every process of the machine with its parent."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            text = (folder / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        # The name before it may hold spaces and brackets; the state comes first, then the parent.
        yield int(folder.name), int(text.rpartition(")")[2].split()[1])
