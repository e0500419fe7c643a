"""Diagnostics: what is wrong, where, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from linnet.source.codes import CODES
from linnet.source.files import SourceFile, Span


@dataclass(frozen=True)
class Mark:
    """A labelled range of a file."""

    file: SourceFile
    span: Span
    label: str = ""


@dataclass(frozen=True)
class Diagnostic:
    """One problem. `message` stands alone; `primary` is where; the rest explains and helps."""

    code: str
    message: str
    primary: Mark
    related: tuple[Mark, ...] = ()
    notes: tuple[str, ...] = ()
    helps: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        assert self.code in CODES, self.code

    @property
    def severity(self) -> str:
        """`error` or `warning`."""
        return "warning" if self.code.startswith("W") else "error"


class LinnetError(Exception):
    """Source that has errors; `diagnostics` holds them."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        from linnet.source.render import render_text

        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(render_text(d) for d in self.diagnostics))


def clip(text: str, width: int = 60) -> str:
    """`text`, shortened in the middle when it is longer than `width`."""
    if len(text) <= width:
        return text
    return f"{text[: width - 10]}…{text[-8:]}"


def sort_diagnostics(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """By file, then by place, each place and code once."""
    seen: set[Any] = set()
    kept = []
    for diagnostic in diagnostics:
        mark = diagnostic.primary
        key = (mark.file.name, mark.span, diagnostic.code)
        if key not in seen:
            seen.add(key)
            kept.append(diagnostic)
    return tuple(sorted(kept, key=lambda d: (d.primary.file.name, d.primary.span)))
