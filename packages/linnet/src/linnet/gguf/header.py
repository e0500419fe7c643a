"""The header of a GGUF file: its metadata, and where its tensors lie.

The format is described at https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. Nothing that a
file says is believed: every count is compared with the bytes that are left before it is used, so
that a hostile or truncated file is an error and never a long loop or a large allocation.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VERSIONS = (2, 3)
DEFAULT_ALIGNMENT = 32
MAX_AXES = 4
MAX_NESTING = 4

#: Value types of metadata -> struct's letter.
SCALARS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}
STRING, ARRAY = 8, 9
#: Element types by number -> name, elements in a block, bytes of a block.
ELEMENT_TYPES = {
    0: ("F32", 1, 4),
    1: ("F16", 1, 2),
    2: ("Q4_0", 32, 18),
    3: ("Q4_1", 32, 20),
    6: ("Q5_0", 32, 22),
    7: ("Q5_1", 32, 24),
    8: ("Q8_0", 32, 34),
    10: ("Q2_K", 256, 84),
    11: ("Q3_K", 256, 110),
    12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176),
    14: ("Q6_K", 256, 210),
    30: ("BF16", 1, 2),
}


class GgufError(ValueError):
    """A GGUF file that cannot be read; the text names the file, the place and the reason."""


@dataclass(frozen=True)
class StoredTensor:
    """A tensor of a file. `shape` has the outermost axis first, `start` counts from the file's
    first byte, `size` is in bytes.
    """

    name: str
    shape: tuple[int, ...]
    element: str
    start: int
    size: int


@dataclass(frozen=True)
class GgufFile:
    """What the header of a file says. Metadata values are numbers, texts, and lists of those."""

    path: Path
    metadata: Mapping[str, Any]
    tensors: Mapping[str, StoredTensor]


def read_header(path: str | Path) -> GgufFile:
    """Reads the header of a GGUF file of version 2 or 3 in little-endian order.

    GgufError for a file that is none, is truncated, or contradicts itself; OSError for one that
    cannot be opened.
    """
    path = Path(path)
    with path.open("rb") as file:
        try:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:
            raise GgufError(f"{path}: is empty, not a GGUF file") from None
        with content:
            return _Reader(path, content).file()


class _Reader:
    def __init__(self, path: Path, content: mmap.mmap) -> None:
        self.path = path
        self.content = content
        self.at = 0

    def error(self, reason: str) -> GgufError:
        return GgufError(f"{self.path}: {reason}")

    # --- pieces ---

    def need(self, count: int, size: int, what: str) -> None:
        """Refuses `count` things of at least `size` bytes that the rest of the file cannot hold."""
        left = len(self.content) - self.at
        if count * size > left:
            raise self.error(
                f"{what} at byte {self.at} takes at least {count * size} bytes, but {left} are "
                "left; the file is truncated or damaged"
            )

    def number(self, letter: str, what: str) -> Any:
        size = struct.calcsize(letter)
        self.need(1, size, what)
        (value,) = struct.unpack_from(f"<{letter}", self.content, self.at)
        self.at += size
        return value

    def text(self, what: str) -> str:
        length = self.number("Q", f"the length of {what}")
        self.need(length, 1, what)
        raw = self.content[self.at : self.at + length]
        self.at += length
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.error(f"{what} at byte {self.at - length} is not UTF-8: {error}") from None

    def value(self, kind: int, what: str, depth: int = 0) -> Any:
        if kind in SCALARS:
            return self.number(SCALARS[kind], what)
        if kind == STRING:
            return self.text(what)
        if kind != ARRAY:
            raise self.error(f"{what} has the value type {kind}, which GGUF does not have")
        if depth == MAX_NESTING:
            raise self.error(f"{what} nests arrays deeper than {MAX_NESTING}")
        inner = self.number("I", f"the element type of {what}")
        count = self.number("Q", f"the length of {what}")
        if inner in SCALARS:
            letter = SCALARS[inner]
            self.need(count, struct.calcsize(letter), what)
            values = struct.unpack_from(f"<{count}{letter}", self.content, self.at)
            self.at += struct.calcsize(letter) * count
            return list(values)
        self.need(count, 8, what)
        return [self.value(inner, what, depth + 1) for _ in range(count)]

    # --- the file ---

    def file(self) -> GgufFile:
        if self.content[:4] != b"GGUF":
            raise self.error("is not a GGUF file: it does not start with GGUF")
        self.at = 4
        version = self.number("I", "the version")
        if version not in VERSIONS:
            swapped = version & 0xFFFF == 0 and version >> 24 in VERSIONS
            raise self.error(
                "is in big-endian order; convert it to little-endian"
                if swapped
                else f"has GGUF version {version}; versions 2 and 3 can be read"
            )
        tensor_count = self.number("Q", "the number of tensors")
        pair_count = self.number("Q", "the number of metadata entries")
        self.need(pair_count, 13, f"metadata of {pair_count} entries")
        metadata: dict[str, Any] = {}
        for _ in range(pair_count):
            key = self.text("a metadata key")
            if key in metadata:
                raise self.error(f"has the metadata {key!r} twice")
            metadata[key] = self.value(self.number("I", f"the type of {key}"), f"metadata {key!r}")
        self.need(tensor_count, 24, f"a table of {tensor_count} tensors")
        table = [self.entry() for _ in range(tensor_count)]
        alignment = metadata.get("general.alignment", DEFAULT_ALIGNMENT)
        if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
            raise self.error(f"general.alignment must be a power of two, got {alignment!r}")
        start = -(-self.at // alignment) * alignment
        tensors: dict[str, StoredTensor] = {}
        for name, shape, element, offset in table:
            if name in tensors:
                raise self.error(f"has the tensor {name!r} twice")
            tensors[name] = self.placed(name, shape, element, start + offset)
        return GgufFile(self.path, metadata, tensors)

    def entry(self) -> tuple[str, tuple[int, ...], int, int]:
        name = self.text("a tensor's name")
        axes = self.number("I", f"the number of axes of {name}")
        if axes > MAX_AXES:
            raise self.error(f"tensor {name!r} has {axes} axes; GGUF has at most {MAX_AXES}")
        shape = tuple(self.number("Q", f"the shape of {name}") for _ in range(axes))[::-1]
        element = self.number("I", f"the element type of {name}")
        return name, shape, element, self.number("Q", f"the place of {name}")

    def placed(self, name: str, shape: tuple[int, ...], element: int, start: int) -> StoredTensor:
        if element not in ELEMENT_TYPES:
            known = ", ".join(kind for kind, _, _ in ELEMENT_TYPES.values())
            raise self.error(f"tensor {name!r} has the element type {element}; known are {known}")
        kind, block, size = ELEMENT_TYPES[element]
        count = 1
        for extent in shape:
            count *= extent
        inner = shape[-1] if shape else 1
        if inner % block:
            raise self.error(
                f"tensor {name!r} has rows of {inner} elements; {kind} needs a multiple of {block}"
            )
        total = count // block * size
        if start + total > len(self.content):
            raise self.error(
                f"tensor {name!r} ends at byte {start + total}, past the file's end at "
                f"{len(self.content)}; the file is truncated or damaged"
            )
        return StoredTensor(name, shape, kind, start, total)
