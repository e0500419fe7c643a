"""Finds a torch that the machine itself offers, such as a CPU build, for a session to use."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.tags import sys_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from ci.packages import tomllib

# What torch's own wheel needs on a GPU, and what a machine's CPU build does without.
GPU_PARTS = ("cuda-", "nvidia-", "triton")


@dataclass(frozen=True)
class LocalTorch:
    """A torch wheel of the machine, and the packages to leave out where it takes torch's place."""

    version: Version
    replaced: tuple[str, ...]


def find_links(environment: Mapping[str, str] = os.environ) -> str:
    """The machine's folders of wheels as uv wants them: uv does not read pip's settings."""
    given = environment.get("UV_FIND_LINKS")
    return given if given else ",".join(environment.get("PIP_FIND_LINKS", "").split())


def places_of(links: str) -> list[str]:
    """The folders and addresses that `find_links` joined."""
    return [place for place in links.split(",") if place]


def local_torch(root: Path, links: str) -> LocalTorch | None:
    """The newest torch of the folders `links` that fits this interpreter and the lock file.

    A lock file is for all interpreters at once, and uv leaves a wheel aside that is for one alone;
    so a session replaces the locked torch by hand. None where no wheel fits.
    """
    packages = tomllib.loads((root / "uv.lock").read_text(encoding="utf-8"))["package"]
    locked = {Version(p["version"]).base_version for p in packages if p["name"] == "torch"}
    found = [version for version in _offered(links) if version.base_version in locked]
    if not found:
        return None
    # torch-infini too: it is built against the torch that it will run with.
    replaced = {"torch", "torch-infini"} | {
        p["name"] for p in packages if p["name"].startswith(GPU_PARTS)
    }
    return LocalTorch(max(found), tuple(sorted(replaced)))


def _offered(links: str) -> list[Version]:
    supported = set(sys_tags())
    found = []
    for folder in places_of(links):
        for wheel in Path(folder).glob("torch-*.whl"):
            try:
                _, version, _, tags = parse_wheel_filename(wheel.name)
            except InvalidWheelFilename:
                continue  # Nothing that an installer would take either.
            if tags & supported:
                found.append(version)
    return found
