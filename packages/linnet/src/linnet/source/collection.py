"""Checking without looking for garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_lock = Lock()
_users = 0
_was_on = False


@contextmanager
def no_collections() -> Iterator[None]:
    """Turns the collector of reference cycles off inside.

    A check makes many objects that live as long as the program checked and hardly any cycles, so
    looking through all of them again and again makes long files slower by the line. The collector
    belongs to the whole process, so it is put back only when no thread needs it off.
    """
    global _users, _was_on
    with _lock:
        if _users == 0:
            _was_on = gc.isenabled()
            gc.disable()
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0 and _was_on:
                gc.enable()
