from __future__ import annotations

from pathlib import Path

import pytest

from ci.trees import renew

FACTS = {"compiler": "c++ 12.2.0", "CXXFLAGS": ""}


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """The build folder of a package of the tree `tmp_path`, with a tree and a file of a linker."""
    folder = tmp_path / "packages/infiniops/build"
    (folder / "cp311/CMakeFiles").mkdir(parents=True)
    (folder / "cp311/build.ninja").touch()
    (folder / "lib").mkdir()
    return folder


def test_trees_stay_while_compiler_and_flags_are_the_same(build: Path, tmp_path: Path) -> None:
    for _ in range(3):
        assert renew(tmp_path, FACTS) == []
    assert (build / "cp311/build.ninja").exists()


def test_other_flags_remove_whatever_was_built_with_the_old_ones(
    build: Path, tmp_path: Path
) -> None:
    renew(tmp_path, FACTS)
    assert renew(tmp_path, {**FACTS, "CXXFLAGS": "-O0"}) == ["infiniops"]
    assert [path.name for path in build.iterdir()] == ["configured"]
    assert renew(tmp_path, {**FACTS, "CXXFLAGS": "-O0"}) == []


def test_a_tree_that_was_not_configured_to_the_end_is_removed(build: Path, tmp_path: Path) -> None:
    (build / "cp311/build.ninja").unlink()
    assert renew(tmp_path, FACTS) == ["infiniops"]
    assert not (build / "cp311").exists()
    assert (build / "lib").exists()


def test_a_checkout_without_builds_has_nothing_to_renew(tmp_path: Path) -> None:
    assert renew(tmp_path, FACTS) == []
