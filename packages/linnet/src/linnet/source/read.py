"""Reading a source file from disk or from bytes."""

from __future__ import annotations

from pathlib import Path

from linnet.source.diagnostics import Diagnostic, Mark
from linnet.source.files import SourceFile, Span


def read_source(path: Path, name: str | None = None) -> tuple[SourceFile, Diagnostic | None]:
    """Reads `path`. OSError if that fails; a diagnostic (E1001) for bytes that are not UTF-8."""
    return decode(path.read_bytes(), name or str(path), path)


def decode(
    data: bytes, name: str, path: Path | None = None
) -> tuple[SourceFile, Diagnostic | None]:
    """The text of `data` without a byte order mark; undecodable bytes become U+FFFD."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        return SourceFile(name, data.decode("utf-8"), path), None
    except UnicodeDecodeError as error:
        before = len(data[: error.start].decode("utf-8", errors="replace"))
        file = SourceFile(name, data.decode("utf-8", errors="replace"), path)
        byte = data[error.start]
        return file, Diagnostic(
            "E1001",
            f"the byte 0x{byte:02x} is not valid UTF-8",
            Mark(file, Span(before, before + 1), "not UTF-8"),
            helps=("save the file as UTF-8",),
        )
