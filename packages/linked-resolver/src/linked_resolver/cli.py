"""The command `linked-resolver`."""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import yaml

from . import __version__
from .diagnostics import ContractError, Problem, as_json, render
from .environment import Environment, ResolverSetupError
from .inspection import Inspection, inspect
from .pipeline import prove, resolve
from .resolution import Resolution, document
from .schemas import SECONDS
from .selection import parse_selection

PROVED, FAILED, MISUSED = 0, 1, 2


def run() -> None:
    """The entry point of the console script."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A path may have bytes that are no text.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        status = main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader, `head` for example, has enough. Nothing is left to be written at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = FAILED
    sys.exit(status)


def main(arguments: Sequence[str]) -> int:
    """Runs the command and returns its exit status: 0 proved, 1 problems, 2 misused."""
    options = _parser().parse_args(arguments)
    try:
        environment = Environment.of(options.python) if options.python else Environment.current()
        if options.command == "inspect":
            return _inspect(options, environment)
        return _resolve(options, environment)
    except ResolverSetupError as error:
        print(f"linked-resolver: {error}", file=sys.stderr)
        return MISUSED
    except ContractError as error:
        _complain([error.problem], options.json)
        return FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="linked-resolver",
        description="Proves that installed libraries have what linked operators need.",
    )
    parser.add_argument("--version", action="version", version=__version__)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--python",
        type=Path,
        help="the interpreter whose distributions are meant (default: the running one)",
    )
    common.add_argument("--json", action="store_true", help="print the result as JSON")
    common.add_argument("--no-load", action="store_true", help="load no library, in no process")
    common.add_argument(
        "--time-limit",
        type=_seconds,
        default=SECONDS,
        metavar="SECONDS",
        help="for each child interpreter that loads libraries (default: %(default)g)",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    resolving = commands.add_parser(
        "resolve", parents=[common], help="prove contracts and write the manifest"
    )
    resolving.add_argument(
        "--contracts", type=Path, required=True, help="the folder src/linked of the sources"
    )
    resolving.add_argument(
        "--output", type=Path, help="the folder of the manifest; without it nothing is written"
    )
    resolving.add_argument(
        "--ops", default="", help="operators separated by commas, or the path of an ops.json"
    )
    resolving.add_argument(
        "--project",
        type=Path,
        help="where header paths in ops.json begin (default: two folders above the contracts)",
    )
    resolving.add_argument(
        "--device", action="append", help="a device of the build; may be repeated (default: all)"
    )
    inspecting = commands.add_parser(
        "inspect", parents=[common], help="list what a contract can name"
    )
    inspecting.add_argument(
        "target", type=_target, help="a library file, or the name of a distribution"
    )
    inspecting.add_argument(
        "--grep", default="", help="a regular expression that functions and schemas must match"
    )
    return parser


def _target(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("expected a library file or a distribution, got nothing")
    return text


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds <= 86400:
        raise argparse.ArgumentTypeError(f"expected seconds from 0 to 86400, got {text}")
    return seconds


def _complain(problems: Sequence[Problem], as_document: bool) -> None:
    if as_document:
        sys.stdout.write(as_json({"problems": [asdict(problem) for problem in problems]}))
    else:
        print(render(problems), file=sys.stderr)


def _resolve(options: argparse.Namespace, environment: Environment) -> int:
    project = options.project or options.contracts.absolute().parent.parent
    selection = parse_selection(options.ops, project)
    arguments = {
        "selection": selection,
        "devices": options.device,
        "environment": environment,
        "load": not options.no_load,
        "seconds": options.time_limit,
    }
    result: Resolution
    if options.output is None:
        result = prove(options.contracts, **arguments)
    else:
        result = resolve(options.contracts, options.output, **arguments)
    if options.json:
        sys.stdout.write(as_json(document(result)))
    elif not result.ok:
        print(render(result.problems), file=sys.stderr)
        count = len(result.problems)
        print(f"\n{count} {'problem' if count == 1 else 'problems'}", file=sys.stderr)
    else:
        for note in result.notes:
            print(f"note: {note}")
        for item in result.implementations:
            located = result.located[item.library.id]
            print(f"{item.id}: slot {item.slot.number}, {located.distribution.title}")
        count = len(result.implementations)
        print(f"{count} linked {'implementation' if count == 1 else 'implementations'} proved")
    return PROVED if result.ok else FAILED


def _inspect(options: argparse.Namespace, environment: Environment) -> int:
    try:
        found = inspect(
            options.target,
            environment=environment,
            grep=options.grep,
            load=not options.no_load,
            seconds=options.time_limit,
        )
    except re.error as error:
        print(
            f"linked-resolver: --grep: expected a regular expression, got {options.grep!r}: "
            f"{error}",
            file=sys.stderr,
        )
        return MISUSED
    if options.json:
        sys.stdout.write(as_json(asdict(found) | {"libraries": _as_values(found)}))
    else:
        _print_inspection(found)
        if found.problems:
            print(render(found.problems), file=sys.stderr)
    return FAILED if found.problems else PROVED


def _as_values(found: Inspection) -> list[dict[str, object]]:
    return [{**asdict(item), "path": str(item.path)} for item in found.libraries]


def _print_inspection(found: Inspection) -> None:
    """Prints lines that can be copied into a contract."""
    print(f"# {found.title}")
    for library in found.libraries:
        if not library.functions and not library.operators:
            continue
        print(f"\n# {library.path}")
        if library.glob is not None:
            print(f"library_glob: {_scalar(library.glob)}")
        if library.functions:
            print("required_symbols:")
            for name in library.functions:
                print(f"  - {_scalar(name)}")
        for operator in library.operators:
            keys = ", ".join(operator.keys) or "no kernel"
            print(f"operator_schema: {_scalar(operator.schema)}  # dispatch keys: {keys}")


def _scalar(text: str) -> str:
    """The text as one line of YAML, quoted if it must be."""
    return yaml.safe_dump(text, width=1_000_000, allow_unicode=True).splitlines()[0]
