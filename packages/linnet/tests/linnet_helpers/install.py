"""Packages put where an installer would, for tests that find them by their entry points."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SOURCE = Path(__file__).parents[2] / "src"


def install(site: Path, project: Path) -> None:
    """Copies a project's modules to the folder `site`, with what its pyproject.toml declares."""
    settings = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    name, version = settings["name"], settings["version"]
    (points,) = settings["entry-points"].values()
    for module in project.iterdir():
        if module.suffix == ".py":
            shutil.copy(module, site)
        elif (module / "__init__.py").is_file():
            shutil.copytree(module, site / module.name)
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = [f"{key} = {value}" for key, value in points.items()]
    (info / "entry_points.txt").write_text("\n".join(["[linnet.backends]", *lines, ""]))


def environment(site: Path) -> dict[str, str]:
    """The environment of a process that finds what is installed in `site`."""
    path = os.pathsep.join((str(site), str(SOURCE)))
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
