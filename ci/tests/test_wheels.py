from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from ci import wheels
from ci.native import ROOT
from ci.packages import PACKAGES, Package
from ci.steps import output_of

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


def test_a_wheel_of_the_sources_and_of_what_is_built_does_not_differ() -> None:
    names = ["m/__init__.py", "m/_native.cpython-311.so", "m-1.dist-info/licenses/LICENSE"]
    assert wheels.differences(names, ["m/__init__.py"], ["m/_native.*so"]) == []


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (["m/a.py", "m/notes.txt"], "holds m/notes.txt, which is no source"),
        (["m/a.py", "m/prefix/x.cc"], "holds m/prefix/x.cc, which is no source"),
        (["m/a.py", "m/__pycache__/a.cpython-311.pyc"], "holds m/__pycache__/a.cpython-311.pyc"),
        ([], "lacks m/a.py"),
    ],
)
def test_differences_between_wheel_and_sources_are_found(names: list[str], problem: str) -> None:
    licensed = [*names, "m-1.dist-info/licenses/LICENSE"]
    (found,) = wheels.differences(licensed, ["m/a.py"], ["m/prefix/*"])
    assert found.startswith(problem)


def test_a_wheel_without_the_license_is_found() -> None:
    assert wheels.differences(["m/a.py"], ["m/a.py"], []) == ["lacks the LICENSE"]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_every_package_carries_the_license_of_the_workspace(package: Package) -> None:
    assert (package.folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_stack_of_wheels_is_tried_when_all_are_built() -> None:
    name = "CPU stack of wheels without a compiler"
    assert name in [step.name for step in wheels.steps([])]
    assert name not in [step.name for step in wheels.steps(["linnet"])]


def test_an_unknown_package_is_refused() -> None:
    with pytest.raises(SystemExit, match="no package nothing"):
        wheels.steps(["nothing"])


def test_arguments_choose_packages() -> None:
    names = [step.name for step in wheels.steps(["linked-resolver"])]
    assert [name for name in names if name.startswith("linked-resolver: ")]
    assert not [name for name in names if name.startswith("linnet: ")]


def _pure_wheel(folder: Path, name: str, body: str, requires: str = "") -> None:
    with zipfile.ZipFile(folder / f"{name}-0.1.0-py3-none-any.whl", "w") as archive:
        needs = f"Requires-Dist: {requires}\n" if requires else ""
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\n{needs}"
        archive.writestr(f"{name}.py", body)
        archive.writestr(f"{name}-0.1.0.dist-info/METADATA", metadata)
        archive.writestr(
            f"{name}-0.1.0.dist-info/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr(f"{name}-0.1.0.dist-info/RECORD", "")


def test_the_wheels_that_a_machine_offers_are_taken_beside_those_of_dist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered = tmp_path / "offered"
    dist = tmp_path / "dist"
    for folder in (offered, dist):
        folder.mkdir()
    _pure_wheel(offered, "lowfixture", "")
    _pure_wheel(dist, "highfixture", "", requires="lowfixture")
    monkeypatch.setattr(wheels, "DIST", dist)
    monkeypatch.setenv("UV_FIND_LINKS", str(offered))
    monkeypatch.setenv("UV_NO_INDEX", "1")
    with wheels.environment_of("highfixture") as python:
        assert output_of(python, "-I", "-c", "import lowfixture; print(1)") == "1\n"


def test_a_dependency_that_was_rebuilt_under_its_version_is_not_taken_from_a_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dist = tmp_path / "dist"
    dist.mkdir()
    low = Package("low", ("low",), "lowfixture")
    high = Package("high", ("high",), "highfixture")
    monkeypatch.setattr(wheels, "DIST", dist)
    monkeypatch.setattr(wheels, "PACKAGES", (low, high))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("UV_NO_INDEX", "1")
    found = []
    for body in ("made = 'first'", "made = 'second'"):
        _pure_wheel(dist, "lowfixture", body)
        _pure_wheel(dist, "highfixture", "", requires="lowfixture")
        with wheels.environment_of(wheels.wheel_of(high)) as python:
            found.append(output_of(python, "-I", "-c", "import lowfixture as m; print(m.made)"))
    assert found == ["first\n", "second\n"]
