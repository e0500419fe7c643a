"""Layout: documents that fit on a line or break, in the manner of Wadler's pretty printer.

A document is a token (a string), a `Space`, a line that may break, or a group of these. The result
is a list of lines of tokens, so that comments can be put between them later.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

WIDTH = 100
STEP = 4


@dataclass(frozen=True)
class Space:
    """A space that never breaks."""


@dataclass(frozen=True)
class Line:
    """A space in a group that fits, else a line break; `soft` is nothing in a group that fits."""

    soft: bool = False


@dataclass(frozen=True)
class Hard:
    """A line break. `separation` says how many blank lines may stand there.

    `none` removes them, `keep` keeps one that the author left, `force` makes one.
    """

    separation: str = "none"


@dataclass(frozen=True)
class Indent:
    """What is inside stands further right when it breaks."""

    inner: Document


@dataclass(frozen=True)
class Group:
    """Breaks all of its own lines, or none. `broken` breaks them in any case."""

    inner: Document
    broken: bool = False


@dataclass(frozen=True)
class IfBroken:
    """A token only in a group that breaks."""

    text: str


Document: TypeAlias = "str | Space | Line | Hard | Indent | Group | IfBroken | list[Document]"

SPACE = Space()
LINE = Line()
SOFT = Line(soft=True)


@dataclass
class Row:
    """One line: its indentation, its tokens (None for a space), and the blank before it."""

    indent: int
    separation: str
    tokens: list[str | None] = field(default_factory=list)


def layout(document: Document) -> list[Row]:
    """Chooses the line breaks."""
    rows = [Row(0, "none")]
    column = 0
    stack: list[tuple[int, bool, Document]] = [(0, True, document)]
    while stack:
        indent, broken, part = stack.pop()
        if isinstance(part, str):
            rows[-1].tokens.append(part)
            column += len(part)
        elif isinstance(part, list):
            stack += [(indent, broken, inner) for inner in reversed(part)]
        elif isinstance(part, Space) or (isinstance(part, Line) and not broken):
            if not (isinstance(part, Line) and part.soft):
                rows[-1].tokens.append(None)
                column += 1
        elif isinstance(part, (Line, Hard)):
            separation = part.separation if isinstance(part, Hard) else "none"
            rows.append(Row(indent, separation))
            column = indent
        elif isinstance(part, Indent):
            stack.append((indent + STEP, broken, part.inner))
        elif isinstance(part, IfBroken):
            if broken:
                rows[-1].tokens.append(part.text)
                column += len(part.text)
        else:
            flat = not part.broken and fits(part.inner, stack, WIDTH - column)
            stack.append((indent, not flat, part.inner))
    return rows


def fits(document: Document, rest: list[tuple[int, bool, Document]], room: int) -> bool:
    """Whether a document on one line, with what follows up to the next break, has room."""
    pending: list[tuple[bool, Document]] = [(False, document)]
    following = len(rest)
    while room >= 0:
        if not pending:
            if following == 0:
                return True
            following -= 1
            _, broken, part = rest[following]
            pending.append((broken, part))
            continue
        broken, part = pending.pop()
        if isinstance(part, str):
            room -= len(part)
        elif isinstance(part, list):
            pending += [(broken, inner) for inner in reversed(part)]
        elif isinstance(part, Hard):
            # A hard break inside the document itself does not fit; after it, it ends the line.
            return following < len(rest)
        elif isinstance(part, Line):
            if broken:
                return True
            room -= 0 if part.soft else 1
        elif isinstance(part, Space):
            room -= 1
        elif isinstance(part, Indent):
            pending.append((broken, part.inner))
        elif isinstance(part, IfBroken):
            room -= len(part.text) if broken else 0
        else:
            if part.broken and not broken:
                return False
            pending.append((part.broken or broken, part.inner))
    return False
