"""Which libraries of other people this build is linked with; whether they are still the same."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple


class LinkedProvider(NamedTuple):
    """A library that linked implementations call."""

    distribution: str
    version: str
    library: Path
    implementations: tuple[tuple[str, str, int, str], ...]
    """Operator, device, slot and name of each implementation that calls it."""


def read_providers(file: Path) -> tuple[LinkedProvider, ...]:
    """What `linked.json` of a prefix tells."""
    document = json.loads(file.read_text(encoding="utf-8"))
    used: dict[str, list[tuple[str, str, int, str]]] = {}
    for item in document["implementations"]:
        row = (item["operator"], item["device"], item["slot"], item["name"])
        for library in (item["library"], *item["link_libraries"]):
            used.setdefault(library, []).append(row)
    return tuple(
        LinkedProvider(
            distribution=item["distribution"],
            version=item["version"],
            library=Path(item["path"]),
            implementations=tuple(sorted(used.get(item["id"], ()))),
        )
        for item in document["libraries"]
    )


def require_unchanged(file: str) -> None:
    """Compare each library with what it was when the build was configured.

    Raises:
        ImportError: One is gone, or has another size or build id, or torch another version: their
            functions may have moved.
    """
    document = json.loads(Path(file).read_text(encoding="utf-8"))
    wrong = [text for item in document["libraries"] if (text := _difference(item))]
    if any(item["transport"] == "torch" for item in document["implementations"]):
        wrong += _other_torch(document["torch"])
    if wrong:
        raise ImportError(
            "infini.ops was built against libraries that are not there as they were: "
            + "; ".join(wrong)
            + ". Build and install infiniops again in this environment."
        )


def _other_torch(expected: str) -> list[str]:
    # importlib.metadata alone would take as long as the rest of the import, so it is asked only
    # where the names of folders do not tell that this torch is the one that Python would import.
    for folder in map(Path, filter(None, sys.path)):
        if (folder / "torch").is_dir():
            if (folder / f"torch-{expected}.dist-info").is_dir():
                return []
            break
    from importlib.metadata import PackageNotFoundError, version

    try:
        found = version("torch")
    except PackageNotFoundError:
        return [f"torch {expected} is not installed"]
    return [] if found == expected else [f"torch is {found} instead of {expected}"]


def _difference(item: dict[str, Any]) -> str:
    path = Path(item["path"])
    title = f"{path} of {item['distribution']} {item['version']}"
    try:
        size = path.stat().st_size
    except OSError as error:
        return f"{title}: {error.strerror}"
    if size != item["size"]:
        return f"{title} has {size} bytes instead of {item['size']}"
    expected = item["build_id"]
    found = build_id(path) if expected else None
    if found != expected:
        return f"{title} has build id {found} instead of {expected}"
    return ""


def build_id(path: Path) -> str | None:
    """The build id of a 64-bit little-endian ELF file, or None where it has none."""
    import struct

    with path.open("rb") as stream:
        header = stream.read(64)
        if len(header) < 64 or header[:6] != b"\x7fELF\x02\x01":
            return None
        table, entry, count = (
            struct.unpack_from("<Q", header, 32)[0],
            *struct.unpack_from("<HH", header, 54),
        )
        size = path.stat().st_size
        if entry < 56 or table + entry * count > size:
            return None
        for index in range(count):
            stream.seek(table + index * entry)
            program = stream.read(56)
            if len(program) < 56 or struct.unpack_from("<I", program)[0] != 4:  # PT_NOTE
                continue
            (start,) = struct.unpack_from("<Q", program, 8)
            (length,) = struct.unpack_from("<Q", program, 32)
            if start > size:
                return None
            stream.seek(start)
            found = _note(stream.read(min(length, 65536)))
            if found is not None:
                return found
    return None


def _note(notes: bytes) -> str | None:
    position = 0
    while position + 12 <= len(notes):
        name_size, size, kind = (
            int.from_bytes(notes[position + at : position + at + 4], "little") for at in (0, 4, 8)
        )
        name = notes[position + 12 : position + 12 + name_size]
        start = position + 12 + (name_size + 3) // 4 * 4
        if kind == 3 and name == b"GNU\0":
            return notes[start : start + size].hex()
        position = start + (size + 3) // 4 * 4
    return None
