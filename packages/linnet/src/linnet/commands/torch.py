"""`linnet torch` and `linnet explain`: the PyTorch source of an entry, and why it is as it is."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from linnet.commands.console import CommandError, fail, load, say, show_diagnostics
from linnet.commands.graph import add_binding, make_graph
from linnet.graph import Graph

NUMERICS = ("exact", "equivalent", "fast")


def add_torch(commands: Any) -> None:
    """Adds `torch`."""
    parser = commands.add_parser("torch", help="print the PyTorch source of an entry")
    _arguments(parser)
    parser.set_defaults(run=run_torch)


def add_explain(commands: Any) -> None:
    """Adds `explain`."""
    parser = commands.add_parser(
        "explain", help="say how PyTorch runs each op of an entry, and why"
    )
    _arguments(parser)
    parser.set_defaults(run=run_explain)


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_binding(parser)
    parser.add_argument(
        "--numerics",
        choices=NUMERICS,
        default="fast",
        help="how far results may differ; default fast",
    )
    parser.add_argument("--training", action="store_true", help="as for weights that are trained")


def run_torch(options: argparse.Namespace) -> int:
    """Prints the source as `linnet.torch.load` generates it."""

    def show(graph: Graph) -> str:
        from linnet.torch.emit import emit

        folded = not options.training
        joins = (lambda paths: True) if folded else None
        source = emit(
            graph, numerics=options.numerics, fold_weights=folded, joins=joins, in_place=folded
        )
        return source.text.rstrip("\n")

    return _run(options, show)


def run_explain(options: argparse.Namespace) -> int:
    """Prints the choices."""

    def show(graph: Graph) -> str:
        from linnet.torch.explain import explain, explain_lines

        folded = not options.training
        joins = (lambda paths: True) if folded else None
        return "\n".join(explain_lines(explain(graph, options.numerics, folded, joins, folded)))

    return _run(options, show)


def _run(options: argparse.Namespace, show: Callable[[Graph], str]) -> int:
    """1 if the source has errors, 2 if the binding does not fit or PyTorch is missing."""
    from linnet.graph.bound import BindingError

    try:
        program = load(options.file)
        if program.errors:
            show_diagnostics(program.errors)
            return 1
        say(show(make_graph(program, options)))
    except ModuleNotFoundError as error:
        return fail(
            f"this needs PyTorch ({error}); pip install 'packages/linnet[torch]' in the repository"
        )
    except (CommandError, BindingError) as error:
        return fail(str(error))
    return 0
