"""`linnet spec-test`: runs specification pages."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from linnet.commands.console import fail, say
from linnet.spec import SpecError, read_cases, run_case


def add_spec_test(commands: Any) -> None:
    """Adds the command."""
    command = commands.add_parser("spec-test", help="run the programs of specification pages")
    command.add_argument("paths", nargs="+", metavar="PAGE", help="a Markdown file or a folder")
    command.set_defaults(run=run_spec_test)


def run_spec_test(options: argparse.Namespace) -> int:
    """1 if a program is answered otherwise than its page says."""
    pages: list[Path] = []
    for given in map(Path, options.paths):
        pages += sorted(given.glob("*.md")) if given.is_dir() else [given]
    passed = failed = 0
    for page in pages:
        try:
            text = page.read_text(encoding="utf-8")
        except OSError as error:
            return fail(f"cannot read {page}: {error.strerror}")
        for case in read_cases(text):
            try:
                run_case(case)
                passed += 1
            except SpecError as failure:
                failed += 1
                say(f"{page}:{case.line}: {case.title}: {failure}\n")
    say(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0
