"""Diagnostics as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from linnet.source.diagnostics import Diagnostic, Mark
from linnet.source.files import Position

WIDTH = 160


def render_text(diagnostic: Diagnostic) -> str:
    """The diagnostic as lines of plain text, without a line end after the last."""
    marks = [diagnostic.primary, *diagnostic.related]
    gutter = max(len(str(m.file.position(m.span.start).line)) for m in marks)
    lines = [f"{diagnostic.severity} {diagnostic.code}: {diagnostic.message}"]
    for number, mark in enumerate(marks):
        lines += _excerpt(mark, gutter, "^" if number == 0 else "-", number == 0)
    lines += [f"{' ' * gutter} = note: {note}" for note in diagnostic.notes]
    lines += [f"{' ' * gutter} = help: {text}" for text in diagnostic.helps]
    return "\n".join(lines)


def _excerpt(mark: Mark, gutter: int, sign: str, primary: bool) -> list[str]:
    start = mark.file.position(mark.span.start)
    end = mark.file.position(max(mark.span.end, mark.span.start))
    text = mark.file.line(start.line)
    column = start.column - 1
    last = end.column - 1 if end.line == start.line else len(text)
    if len(text) > WIDTH:
        first = max(0, column - WIDTH // 2)
        text = text[first : first + WIDTH]
        column -= first
        last = min(last - first, len(text))
    # Tabs stay tabs in the line of carets, so that the carets stand below what they mark.
    lead = "".join("\t" if c == "\t" else " " for c in text[:column])
    carets = sign * max(1, last - column)
    label = f" {mark.label}" if mark.label else ""
    arrow = "-->" if primary else ":::"
    return [
        f"{' ' * gutter}{arrow} {mark.file.name}:{start.line}:{start.column}",
        f"{' ' * gutter} |",
        f"{start.line:>{gutter}} | {text}".rstrip(),
        f"{' ' * gutter} | {lead}{carets}{label}",
    ]


def render_json(diagnostics: Iterable[Diagnostic]) -> dict[str, Any]:
    """The document that `linnet check --json` prints."""
    listed = list(diagnostics)
    warnings = sum(d.severity == "warning" for d in listed)
    return {
        "version": 1,
        "diagnostics": [_record(d) for d in listed],
        "summary": {"errors": len(listed) - warnings, "warnings": warnings},
    }


def _record(diagnostic: Diagnostic) -> dict[str, Any]:
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        "label": diagnostic.primary.label,
        "location": _location(diagnostic.primary),
        "related": [{"label": m.label, "location": _location(m)} for m in diagnostic.related],
        "notes": list(diagnostic.notes),
        "help": list(diagnostic.helps),
    }


def _location(mark: Mark) -> dict[str, Any]:
    def place(position: Position) -> dict[str, int]:
        return {"line": position.line, "column": position.column, "offset": position.offset}

    return {
        "file": mark.file.name,
        "start": place(mark.file.position(mark.span.start)),
        "end": place(mark.file.position(mark.span.end)),
    }
