"""`linnet`: arguments to commands. Exit codes: 0 done, 1 errors in the source, 2 bad command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from linnet import __version__
from linnet.commands.check import add_check
from linnet.commands.doc import add_doc
from linnet.commands.emit import add_emit
from linnet.commands.fetch import add_fetch
from linnet.commands.format import add_format
from linnet.commands.generate import add_run
from linnet.commands.graph import add_graph
from linnet.commands.init import add_init
from linnet.commands.inspect import add_inspect
from linnet.commands.spec_test import add_spec_test

COMMANDS: tuple[Callable[..., None], ...] = (
    add_check,
    add_doc,
    add_emit,
    add_fetch,
    add_format,
    add_graph,
    add_init,
    add_inspect,
    add_run,
    add_spec_test,
)


def run() -> None:
    """The console script."""
    sys.exit(main(sys.argv[1:]))


def main(arguments: Sequence[str]) -> int:
    """Runs one command; gives its exit code."""
    try:
        options = parser().parse_args(arguments)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    try:
        code: int = options.run(options)
    except BrokenPipeError:
        # Whoever read the output has gone; there is nobody left to tell.
        sys.stderr.close()
        return 1
    return code


def parser() -> argparse.ArgumentParser:
    """All commands with their options."""
    top = argparse.ArgumentParser(prog="linnet", description="Checks and inspects Linnet models.")
    top.add_argument("--version", action="version", version=f"linnet {__version__}")
    commands = top.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for add in COMMANDS:
        add(commands)
    return top
