"""The page on the architecture names the folders and the stages that there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ci.native import ROOT
from ci.packages import PACKAGES, Package
from ci.stamp import files_of

PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
FOLDERS = PAGE.partition("\n## Folders\n")[2]


def _named(package: Package) -> set[str]:
    """The folders that the first column of the package's table names."""
    section = re.split(rf"^### {package.name}$", FOLDERS, flags=re.MULTILINE)[1].partition("###")[0]
    cells = re.findall(r"^\| (`.*?) \|", section, flags=re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([^`]+/)`", cell)}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_every_folder_of_a_package_lies_in_one_that_the_page_names(package: Package) -> None:
    base = Path("packages", package.name)
    there = {
        f"{path.parent.relative_to(base).as_posix()}/"
        for path in files_of(ROOT, [str(base)])
        if path.parent != base
    }
    named = _named(package)
    # A folder whose parts are named may hold a file or two beside them.
    covered = {name for name in there if name.startswith(tuple(named))}
    covered |= {name for name in there if any(part.startswith(name) for part in named)}
    assert sorted(there - covered) == []
    assert [name for name in sorted(named) if not any(f.startswith(name) for f in there)] == []


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_a_folder_of_several_is_named_part_by_part(package: Package) -> None:
    # One line for the whole of a package's sources would say nothing.
    assert not {"src/", "src/linnet/", "csrc/", "src/native/", "src/backends/"} & _named(package)


def test_the_arrows_of_a_model_are_functions_and_classes_of_linnet() -> None:
    figure = PAGE.partition("## 2. A model")[2].partition("## 3.")[0]
    arrows = re.findall(r"\|  (\w+)", figure)
    source = "\n".join(
        (ROOT / path).read_text(encoding="utf-8")
        for path in files_of(ROOT, ["packages/linnet/src/linnet"])
        if path.suffix == ".py"
    )
    defined = set(re.findall(r"^(?:def|class) (\w+)", source, flags=re.MULTILINE))
    assert len(arrows) == 8
    assert set(arrows) <= defined
