"""Ends what a session started, when the session is told to end."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType


def end_with_descendants_on_termination() -> None:
    """Makes SIGTERM end this process as Ctrl-C does, with every process below it.

    A terminal sends Ctrl-C to them all, while a SIGTERM goes to one process: installers and
    compilers would go on in the folders that a next session uses.
    """
    signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    for descendant in descendants_of(os.getpid()):
        try:
            os.kill(descendant, signal.SIGTERM)
        except OSError:
            continue  # It has just ended, or belongs to another user.
    raise KeyboardInterrupt


def descendants_of(ancestor: int) -> list[int]:
    """The processes below the process `ancestor`, parents before their children."""
    children: dict[int, list[int]] = {}
    for process, parent in _parents():
        children.setdefault(parent, []).append(process)
    found = list(children.get(ancestor, ()))
    for process in found:  # Grows while it is walked through.
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
