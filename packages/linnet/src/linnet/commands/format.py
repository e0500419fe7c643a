"""`linnet fmt`."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from linnet.commands.console import CommandError, complain, fail, read, show_diagnostics
from linnet.format import format_source


def add_format(commands: Any) -> None:
    """Adds the command."""
    command = commands.add_parser("fmt", help="lay out source files in the one style")
    command.add_argument(
        "paths", nargs="+", metavar="PATH", help="a file, a folder, or - for stdin"
    )
    command.add_argument("--check", action="store_true", help="change nothing; 1 if a file differs")
    command.set_defaults(run=run_format)


def run_format(options: argparse.Namespace) -> int:
    """1 if a file does not parse or, with `--check`, differs."""
    code = 0
    try:
        for path in source_paths(options.paths):
            code = max(code, format_file(path, options.check))
    except CommandError as error:
        return fail(str(error))
    return code


def source_paths(given: list[str]) -> list[str]:
    """The files named, folders expanded."""
    found: list[str] = []
    for path in given:
        if Path(path).is_dir():
            found += sorted(str(p) for p in Path(path).rglob("*.linnet"))
        else:
            found.append(path)
    return found


def format_file(path: str, check: bool) -> int:
    """Formats one file in place; `-` reads standard input and prints."""
    if path == "-":
        from linnet.source import SourceFile

        file, wrong = SourceFile("<stdin>", sys.stdin.read()), None
    else:
        file, wrong = read(path)
    if wrong is not None:
        show_diagnostics([wrong])
        return 1
    found = format_source(file)
    if found.text is None:
        show_diagnostics(found.errors)
        return 1
    if path == "-":
        sys.stdout.write(found.text)
        return 0
    if found.text.encode() == Path(path).read_bytes():
        return 0
    if check:
        complain(f"{path} would change")
        return 1
    replace_file(Path(path), found.text)
    return 0


def replace_file(path: Path, text: str) -> None:
    """Writes a file whole or not at all, with its old permissions."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode())
        Path(temporary).chmod(path.stat().st_mode)
        Path(temporary).replace(path)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise CommandError(f"cannot write {path}: {error.strerror}") from error
