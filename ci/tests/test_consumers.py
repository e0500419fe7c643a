"""Projects outside the workspace that depend on its packages, with a torch of their own."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from ci.native import ROOT
from ci.packages import PACKAGES, Package, tomllib

UV = shutil.which("uv")
pytestmark = pytest.mark.skipif(UV is None, reason="needs uv: pip install uv")

OWN_TORCH = "2.13.0+consumer"
VERSIONS = {"torch": OWN_TORCH}
"""Of the wheels that a test makes; others have one that every requirement takes."""


def uv(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs uv as a user in `folder` would, without settings of this machine or a registry."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("UV_", "PIP_"))}
    assert UV is not None
    return subprocess.run(
        [UV, *arguments],
        cwd=folder,
        env={**kept, "UV_NO_CONFIG": "1", "UV_OFFLINE": "1", "UV_PYTHON_DOWNLOADS": "never"},
        capture_output=True,
        text=True,
        check=False,
    )


def wheel(folder: Path, name: str, version: str, requires: list[str], extras: list[str]) -> Path:
    """A wheel of nothing but metadata."""
    stem = f"{re.sub('[-_.]+', '_', name)}-{version}"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Provides-Extra: {extra}" for extra in extras]
    lines += [f"Requires-Dist: {requirement}" for requirement in requires]
    files = {
        "METADATA": "\n".join(lines) + "\n",
        "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    for file, text in files.items():
        digest = hashlib.sha256(text.encode()).digest()
        encoded = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        record += f"{stem}.dist-info/{file},sha256={encoded},{len(text.encode())}\n"
    files["RECORD"] = f"{record}{stem}.dist-info/RECORD,,\n"
    path = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in files.items():
            archive.writestr(f"{stem}.dist-info/{file}", text)
    return path


def requirements(package: Package) -> tuple[list[str], dict[str, list[str]]]:
    """What a package requires, and what each of its extras adds."""
    metadata = package.metadata_below(ROOT)
    return metadata.get("dependencies", []), metadata.get("optional-dependencies", {})


def make_registry(folder: Path) -> Path:
    """A folder of wheels: the packages of others that ours require, torch apart from the rest."""
    ours = {package.distribution for package in PACKAGES}
    names = {"torch"}
    for package in PACKAGES:
        required, extras = requirements(package)
        for requirement in [*required, *(one for added in extras.values() for one in added)]:
            names.add(re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower())
    for name in sorted(names - ours):
        into = folder / ("torch" if name == "torch" else "others")
        into.mkdir(parents=True, exist_ok=True)
        wheel(into, name, VERSIONS.get(name, "99"), [], [])
    return folder


def make_consumer(folder: Path, registry: Path, sources: str) -> Path:
    """A project that requires every package, and takes torch from an index of its own."""
    required = ", ".join(f'"{package.distribution}"' for package in PACKAGES)
    folder.mkdir()
    (folder / "pyproject.toml").write_text(
        f"""\
[project]
name = "consumer"
version = "1"
requires-python = ">=3.10"
dependencies = [{required}, "torch>=2.12"]

[tool.uv.sources]
torch = {{ index = "own-torch" }}
{sources}
[[tool.uv.index]]
name = "own-torch"
url = "{(registry / "torch").as_uri()}"
format = "flat"
explicit = true

[[tool.uv.index]]
name = "others"
url = "{(registry / "others").as_uri()}"
format = "flat"
default = true
"""
    )
    return folder


@pytest.mark.parametrize("form", ["path", "wheel"])
def test_a_project_with_its_own_torch_locks_and_keeps_its_lock(form: str, tmp_path: Path) -> None:
    registry = make_registry(tmp_path / "registry")
    sources = ""
    for package in PACKAGES:
        # uv takes what torch-infini requires from the workspace, where packages are editable.
        place, options = package.folder, ", editable = true"
        if form == "wheel":
            required, extras = requirements(package)
            more = [f"{one}; extra == '{e}'" for e, added in extras.items() for one in added]
            options = ""
            (tmp_path / "wheels").mkdir(exist_ok=True)
            place = wheel(
                tmp_path / "wheels",
                package.distribution,
                package.metadata_below(ROOT)["version"],
                [*required, *more],
                list(extras),
            )
        sources += f'{package.distribution} = {{ path = "{place.as_posix()}"{options} }}\n'
    consumer = make_consumer(tmp_path / "consumer", registry, sources)
    done = uv(consumer, "lock")
    assert done.returncode == 0, done.stderr
    lock = (consumer / "uv.lock").read_bytes()
    (torch,) = (one for one in tomllib.loads(lock.decode())["package"] if one["name"] == "torch")
    assert torch["version"] == OWN_TORCH
    for command in (["lock"], ["lock", "--check"], ["tree", "--frozen"]):
        done = uv(consumer, *command)
        assert done.returncode == 0, done.stderr
        assert (consumer / "uv.lock").read_bytes() == lock
