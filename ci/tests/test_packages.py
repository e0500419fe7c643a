from __future__ import annotations

import re

import pytest

from ci.native import ROOT
from ci.packages import PACKAGES, install_options, tomllib
from ci.tests.conftest import MakeTree

SOURCES = {"packages/infinirt/src/a.cc": "", "packages/infiniops/src/b.cc": ""}


def changed(before: list[str], after: list[str]) -> set[str]:
    """The distributions whose build settings differ."""
    return {new.split("=")[1].split(":")[0] for new in set(after) - set(before)}


@pytest.mark.parametrize(
    ("path", "rebuilt"),
    [
        ("packages/infinirt/src/a.cc", {"infinirt", "infiniops", "torch-infini"}),
        ("packages/infinirt/include/new.h", {"infinirt", "infiniops", "torch-infini"}),
        ("packages/infiniops/src/b.cc", {"infiniops", "torch-infini"}),
        ("packages/torch-infini/csrc/x.cc", {"torch-infini"}),
        ("packages/infinirt/tests/cpp/a_test.cc", set()),
        ("packages/infiniops/README.md", set()),
        ("packages/linnet/src/linnet/x.py", set()),
    ],
)
def test_a_change_rebuilds_what_is_compiled_from_it(
    make_tree: MakeTree, path: str, rebuilt: set[str]
) -> None:
    root = make_tree(SOURCES)
    before = install_options(root, {})
    assert install_options(root, {}) == before
    make_tree({path: "changed"})
    assert changed(before, install_options(root, {})) == rebuilt


def test_other_flags_of_the_compiler_rebuild_all_that_is_compiled(make_tree: MakeTree) -> None:
    root = make_tree(SOURCES)
    before = install_options(root, {"CXXFLAGS": ""})
    after = install_options(root, {"CXXFLAGS": "-O0"})
    assert changed(before, after) == {"infinirt", "infiniops", "torch-infini"}


def test_compiled_packages_are_not_editable_in_sessions(make_tree: MakeTree) -> None:
    compiled = [package.distribution for package in PACKAGES if package.compiled_from]
    options = install_options(make_tree(SOURCES), {})
    assert [o for o in options if o.startswith("--no-editable")] == [
        f"--no-editable-package={name}" for name in compiled
    ]


def test_readmes_install_the_torch_that_the_packages_are_tested_with() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["uv"]
    (tested,) = [text for text in settings["constraint-dependencies"] if text.startswith("torch")]
    installed = {
        (package.name, torch)
        for package in PACKAGES
        for line in re.findall(
            r"^ *(?:python -m )?pip install (.*)$",
            (package.folder / "README.md").read_text(encoding="utf-8"),
            re.MULTILINE,
        )
        for torch in re.findall(r"""(?<![^\s'"])torch(?![-\w])[^\s'"]*""", line)
    }
    assert {torch for _, torch in installed} == {tested}
    assert {name for name, _ in installed} == {"linked-resolver", "torch-infini"}
