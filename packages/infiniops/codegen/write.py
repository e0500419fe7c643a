"""Writes generated files: only those whose text changed, and removes those no longer made."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

LINKED = "linked/"
"""The subfolder that linked-resolver writes; it is left alone."""


def write_files(folder: Path, files: Mapping[str, str]) -> tuple[str, ...]:
    """Make `folder` hold exactly `files` (path -> text). Returns the paths that changed."""
    changed: list[str] = []
    for name, text in sorted(files.items()):
        path = folder / name
        data = text.encode("utf-8")
        if path.is_file() and path.read_bytes() == data:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        changed.append(name)
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name not in files and not name.startswith(LINKED):
            path.unlink()
            changed.append(name)
    return tuple(changed)
