"""Settings of the process are changed once and put back once."""

from __future__ import annotations

import gc
import sys
from threading import Barrier, Thread

import pytest

from linnet.source.collection import no_collections
from linnet.source.process import ProcessSetting
from linnet.source.recursion import deep_recursion


def _recorded() -> tuple[ProcessSetting, list[str]]:
    events: list[str] = []

    def change():
        events.append("changed")
        return lambda: events.append("put back")

    return ProcessSetting(change), events


def test_a_setting_is_put_back_when_the_last_user_leaves() -> None:
    setting, events = _recorded()
    with setting.changed():
        with setting.changed():
            pass
        assert events == ["changed"]
    assert events == ["changed", "put back"]


def test_a_setting_is_put_back_after_an_error_and_changed_again_by_the_next_user() -> None:
    setting, events = _recorded()
    with pytest.raises(ValueError, match="inside"), setting.changed():
        raise ValueError("inside")
    with setting.changed():
        assert events == ["changed", "put back", "changed"]


def test_threads_share_one_change() -> None:
    setting, events = _recorded()
    inside = Barrier(3)

    def use() -> None:
        with setting.changed():
            inside.wait()

    threads = [Thread(target=use) for _ in range(2)]
    for thread in threads:
        thread.start()
    inside.wait()
    for thread in threads:
        thread.join()
    assert events == ["changed", "put back"]


def test_the_collector_and_the_limit_of_recursion_are_as_before() -> None:
    before = gc.isenabled(), sys.getrecursionlimit()
    with no_collections(), deep_recursion():
        assert not gc.isenabled()
        assert sys.getrecursionlimit() > 6000
    assert (gc.isenabled(), sys.getrecursionlimit()) == before
