from __future__ import annotations

import threading
from pathlib import Path

import pytest

from ci.progress import Builds, reported

MANIFEST = """\
rule compile
build a.o: compile a.cc
build /with$ space/parts/b.o: compile b.cc
build all: phony a.o
build library.so: link a.o parts/b.o
"""
HEAD = "# ninja log v5\n"
FIRST = "0\t9\t17\ta.o\t11\n"
SECOND = "9\t12\t18\tparts/b.o\t12\n"
LINKED = "12\t13\t19\tlibrary.so\t13\n"


def _tree(root: Path, package: str = "infiniops") -> Path:
    """A build folder of `package` in the tree `root`."""
    folder = root / "packages" / package / "build" / "cp311"
    folder.mkdir(parents=True)
    (folder / "build.ninja").write_text(MANIFEST, encoding="utf-8")
    return folder


def _append(folder: Path, text: str) -> None:
    with (folder / ".ninja_log").open("a", encoding="utf-8") as log:
        log.write(text)


def test_a_new_build_counts_its_object_files_of_all(tmp_path: Path) -> None:
    builds = Builds(tmp_path)
    assert builds.compiled() == ""
    folder = _tree(tmp_path)
    _append(folder, HEAD)
    assert builds.compiled() == ""
    _append(folder, FIRST)
    assert builds.compiled() == "infiniops 1 of 2 files"
    _append(folder, SECOND + LINKED)
    assert builds.compiled() == "infiniops 2 of 2 files"


def test_a_build_that_goes_on_counts_what_is_compiled_again(tmp_path: Path) -> None:
    folder = _tree(tmp_path)
    _append(folder, HEAD + FIRST + SECOND)
    builds = Builds(tmp_path)
    assert builds.compiled() == ""
    _append(folder, FIRST.replace("17", "23"))
    assert builds.compiled() == "infiniops 1 file"


def test_each_package_is_named(tmp_path: Path) -> None:
    builds = Builds(tmp_path)
    for package in ("torch-infini", "infinirt"):
        _append(_tree(tmp_path, package), HEAD + FIRST)
    assert builds.compiled() == "infinirt 1 of 2 files, torch-infini 1 of 2 files"


def test_a_torn_log_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    builds = Builds(tmp_path)
    folder = _tree(tmp_path)
    (folder / ".ninja_log").write_bytes(HEAD.encode() + FIRST.encode() + b"9\t12\t18\tpar\xff")
    assert builds.compiled() == "infiniops 1 of 2 files"


def test_lines_come_while_the_body_runs_and_end_with_it(tmp_path: Path) -> None:
    said: list[str] = []
    spoken = threading.Event()

    def say(line: str) -> None:
        said.append(line)
        if "compiled" in line:
            spoken.set()

    with reported(tmp_path, say, every=0.01):
        _append(_tree(tmp_path), HEAD + FIRST)
        assert spoken.wait(60)
    assert said[-1].endswith(" s: compiled infiniops 1 of 2 files")
    assert not [thread for thread in threading.enumerate() if thread.name == "progress"]


def test_an_error_of_the_body_passes(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="the build failed"), reported(tmp_path, print):
        raise RuntimeError("the build failed")
