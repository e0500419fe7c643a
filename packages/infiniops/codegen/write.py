"""Writes generated files: only those whose text changed, and removes those no longer made."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

LINKED = "linked/"
"""The subfolder that linked-resolver writes; it is left alone."""


def write_files(folder: Path, files: Mapping[str, str]) -> tuple[str, ...]:
    """Make `folder` hold exactly `files` (path -> text). Returns the paths that changed.

    Raises:
        OSError: Something cannot be written or removed.
    """
    changed: list[str] = []
    for name, text in sorted(files.items()):
        path = folder / name
        data = text.encode("utf-8")
        if path.is_file() and path.read_bytes() == data:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, data, folder)
        changed.append(name)
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name not in files and not name.startswith(LINKED):
            path.unlink()
            changed.append(name)
    return tuple(changed)


def _replace(path: Path, data: bytes, scratch: Path) -> None:
    """Write in one step, so that whoever reads meanwhile, a compiler perhaps, sees a whole file.

    What a killed process leaves in `scratch` is removed as any file that is no longer made.
    """
    handle, name = tempfile.mkstemp(prefix=".codegen-", dir=scratch)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
