"""Looks at a session's environment and lock file before uv relies on what they say."""

from __future__ import annotations

import csv
from pathlib import Path

from ci.packages import tomllib


def damage(location: Path) -> str | None:
    """What a package of the environment `location` lacks of the files that its record lists, such
    as after a killed installer or a deleted folder; None where all is there.

    uv takes a package for installed when its folder of metadata is there.
    """
    for site in sorted(location.glob("lib/python*/site-packages")):
        for info in sorted(site.glob("*.dist-info")):
            if problem := _damage_of(info):
                return f"{info.name.removesuffix('.dist-info')}: {problem}"
    return None


def _damage_of(info: Path) -> str | None:
    try:
        text = (info / "RECORD").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return "its RECORD cannot be read"
    for row in csv.reader(text.splitlines()):
        if len(row) != 3 or not (row[2] == "" or row[2].isdecimal()):
            return "its RECORD is damaged"
        name, _, size = row
        try:
            found = (info.parent / name).stat().st_size
        except OSError:
            return f"{name} is missing"
        if size and int(size) != found:
            return f"{name} has {found} bytes, not {size}"
    return None


def damage_of_lock_file(path: Path) -> str | None:
    """Why the generated lock file `path` cannot be read; None where it can, or is not there."""
    try:
        tomllib.loads(path.read_bytes().decode())
    except FileNotFoundError:
        return None
    except ValueError as error:  # What is no UTF-8, and what is no TOML.
        return str(error)
    return None
