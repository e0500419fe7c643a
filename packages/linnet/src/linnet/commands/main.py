"""`linnet`: arguments to commands. Exit codes: 0 done, 1 errors in the source, 2 bad command."""

from __future__ import annotations

import argparse
import gc
import importlib
import sys
from collections.abc import Sequence

from linnet import __version__

# Each command and the function that adds it, `module.function` of this package. Only the module of
# the command at hand is loaded, since loading all of them takes longer than checking a model.
COMMANDS = {
    "check": "check.add_check",
    "lint": "check.add_check",
    "doc": "doc.add_doc",
    "emit": "emit.add_emit",
    "explain": "torch.add_explain",
    "fetch": "fetch.add_fetch",
    "update": "fetch.add_fetch",
    "fmt": "format.add_format",
    "graph": "graph.add_graph",
    "init": "init.add_init",
    "inspect": "inspect.add_inspect",
    "run": "generate.add_run",
    "spec-test": "spec_test.add_spec_test",
    "torch": "torch.add_torch",
}


def run() -> None:
    """The console script."""
    # Commands make many objects and drop few of them, so looking for garbage is time lost.
    gc.disable()
    sys.exit(main(sys.argv[1:]))


def main(arguments: Sequence[str]) -> int:
    """Runs one command; gives its exit code."""
    if not arguments:
        parser("").print_help(sys.stderr)
        return 2
    if not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
        from linnet.source import near_names

        near = near_names(arguments[0], COMMANDS, least=0.6)
        hint = f"did you mean `{near[0]}`?" if near else f"there are: {', '.join(COMMANDS)}"
        sys.stderr.write(f"linnet: there is no command `{arguments[0]}`; {hint}\n")
        return 2
    try:
        options = parser(arguments[0]).parse_args(arguments)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    try:
        code: int = options.run(options)
    except BrokenPipeError:
        # Whoever read the output has gone; there is nobody left to tell.
        sys.stderr.close()
        return 1
    return code


def parser(command: str) -> argparse.ArgumentParser:
    """The command with its options; all commands, where this is none of them."""
    top = argparse.ArgumentParser(
        prog="linnet", description="Checks, inspects and runs Linnet models."
    )
    top.add_argument("--version", action="version", version=f"linnet {__version__}")
    commands = top.add_subparsers(title="commands", required=True, metavar="COMMAND")
    wanted = [COMMANDS[command]] if command in COMMANDS else dict.fromkeys(COMMANDS.values())
    for place in wanted:
        module, _, function = place.partition(".")
        getattr(importlib.import_module(f"linnet.commands.{module}"), function)(commands)
    return top
