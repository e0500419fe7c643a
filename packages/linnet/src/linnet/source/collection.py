"""Checking without looking for garbage."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import AbstractContextManager

from linnet.source.process import ProcessSetting


def _turn_off() -> Callable[[], object]:
    was_on = gc.isenabled()
    gc.disable()
    return gc.enable if was_on else lambda: None


_COLLECTOR = ProcessSetting(_turn_off)


def no_collections() -> AbstractContextManager[None]:
    """Turns the collector of reference cycles off inside.

    A check makes many objects that live as long as the program checked and hardly any cycles, so
    looking through all of them again and again makes long files slower by the line. The collector
    belongs to the whole process, so it is put back only when no thread needs it off.
    """
    return _COLLECTOR.changed()
