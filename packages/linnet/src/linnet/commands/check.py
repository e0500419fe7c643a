"""`linnet check` and `linnet lint`."""

from __future__ import annotations

import argparse
from typing import Any

from linnet.commands.console import (
    CommandError,
    fail,
    load,
    print_diagnostics_json,
    show_diagnostics,
)
from linnet.source import sort_diagnostics


def add_check(commands: Any) -> None:
    """Adds both commands."""
    check = commands.add_parser("check", help="check files and what they use")
    check.add_argument("--strict", action="store_true", help="warnings fail too")
    lint = commands.add_parser("lint", help="check, and fail for warnings too")
    lint.set_defaults(strict=True)
    for command in (check, lint):
        command.add_argument("files", nargs="+", metavar="FILE")
        command.add_argument("--json", action="store_true", help="print the diagnostics as JSON")
        command.set_defaults(run=run_check)


def run_check(options: argparse.Namespace) -> int:
    """1 if a file has errors (with `--strict`, warnings), else 0."""
    try:
        programs = [load(path) for path in options.files]
    except CommandError as error:
        return fail(str(error))
    found = sort_diagnostics(d for program in programs for d in program.diagnostics)
    if options.json:
        print_diagnostics_json(found)
    else:
        show_diagnostics(found)
    failing = found if options.strict else [d for d in found if d.severity == "error"]
    return 1 if failing else 0
