"""The packages of the workspace, in the order in which they build on one another."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ci.native import ROOT
from ci.stamp import digest

__all__ = ["PACKAGES", "Package", "install_options", "tomllib"]

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class Package:
    """A package of the workspace: its folder below packages/, and the modules that it installs."""

    name: str
    modules: tuple[str, ...]
    distribution: str
    # The paths that a compiled package's wheel depends on; empty where nothing is compiled.
    compiled_from: tuple[str, ...] = ()
    # The folder of its Python files below its own, and patterns of what a build adds to them.
    python: str = "src"
    built: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """Its folder."""
        return ROOT / "packages" / self.name

    def metadata_below(self, root: Path) -> dict[str, Any]:
        """The table `[project]` of its pyproject.toml in the tree `root`."""
        text = (root / "packages" / self.name / "pyproject.toml").read_text(encoding="utf-8")
        project: dict[str, Any] = tomllib.loads(text)["project"]
        return project


def _sources(name: str) -> tuple[str, ...]:
    """What a build of packages/`name` reads: all but what only its tests and benchmarks do."""
    unread = ("tests", "benchmarks", "README.md")
    return (f"packages/{name}", *(f":(exclude)packages/{name}/{part}" for part in unread))


PACKAGES = (
    Package(
        "infinirt",
        ("infini.rt", "infinirt"),
        "infinirt",
        _sources("infinirt"),
        python="python",
        built=("infini/rt/_rt.*so", "infini/rt/_rt.pyi", "infinirt/prefix/*"),
    ),
    Package(
        "infiniops",
        ("infini.ops",),
        "infiniops",
        (*_sources("infiniops"), *_sources("infinirt")),
        python="python",
        built=(
            "infini/ops/__init__.pyi",
            "infini/ops/_native.*so",
            "infini/ops/_infinirt/libinfinirt.so",
            "infini/ops/_prefix/*",
        ),
    ),
    Package("linked-resolver", ("linked_resolver",), "linked-resolver"),
    Package(
        "torch-infini",
        ("torch_infini",),
        "torch-infini",
        (*_sources("torch-infini"), *_sources("infiniops"), *_sources("infinirt")),
        built=("torch_infini/_native.*so", "torch_infini/_build_record.json"),
    ),
    Package("linnet", ("linnet",), "linnet-lang"),
)


def install_options(root: Path, facts: Mapping[str, str]) -> list[str]:
    """What `uv sync` has to be told so that compiled packages are those of the present sources,
    and of `facts` about compiler and flags.

    uv rebuilds a package of the workspace when a build setting or a file of its `cache-keys`
    changes, by time, and not for a header of another package. So their hash is a build setting; it
    also lets sessions share one build. CMake and setuptools read no variable of that name. The
    packages are installed as users get them, since an editable install hides the stubs of native
    modules from mypy.
    """
    options = []
    for package in PACKAGES:
        if package.compiled_from:
            key = digest(root, package.compiled_from, facts)[:16]
            name = package.distribution
            options += [
                f"--no-editable-package={name}",
                f"--config-settings-package={name}:cmake.define.INFINI_SOURCES={key}",
            ]
    return options
