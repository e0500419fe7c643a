from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from ci import wheels

GOOD = ("infini/rt/__init__.py", "infini/rt/py.typed", "x-1.dist-info/METADATA")


def _wheel(folder: Path, *names: str) -> Path:
    path = folder / "x-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "")
    return path


def test_a_typed_part_of_the_namespace_is_right(tmp_path: Path) -> None:
    assert wheels.content_problems(_wheel(tmp_path, *GOOD), ["infini.rt"]) == []


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("infini/__init__.py", "would hide the other distributions"),
        ("infini/rt/lib/libgomp-a1b2.so.1", "bundles infini/rt/lib/libgomp-a1b2.so.1"),
        ("tests/test_x.py", "installs tests/test_x.py outside its modules"),
    ],
)
def test_unwanted_contents_are_found(tmp_path: Path, name: str, problem: str) -> None:
    found = wheels.content_problems(_wheel(tmp_path, *GOOD, name), ["infini.rt"])
    assert len(found) == 1
    assert problem in found[0]


def test_a_missing_type_marker_is_found(tmp_path: Path) -> None:
    found = wheels.content_problems(_wheel(tmp_path, GOOD[0]), ["infini.rt"])
    assert found == ["no infini/rt/py.typed, so that type checkers ignore its types"]


def test_an_unknown_package_is_refused() -> None:
    with pytest.raises(SystemExit, match="no package nothing"):
        wheels.steps(["nothing"])


def test_arguments_choose_packages() -> None:
    names = [step.name for step in wheels.steps(["linked-resolver"])]
    assert [name for name in names if name.startswith("linked-resolver: ")]
    assert not [name for name in names if name.startswith("linnet: ")]
