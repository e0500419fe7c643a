"""The packages of the workspace, in the order in which they build on one another."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ci.native import ROOT

__all__ = ["PACKAGES", "Package", "tomllib"]

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

    @property
    def folder(self) -> Path:
        """Its folder."""
        return ROOT / "packages" / self.name

    def metadata_below(self, root: Path) -> dict[str, Any]:
        """The table `[project]` of its pyproject.toml in the tree `root`."""
        text = (root / "packages" / self.name / "pyproject.toml").read_text(encoding="utf-8")
        project: dict[str, Any] = tomllib.loads(text)["project"]
        return project


PACKAGES = (
    Package("infinirt", ("infini.rt", "infinirt"), "infinirt"),
    Package("infiniops", ("infini.ops",), "infiniops"),
    Package("linked-resolver", ("linked_resolver",), "linked-resolver"),
    Package("torch-infini", ("torch_infini",), "torch-infini"),
    Package("linnet", ("linnet",), "linnet-lang"),
)
