"""Finds the headers and libraries of InfiniRT and InfiniOps, and operators.json.

For each package: the prefix that `INFINI_RT_PREFIX` or `INFINI_OPS_PREFIX` names, else the prefix
of the installed wheel. `INFINI_RT_INCLUDE_DIRS`, `INFINI_RT_LIBRARY_DIRS` and the same for
`INFINI_OPS` come first where they are set, and make a prefix unnecessary. All are lists separated
by `os.pathsep`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from build_support import standalone


class DependencyError(RuntimeError):
    """A header, library or file that the build needs is missing or unfit."""


@dataclass(frozen=True)
class Package:
    """Where one of the two packages lies."""

    name: str
    include_dirs: tuple[Path, ...]
    library_dirs: tuple[Path, ...]
    roots: tuple[Path, ...]  # prefixes, for files under share/


@dataclass(frozen=True)
class Dependencies:
    """Everything outside this folder and torch that the build reads."""

    runtime: Package
    operators: Package
    cuda_include_dirs: tuple[Path, ...]
    operators_json: Path
    infinirt_abi: int
    infiniops_abi: int

    @property
    def include_dirs(self) -> list[Path]:
        """Include folders, in the order of the command line."""
        return [
            *self.operators.include_dirs,
            *self.runtime.include_dirs,
            *self.cuda_include_dirs,
        ]

    @property
    def library_dirs(self) -> list[Path]:
        """Library folders, in the order of the command line."""
        return [*self.operators.library_dirs, *self.runtime.library_dirs]


def find(environment: Mapping[str, str]) -> Dependencies:
    """Finds everything, and checks that it is there.

    Raises:
        DependencyError: names what is missing and the variables that supply it.
    """
    libraries: Any = standalone.load("_libraries")
    runtime = _package(environment, "INFINI_RT", libraries.RUNTIME, "infini/rt.h")
    operators = _package(environment, "INFINI_OPS", libraries.OPERATORS, "infini/ops.h")
    return Dependencies(
        runtime=runtime,
        operators=operators,
        cuda_include_dirs=_directories(environment, "CUDA_INCLUDE_DIRS"),
        operators_json=_operators_json(operators),
        infinirt_abi=_abi(runtime, "infini/rt/abi.h", "INFINI_RT_ABI_VERSION"),
        infiniops_abi=_abi(operators, "infini/ops/abi.h", "INFINI_OPS_ABI_VERSION"),
    )


def _directories(environment: Mapping[str, str], variable: str) -> tuple[Path, ...]:
    paths = tuple(Path(part) for part in environment.get(variable, "").split(os.pathsep) if part)
    for path in paths:
        if not path.is_dir():
            raise DependencyError(f"{variable}: {path} is not a directory")
    return tuple(path.resolve() for path in paths)


def _package(environment: Mapping[str, str], stem: str, library: Any, header: str) -> Package:
    include_dirs = _directories(environment, f"{stem}_INCLUDE_DIRS")
    library_dirs = _directories(environment, f"{stem}_LIBRARY_DIRS")
    roots: tuple[Path, ...] = _directories(environment, f"{stem}_PREFIX")
    standalone_folders = bool(include_dirs and library_dirs)
    if not roots and not standalone_folders:
        libraries: Any = standalone.load("_libraries")
        in_wheel: Path | None = libraries.in_wheel(library)
        if in_wheel is None:
            raise DependencyError(
                f"the build needs {library.distribution}: set {stem}_PREFIX to its install prefix, "
                f"or install its wheel in the environment that builds"
            )
        roots = (in_wheel.resolve().parents[1],)
    include_dirs += tuple(root / "include" for root in roots)
    library_dirs += tuple(root / folder for root in roots for folder in ("lib", "lib64"))
    include_dirs = tuple(path for path in include_dirs if (path / header).is_file())
    library_dirs = tuple(path for path in library_dirs if (path / library.soname).is_file())
    for found, what, variable in (
        (include_dirs, f"the header {header}", f"{stem}_INCLUDE_DIRS"),
        (library_dirs, library.soname, f"{stem}_LIBRARY_DIRS"),
    ):
        if not found:
            looked = ", ".join(str(root) for root in roots) or "the folders given"
            raise DependencyError(
                f"{what} of {library.distribution} is not in {looked}; correct {stem}_PREFIX, or "
                f"name the folder that holds it in {variable}"
            )
    roots += tuple(path.parent for path in (*include_dirs, *library_dirs))
    return Package(library.distribution, include_dirs, library_dirs, roots)


def _operators_json(operators: Package) -> Path:
    for root in operators.roots:
        path = root / "share" / "infiniops" / "operators.json"
        if path.is_file():
            return path
    raise DependencyError(
        "share/infiniops/operators.json is not in the prefix of infiniops, so the operators of "
        "that build are unknown; install InfiniOps with `cmake --install`, and set "
        "INFINI_OPS_PREFIX"
    )


def _abi(package: Package, header: str, macro: str) -> int:
    path = package.include_dirs[0] / header
    match = re.search(rf"^#define {macro} (\d+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    if match is None:
        raise DependencyError(
            f"{path} does not define {macro}; {package.name} is too old or not it"
        )
    return int(match[1])
