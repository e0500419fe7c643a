"""`linnet doc`: pages of modules from their doc comments."""

from __future__ import annotations

import argparse
from typing import Any

from linnet.commands.console import CommandError, fail, read, say, show_diagnostics
from linnet.commands.format import source_paths
from linnet.format.pages import module_page
from linnet.source import LinnetError
from linnet.syntax import parse, tokenize


def add_doc(commands: Any) -> None:
    """Adds the command."""
    command = commands.add_parser("doc", help="print Markdown pages of modules")
    command.add_argument("paths", nargs="+", metavar="PATH", help="a file or a folder")
    command.set_defaults(run=run_doc)


def run_doc(options: argparse.Namespace) -> int:
    """Prints the pages one after another; 1 if a file does not parse."""
    try:
        pages = [page(path) for path in source_paths(options.paths)]
    except CommandError as error:
        return fail(str(error))
    except LinnetError as error:
        show_diagnostics(error.diagnostics)
        return 1
    say("\n".join(pages).rstrip("\n"))
    return 0


def page(path: str) -> str:
    """One module's page."""
    file, wrong = read(path)
    errors = (wrong,) if wrong is not None else parse(tokenize(file)).errors
    if errors:
        raise LinnetError(errors)
    return module_page(file)
