"""Joining sources into few files to compile."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from build_support import commands, units

pytestmark = pytest.mark.once

ADAPTER = "csrc/ops/adapters/normalization.cc"


def test_each_source_is_in_one_unit_at_most() -> None:
    counted = Counter(source for unit in units.UNITS.values() for source in unit)
    assert set(counted.values()) == {1}
    assert set(commands.SOURCES) == {*counted, "csrc/module.cc"}


def test_units_include_their_sources_and_no_path_of_the_machine(tmp_path: Path) -> None:
    paths = units.write([ADAPTER], tmp_path)
    assert [Path(path).name for path in paths] == [f"unit_{name}.cc" for name in units.UNITS]
    texts = {Path(path).stem: Path(path).read_text(encoding="utf-8") for path in paths}
    assert '#include "runtime/device.cc"\n' in texts["unit_runtime"]
    assert '#include "ops/adapters/normalization.cc"\n' in texts["unit_operators"]
    assert all(str(tmp_path) not in text for text in texts.values())


def test_a_unit_that_does_not_change_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "unit_runtime.cc").write_text("changed", encoding="utf-8")
    paths = [Path(path) for path in units.write([ADAPTER], tmp_path)]
    before = {path: path.stat().st_mtime_ns for path in paths}
    units.write([ADAPTER, ADAPTER], tmp_path)
    assert {path: path.stat().st_mtime_ns for path in paths} == before
    units.write([], tmp_path)
    assert [path.name for path in paths if path.stat().st_mtime_ns != before[path]] == [
        "unit_operators.cc"
    ]
