"""`linnet graph`: the graph of an entry at a binding."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from linnet.check import CheckedProgram
from linnet.check.types import DTYPE_NAMES, short_dtype
from linnet.commands.console import CommandError, fail, load, print_json, say, show_diagnostics
from linnet.graph import Body, Call, Graph, Step
from linnet.source import near_names


def add_graph(commands: Any) -> None:
    """Adds the command."""
    graph = commands.add_parser("graph", help="print the steps of an entry at given sizes")
    add_binding(graph)
    graph.add_argument("--json", action="store_true", help="print the graph as JSON")
    graph.set_defaults(run=run_graph)


def add_binding(graph: argparse.ArgumentParser) -> None:
    """The arguments that name an entry and its sizes."""
    graph.add_argument("file", metavar="FILE")
    graph.add_argument("--entry", required=True, help="the entry's name")
    graph.add_argument("--root", help="the root block, where the module has several")
    graph.add_argument(
        "--bind",
        action="append",
        nargs="+",
        default=[],
        metavar="NAME=VALUE",
        help="a generic of root or entry: a size, a dtype (bf16, bfloat16), or 2,3 for a shape",
    )
    graph.add_argument(
        "--present",
        action="append",
        default=[],
        metavar="PATH",
        help="an optional parameter that has a weight",
    )


def run_graph(options: argparse.Namespace) -> int:
    """Prints the graph; 1 if the source has errors, 2 if the binding does not fit."""
    from linnet.graph.bound import BindingError

    try:
        program = load(options.file)
        if program.errors:
            show_diagnostics(program.errors)
            return 1
        graph = make_graph(program, options)
    except (CommandError, BindingError) as error:
        return fail(str(error))
    if options.json:
        print_json(graph.to_json())
    else:
        say("\n".join(graph_lines(graph)))
    return 0


def make_graph(program: CheckedProgram, options: argparse.Namespace) -> Graph:
    """Splits the bindings between root and entry."""
    from linnet.graph.binding import find_root, graph_for, manifest
    from linnet.graph.bound import BindingError, MissingGenericsError

    given = dict(parse_binding(text) for group in options.bind for text in group)
    block = find_root(program, options.root, options.entry)
    own = {g.name for g in block.generics} if block else set()
    generics = {name: value for name, value in given.items() if name in own}
    try:
        graph = graph_for(
            program,
            options.entry,
            None,
            root=options.root,
            generics=generics,
            entry_generics={name: value for name, value in given.items() if name not in own},
            bound=options.present,
        )
        if options.present:
            declared = manifest(program, block.name, generics) if block else ()
            require_paths(options.present, [one.path for one in declared if one.kind != "state"])
        return graph
    except MissingGenericsError as error:
        wanted = " ".join(f"{name}=VALUE" for name in error.names)
        raise BindingError(f"{error.problem}; give --bind {wanted}") from None


def require_paths(given: list[str], known: list[str]) -> None:
    """BindingError for a path of `--present` that is none of the root's parameters."""
    from linnet.graph.bound import BindingError

    for path in given:
        if path not in known:
            near = near_names(path, known, 3)
            hint = ", ".join(near or known) or "none"
            what = "near ones are" if near else "there are"
            raise BindingError(f"--present: there is no parameter {path!r}; {what}: {hint}")


def parse_binding(text: str) -> tuple[str, Any]:
    """`H=64`, `T=bf16` or `S=2,3`; CommandError for anything else."""
    name, equals, value = text.partition("=")
    if equals and name and short_dtype(value) in DTYPE_NAMES:
        return name, short_dtype(value)
    sizes = [part for part in value.split(",") if part]
    if equals and name and all(part.isdecimal() for part in sizes):
        if "," in value or not sizes:
            return name, tuple(map(int, sizes))
        return name, int(value)
    raise CommandError(f"--bind takes NAME=VALUE, a size, a dtype or sizes 2,3; got {text!r}")


def graph_lines(graph: Graph) -> Iterator[str]:
    """The graph as text, one step per line."""
    owner = f"{graph.root}." if graph.root else ""
    yield f"graph {graph.module}::{owner}{graph.entry}"
    for one in graph.inputs:
        yield f"  input     {show(graph, one.value)} {one.name}"
    for parameter in graph.parameters:
        yield f"  {parameter.kind:9} {show(graph, parameter.value)} {parameter.path}"
    for state in graph.states:
        yield f"  state     {show(graph, state.value)} {state.path}, then %{state.result}"
    for constant in graph.constants:
        yield f"  constant  {show(graph, constant.value)} = {constant.literal}"
    opened: dict[int, list[Call]] = {}
    for call in graph.calls:
        opened.setdefault(call.start, []).append(call)
    for step in graph.steps:
        for call in opened.get(step.index, ()):
            yield f"  -- {call.kind} {call.callee} {call.path}".rstrip()
        yield from step_lines(graph, step, "  ")
    yield f"  return {graph.to_json()['result']}"


def step_lines(graph: Graph, step: Step, indent: str) -> Iterator[str]:
    """One step and its bodies."""
    results = ", ".join(show(graph, n) for n in step.results)
    operands = " ".join(f"%{n}" for n in step.operands)
    extra = " ".join(f"{name}={value}" for name, value in step.attributes.items())
    place = f"  // {step.span.file}:{step.span.line}" if step.span else ""
    head = f"{results} = " if results else ""
    yield indent + head + " ".join(part for part in (step.kind, operands, extra) if part) + place
    for body in step.bodies:
        yield from body_lines(graph, body, indent + "    ")


def body_lines(graph: Graph, body: Body, indent: str) -> Iterator[str]:
    """A nested body."""
    inputs = ", ".join(show(graph, n) for n in body.inputs)
    yield f"{indent}body({inputs})"
    for step in body.steps:
        yield from step_lines(graph, step, indent + "  ")
    yield f"{indent}  gives {', '.join(f'%{n}' for n in body.outputs)}"


def show(graph: Graph, number: int) -> str:
    """`%3: f32[2, 8]`."""
    value = graph.values[number]
    shape = f"[{', '.join(map(str, value.shape))}]" if value.shape else ""
    return f"%{number}: {value.dtype}{shape}"
