"""Source files: text, offsets, lines and columns."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from pathlib import Path
from typing import NamedTuple


class Span(NamedTuple):
    """Code-point offsets into one file's text; the end is exclusive."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """From the start of this span to the end of `other`."""
        return Span(self.start, other.end)


class Position(NamedTuple):
    """A place in a text: line and column count from 1, in code points."""

    line: int
    column: int
    offset: int


class SourceFile:
    """A text and the name that messages call it by. `path` is None for text that is no file."""

    def __init__(self, name: str, text: str, path: Path | None = None) -> None:
        self.name = name
        self.text = text
        self.path = path

    def __repr__(self) -> str:
        return f"SourceFile({self.name!r})"

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        find = self.text.find
        at = find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = find("\n", at + 1)
        return starts

    def position(self, offset: int) -> Position:
        """Line and column of `offset`."""
        line = bisect_right(self._line_starts, offset)
        return Position(line, offset - self._line_starts[line - 1] + 1, offset)

    def line(self, number: int) -> str:
        """The text of line `number` (from 1), without its line end."""
        start = self._line_starts[number - 1]
        last = number == len(self._line_starts)
        end = len(self.text) if last else self._line_starts[number] - 1
        return self.text[start:end].rstrip("\r")
