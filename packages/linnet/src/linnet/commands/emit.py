"""`linnet emit`: IR back to source."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from linnet.commands.console import CommandError, fail, load, show_diagnostics
from linnet.commands.inspect import add_passes, lowered
from linnet.ir.emit import emit
from linnet.ir.json import module_to_json
from linnet.source import LinnetError


def add_emit(commands: Any) -> None:
    """Adds the command."""
    command = commands.add_parser("emit", help="print source made of a module's IR")
    command.add_argument("file", metavar="FILE", help="a source, or JSON of `linnet inspect --ir`")
    add_passes(command)
    command.set_defaults(run=run_emit)


def run_emit(options: argparse.Namespace) -> int:
    """Prints the source; 1 if the source has errors, 2 for what is no IR document."""
    path = options.file
    try:
        if path.endswith(".json"):
            if options.passes is not None:
                return fail("--passes takes a source, since a document is only read as it is")
            document = read_document(path)
        else:
            module = load(path).ensure_valid()
            document = module_to_json(lowered(module, options.passes), None)
        sys.stdout.write(emit(document))
    except (CommandError, ValueError) as error:
        return fail(f"{path}: {error}" if isinstance(error, ValueError) else str(error))
    except LinnetError as error:
        show_diagnostics(error.diagnostics)
        return 1
    return 0


def read_document(path: str) -> Any:
    """A JSON file; CommandError if it cannot be read, ValueError if it is no JSON."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise CommandError(f"cannot read {path}: {error.strerror}") from error
    except RecursionError as error:
        raise ValueError("the document is nested too deep") from error
