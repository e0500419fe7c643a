"""The graph: one entry at one binding of all sizes.

A graph is a flat list of steps over numbered values. Every size is a number, calls are inlined
(marks remember them), static loops are unrolled, options and optional parameters are decided.
`docs/linnet/graph-format.md` specifies the records and the meaning of every step kind;
`linnet.graph.kinds` holds the same table for programs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

DTYPES = (
    "bool",
    "i8",
    "i16",
    "i32",
    "i64",
    "u8",
    "u16",
    "u32",
    "u64",
    "f16",
    "bf16",
    "f32",
    "f64",
)

# How a Linnet value of tuple, struct or optional type maps to flat value numbers: a number, None
# for an absent optional, a tuple for a tuple, a mapping from field name for a struct.
Tree: TypeAlias = "int | tuple[Tree, ...] | Mapping[str, Tree] | None"


@dataclass(frozen=True)
class SourceSpan:
    """A range of source text; lines and columns count from 1 (code points), end exclusive."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True)
class Value:
    """A tensor or scalar of the graph.

    `shape` is empty for a scalar. `origin` tells who makes it: `input`, `parameter`, `buffer`,
    `state` (its content when the entry starts), `constant`, `step`, or `body` (an input of a nested
    body).
    """

    number: int
    shape: tuple[int, ...]
    dtype: str
    origin: str
    name: str = ""


@dataclass(frozen=True)
class Body:
    """Steps nested in a step (`if`, `while`, `scan`) or the backward of a call.

    `inputs` are value numbers of origin `body`. A body also reads values of the enclosing graph
    directly.
    """

    inputs: tuple[int, ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True)
