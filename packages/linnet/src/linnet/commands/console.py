"""Printing diagnostics and failures."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from linnet.check import CheckedProgram, check
from linnet.source import Diagnostic, SourceFile, read_source, render_json, render_text


class CommandError(Exception):
    """A command line that cannot be carried out; exit code 2."""


def say(text: str) -> None:
    """Prints to standard output."""
    sys.stdout.write(text + "\n")


def complain(text: str) -> None:
    """Prints to standard error."""
    sys.stderr.write(text + "\n")


def fail(message: str) -> int:
    """Prints why a command line was refused."""
    complain(f"linnet: {message}")
    return 2


def read(path: str) -> tuple[SourceFile, Diagnostic | None]:
    """Reads a source file; CommandError if that fails."""
    try:
        return read_source(Path(path), path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise CommandError(f"cannot read {path}: {reason}") from error


def load(path: str) -> CheckedProgram:
    """Reads and checks a file."""
    return check(*read(path))


def use_colour() -> bool:
    """Whether standard error takes colours."""
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR")


def show_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    """Prints diagnostics to standard error, in colour on a terminal."""
    listed = list(diagnostics)
    colour = use_colour()
    for diagnostic in listed:
        text = render_text(diagnostic)
        if colour:
            _print_coloured(text, diagnostic.severity)
        else:
            complain(text + "\n")
    if listed:
        errors = sum(d.severity == "error" for d in listed)
        complain(count_line(errors, len(listed) - errors))


def _print_coloured(text: str, severity: str) -> None:
    from rich.console import Console
    from rich.text import Text

    style = "red" if severity == "error" else "yellow"
    styled = Text(text + "\n")
    styled.highlight_regex(r"^(error|warning) [EW]\d+", f"bold {style}")
    styled.highlight_regex(r"(?m)\^+.*$", style)
    styled.highlight_regex(r"(?m)^ *(-->|:::)|^ *\d* \|", "blue")
    styled.highlight_regex(r"(?m)^ *= (note|help):", "cyan")
    Console(stderr=True, highlight=False, soft_wrap=True).print(styled)


def count_line(errors: int, warnings: int) -> str:
    """`2 errors, 1 warning`."""
    parts = []
    if errors:
        parts.append(f"{errors} error{'s' if errors > 1 else ''}")
    if warnings:
        parts.append(f"{warnings} warning{'s' if warnings > 1 else ''}")
    return ", ".join(parts)


def print_json(document: dict[str, Any]) -> None:
    """Prints a document to standard output."""
    say(json.dumps(document, indent=2, ensure_ascii=False))


def print_diagnostics_json(diagnostics: Iterable[Diagnostic]) -> None:
    """The document of `--json`."""
    print_json(render_json(diagnostics))