class Step:
    """One primitive operation.

    `index` is its position in its list of steps. `operands` and `results` are value numbers.
    `attributes` holds numbers, strings and lists only, named in `linnet.graph.kinds`.
    """

    index: int
    kind: str
    operands: tuple[int, ...]
    results: tuple[int, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    span: SourceSpan | None = None
    bodies: tuple[Body, ...] = ()

    @cached_property
    def reads(self) -> tuple[int, ...]:
        """Operands, then every outer value that the nested bodies read; each once, in order of
        first use.
        """
        seen: dict[int, None] = dict.fromkeys(self.operands)
        for body in self.bodies:
            made = set(body.inputs)
            for step in body.steps:
                seen.update((number, None) for number in step.reads if number not in made)
                made.update(step.results)
            seen.update((number, None) for number in body.outputs if number not in made)
        return tuple(seen)


@dataclass(frozen=True)
class Argument:
    """One argument of a call; `value` is None where an optional is absent."""

    name: str
    value: Tree


@dataclass(frozen=True)
class Call:
    """The mark of an inlined call: `steps[start:stop]` compute it.

    `index` numbers the marks in order of their start (an outer call before the calls in it).
    `callee` is `module::name`, or `module::Block.method`. `kind` is `op` (a semantic call), `fn` or
    `method`. `path` is the path of the block instance whose code makes the call, and for a method
    the instance called (`layers.0.norm`; empty at the root). `generics` maps the callee's names to
    a number, a dtype name or, for a pack, a tuple of sizes. `parent` is the index of the innermost
    enclosing mark. A call of an op with a `grad` clause carries it in `gradient`: inputs are the
    floating and integer arguments that have a value, in order, then the result, then its gradient;
    outputs are the gradients of the floating tensor arguments in order.
    """

    index: int
    callee: str
    kind: str
    path: str
    start: int
    stop: int
    generics: Mapping[str, Any]
    arguments: tuple[Argument, ...]
    result: Tree
    parent: int | None = None
    span: SourceSpan | None = None
    gradient: Body | None = None

    @property
    def operands(self) -> tuple[int, ...]:
        """Value numbers of all arguments, flattened in order; absent optionals give none."""
        return tuple(n for argument in self.arguments for n in leaves(argument.value))

    @property
    def results(self) -> tuple[int, ...]:
        """Value numbers of the result, flattened in order."""
        return tuple(leaves(self.result))

    def argument(self, name: str) -> Tree:
        """The argument called `name`; KeyError lists the names there are."""
        for argument in self.arguments:
            if argument.name == name:
                return argument.value
        names = ", ".join(argument.name for argument in self.arguments)
        raise KeyError(f"{self.callee} has no argument {name!r}; it has: {names}")

    def nested(self, graph: Graph | Body) -> tuple[Call, ...]:
        """The calls made inside this one."""
        inside = [c for c in graph.calls if c.index > self.index]
        return tuple(c for c in inside if self.start <= c.start and c.stop <= self.stop)


@dataclass(frozen=True)
class Input:
    """One flat input of the entry; `name` is the parameter's name, with `.field` for parts of
    tuples and structs.
    """

    name: str
    value: int


@dataclass(frozen=True)
class Parameter:
    """A parameter or buffer that the entry reads, by its path from the root
    (`layers.0.norm.weight`).
    """

    path: str
    value: int
    kind: str
    shape: tuple[int, ...]
    dtype: str
    optional: bool = False


@dataclass(frozen=True)
class State:
    """A state that the entry reads or writes.

    `value` is its content when the entry starts. `result` is its content when the entry has
    finished: equal to `value` if the entry never writes it.
    """

    path: str
    value: int
    result: int
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class Constant:
    """A scalar known when the graph is made: a bool, an int or a float (NaN and infinities too)."""

    value: int
    literal: bool | int | float


@dataclass(frozen=True)
class Graph:
    """One entry at one binding of all sizes; see the module's text."""

    module: str
    root: str | None
    entry: str
    generics: Mapping[str, Any]
    entry_generics: Mapping[str, Any]
    values: tuple[Value, ...]
    inputs: tuple[Input, ...]
    result: Tree
    parameters: tuple[Parameter, ...]
    states: tuple[State, ...]
    constants: tuple[Constant, ...]
    steps: tuple[Step, ...]
    calls: tuple[Call, ...]

    @property
    def results(self) -> tuple[int, ...]:
        """Value numbers of the entry's result, flattened in order."""
        return tuple(leaves(self.result))

    def semantic_calls(self, callee: str) -> tuple[Call, ...]:
        """Calls of the op `callee` (`std.nn.linear::linear`) outside nested bodies, in order."""
        return tuple(c for c in self.calls if c.kind == "op" and c.callee == callee)

    @cached_property
    def _literals(self) -> dict[int, bool | int | float]:
        return {constant.value: constant.literal for constant in self.constants}

    def literal(self, number: int) -> bool | int | float | None:
        """The number behind a constant value, or None for a value that is not a constant."""
        return self._literals.get(number)

    @cached_property
    def paths(self) -> Mapping[int, str]:
        """Value number -> path, of parameters, buffers and the states' content at the start."""
        found = {parameter.value: parameter.path for parameter in self.parameters}
        found.update((state.value, state.path) for state in self.states)
        return found

    @cached_property
    def producers(self) -> Mapping[int, Step]:
        """Value number -> the graph's own step that makes it."""
        return {number: step for step in self.steps for number in step.results}

    @cached_property
    def readers(self) -> Mapping[int, tuple[Step, ...]]:
        """Value number -> the graph's own steps that read it, in order."""
        found: dict[int, list[Step]] = {}
        for step in self.steps:
            for number in step.reads:
                found.setdefault(number, []).append(step)
        return {number: tuple(steps) for number, steps in found.items()}

    @cached_property
    def parameter_paths(self) -> Mapping[int, str]:
        """Value number -> path of the parameter or buffer."""
        return {parameter.value: parameter.path for parameter in self.parameters}

    @cached_property
    def state_paths(self) -> Mapping[int, str]:
        """Number of a state's content before the entry -> path of the state."""
        return {state.value: state.path for state in self.states}

    @cached_property
    def last_writes(self) -> Mapping[str, Step]:
        """Path of a state -> the last step that writes it."""
        return {s.attributes["state"]: s for s in self.steps if s.kind == "state_write"}

    @cached_property
    def writes(self) -> Mapping[str, int]:
        """Path of a state -> how many steps write it."""
        return Counter(s.attributes["state"] for s in self.steps if s.kind == "state_write")

    @cached_property
    def calls_by_start(self) -> Mapping[int, tuple[Call, ...]]:
        """Position of a step -> the calls that start there, outer ones first."""
        found: dict[int, list[Call]] = {}
        for call in self.calls:
            found.setdefault(call.start, []).append(call)
        return {start: tuple(calls) for start, calls in found.items()}

    def to_json(self) -> dict[str, Any]:
        """The graph as plain dictionaries and lists, as docs/linnet/graph-format.md says."""
        from linnet.graph.json import graph_to_json

        return graph_to_json(self)

    @staticmethod
    def from_json(document: Mapping[str, Any]) -> Graph:
        """Reads what `to_json` wrote; ValueError names what is wrong with the document."""
        from linnet.graph.json import graph_from_json

        return graph_from_json(document)


def leaves(tree: Tree) -> Iterator[int]:
    """The value numbers of a tree, in order."""
    if tree is None:
        return
    if isinstance(tree, int):
        yield tree
    elif isinstance(tree, Mapping):
        for part in tree.values():
            yield from leaves(part)
    else:
        for part in tree:
            yield from leaves(part)
