"""Writes steps of a graph as PyTorch source.

The text is a function of the graph and the options alone: equal graphs give equal bytes.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from linnet.graph import Body, Call, Graph, SourceSpan, Step
from linnet.graph.model import Tree
from linnet.torch.cache_writes import Bound, position_bounds
from linnet.torch.expressions import (
    dtype_name,
    expression,
    linear,
    literal,
    takes_number,
    tensor_literal,
)
from linnet.torch.library_calls import library_call
from linnet.torch.stages import Division, Joins, Portion, Unit, divide

INDENT = "    "


@dataclass(frozen=True)
class Source:
    """Generated source and what its functions take.

    `parameters`: paths, in the order of `main`'s argument; `prepare_parameters` likewise for
    `prepare`. `joined` are groups of paths that are passed as one tensor each, after the plain
    ones. `states` are the paths that `main` reads, `written` those whose new content it returns
    after the results, `in_place` those that it writes itself.
    """

    text: str
    parameters: tuple[str, ...]
    prepare_parameters: tuple[str, ...]
    joined: tuple[tuple[str, ...], ...]
    states: tuple[str, ...]
    written: tuple[str, ...]
    in_place: tuple[str, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def emit(
    graph: Graph,
    portion: Portion | None = None,
    *,
    numerics: str = "fast",
    fold_weights: bool = True,
    joins: Joins | None = None,
    shared: bool = False,
    in_place: bool = False,
) -> Source:
    """Source for a portion of a graph (all of it by default).

    With `shared`, values are numbered from 0 and no path is written, so that portions which
    compute the same (a part of each layer) have one text, and are compiled once.

    The text defines `constants(device)`, `prepare(parameters, constants)` and `main(inputs,
    parameters, states, constants, prepared, device)`. `main` returns its outputs, then the new
    content of each state that it writes. With `in_place` it writes caches in place instead, where
    nothing after the write can fail, so that a call which fails leaves them as they were.
    """
    if portion is None:
        portion = Portion.whole(graph)
    division = divide(graph, portion, numerics, fold_weights, joins, in_place)
    return _Emitter(graph, portion, division, numerics, shared, not fold_weights).source()


class _Emitter:
    def __init__(
        self,
        graph: Graph,
        portion: Portion,
        division: Division,
        numerics: str,
        shared: bool,
        training: bool,
    ) -> None:
        self.training = training
        #: Value number -> number in names; None where names carry the graph's own numbers.
        self.renumbered: dict[int, int] | None = {} if shared else None
        self.graph = graph
        self.portion = portion
        self.division = division
        self.numerics = numerics
        self.paths = graph.parameter_paths
        self.states = graph.state_paths
        self.made = {n: u.stage for u in division.units for n in u.results}
        #: Literals that some line needs as a tensor. `shared` are those that `constants` hands on.
        self.literals: dict[int, None] = {}
        self.shared: tuple[int, ...] = ()
        self.in_place = tuple(u.state for u in division.units if u.state is not None)
        self.returned = (*portion.outputs, *(number for _, number in division.written))

    def name(self, number: int) -> str:
        number = self.division.same.get(number, number)
        value = self.graph.values[number]
        path = self.paths.get(number) or self.states.get(number) or value.name
        if self.renumbered is not None:
            path = path.rsplit(".", 1)[-1]
        base = re.sub(r"\W", "_", path)
        plain = base.isascii() and base.isidentifier() and not keyword.iskeyword(base)
        return f"{base}_{self.place(number)}" if plain else f"v{self.place(number)}"

    def place(self, number: int) -> int:
        """The number that a value's name ends in."""
        if self.renumbered is None:
            return number
        return self.renumbered.setdefault(number, len(self.renumbered))

    def tensor(self, number: int) -> str:
        """The name of a value where a tensor is needed."""
        if self.graph.values[number].origin == "constant":
            self.literals.setdefault(number)
            return f"k{self.place(number)}"
        return self.name(number)

    def number(self, number: int) -> str:
        """A constant as a Python number, anything else by name."""
        value = self.graph.values[number]
        known = self.graph.literal(number)
        return literal(known, value.dtype) if known is not None else self.tensor(number)

    # --- the parts of the text ---

    def source(self) -> Source:
        # Writing the lines finds the literals; then all three functions agree on them.
        self.main()
        self.prepare()
        self.shared = tuple(sorted(self.literals))
        main = self.main()
        prepare = self.prepare()
        constants = self.constants()
        joined = tuple(self.group(unit) for unit in self.division.of("main") if unit.siblings)
        header = self.header(joined)
        text = "\n".join([*header, "", "", *constants, "", "", *prepare, "", "", *main, ""])
        return Source(
            text,
            tuple(self.paths[n] for n in self.parameters("main")),
            tuple(self.paths[n] for n in self.parameters("prepare")),
            joined,
            tuple(self.states[n] for n in self.state_reads()),
            tuple(path for path, _ in self.division.written),
            self.in_place,
            self.portion.inputs,
            self.portion.outputs,
        )

    def header(self, joined: Sequence[tuple[str, ...]]) -> list[str]:
        graph = self.graph
        title = f"{graph.module}, entry {graph.entry}"
        bound = ", ".join(
            f"{k} = {v}" for k, v in {**graph.generics, **graph.entry_generics}.items()
        )
        head = [
            f'"""{title}{f", with {bound}" if bound else ""}. Generated by Linnet; do not edit."""',
            "",
            "import torch",
            "from torch.nn import functional",
            "",
            "from linnet.torch import interpret, operations",
        ]
        if self.renumbered is not None:
            return head
        return [
            *head,
            "",
            *_listed("PARAMETERS", [self.paths[n] for n in self.parameters("main")]),
            *_listed("PREPARED_FROM", [self.paths[n] for n in self.parameters("prepare")]),
            *_listed("JOINED", joined),
            *_listed("STATES", [self.states[n] for n in self.state_reads()]),
            *_listed("STATE_RESULTS", [path for path, _ in self.division.written]),
            *_listed("STATES_WRITTEN_IN_PLACE", self.in_place),
            *_listed("INPUTS", [self.name(n) for n in self.portion.inputs]),
            *_listed("RESULTS", [self.name(n) for n in self.portion.outputs]),
            *_listed("CONSTANTS", [self.tensor(n) for n in self.constant_exports()]),
        ]

    def constants(self) -> list[str]:
        lines = ["def constants(device):"]
        body: list[str] = []
        for unit in self.division.of("constants"):
            body += self.unit(unit, "constants")
        made = [
            f"k{self.place(n)} = {tensor_literal(self.known(n), self.graph.values[n].dtype)}"
            for n in sorted(self.literals)
        ]
        exports = [self.tensor(n) for n in self.constant_exports()]
        return [*lines, *_indented([*made, *body, f"return {_tuple(exports)}"])]

    def prepare(self) -> list[str]:
        body = _unpacked("parameters", [self.name(n) for n in self.parameters("prepare")])
        units = self.division.of("prepare")
        if units:
            body += _unpacked("constants", [self.tensor(n) for n in self.constant_exports()])
        for unit in units:
            body += self.unit(unit, "prepare")
        body.append(f"return {_tuple([self.name(n) for n in self.prepared_exports()])}")
        return ["def prepare(parameters, constants):", *_indented(body)]

    def main(self) -> list[str]:
        units = self.division.of("main")
        lines: list[list[str]] = [self.unit(unit, "main") for unit in units]
        returned = [self.tensor(n) for n in self.returned]
        joined = [self.joined_name(unit) for unit in units if unit.siblings]
        body = _unpacked("inputs", [self.name(n) for n in self.portion.inputs])
        body += _unpacked("parameters", [*map(self.name, self.parameters("main")), *joined])
        body += _unpacked("states", [self.name(n) for n in self.state_reads()])
        body += _unpacked("constants", [self.tensor(n) for n in self.constant_exports()])
        body += _unpacked("prepared", [self.name(n) for n in self.prepared_exports()])
        body += [self.check(bound) for bound in self.division.checks]
        keep = set(self.returned)
        last = {n: k for k, unit in enumerate(units) for n in (*unit.reads, *unit.results)}
        span: SourceSpan | None = None
        for k, (unit, text) in enumerate(zip(units, lines, strict=True)):
            if unit.span is not None and _place(unit.span) != _place(span):
                span = unit.span
                body.append(f"# {_place(span)}")
            body += [self.check(bound) for bound in unit.checks]
            body += text
            mortal = [
                n
                for n in dict.fromkeys((*unit.reads, *unit.results))
                if last[n] == k and n not in keep and self.mortal(n)
            ]
            if mortal:
                body.append(f"del {', '.join(map(self.name, mortal))}")
        body.append(f"return {_tuple(returned)}")
        arguments = "inputs, parameters, states, constants, prepared, device"
        return [f"def main({arguments}):", *_indented(body)]

    # --- what crosses between the functions ---

    def known(self, number: int) -> bool | int | float:
        found = self.graph.literal(number)
        assert found is not None
        return found

    def mortal(self, number: int) -> bool:
        return self.made.get(number) == "main" or number in self.portion.inputs

    def reads(self, stage: str) -> list[int]:
        """Values that a stage takes from outside it, in order of first use."""
        units = [unit for unit in self.division.units if unit.stage == stage]
        seen = dict.fromkeys(n for unit in units for n in self.needed(unit))
        if stage == "main":
            seen.update(dict.fromkeys(self.returned))
        return [n for n in seen if self.made.get(n) != stage]

    def needed(self, unit: Unit) -> tuple[int, ...]:
        return unit.reads[:1] if unit.siblings else unit.reads

    def parameters(self, stage: str) -> list[int]:
        return [n for n in self.reads(stage) if n in self.paths and n not in self.made]

    def state_reads(self) -> list[int]:
        return [n for n in self.reads("main") if n in self.states]

    def constant_exports(self) -> list[int]:
        computed = dict.fromkeys([*self.reads("main"), *self.reads("prepare")])
        made = [n for n in computed if self.made.get(n) == "constants"]
        return [*sorted(made), *self.shared]

    def prepared_exports(self) -> list[int]:
        return [n for n in self.reads("main") if self.made.get(n) == "prepare"]

    def group(self, unit: Unit) -> tuple[str, ...]:
        return tuple(self.paths[n] for n in unit.reads[1:])

    def joined_name(self, unit: Unit) -> str:
        return "joined_" + "_".join(str(self.place(n)) for n in unit.reads[1:])

    # --- lines ---

    def check(self, bound: Bound) -> str:
        what = self.graph.values[bound.value].name or "a position"
        name = self.tensor(bound.value)
        return f'operations.check_positions("{what}", {name}, {bound.greatest})'

    def write(self, call: Call) -> list[str]:
        """A write to a cache in place; the result is the cache."""
        cache, v = (self.tensor(_only(call.argument(name))) for name in ("cache", "v"))
        where = _only(call.argument("slot" if call.callee.endswith("write_slot") else "at"))
        result, at = self.name(call.results[0]), self.tensor(where)
        positions = f"{at}.to(torch.int64)" if self.graph.values[where].dtype != "i64" else at
        batch = self.graph.values[call.results[0]].shape[0]
        if call.callee.endswith("write_slot"):
            return [f"{result} = {cache}.index_copy_(0, {positions}.reshape(1), {v})"]
        if call.callee.endswith("write_at"):
            return [f"{result} = {cache}.index_copy_(2, {positions}.reshape(1), {v})"]
        if call.callee.endswith("write_rows"):
            if batch == 1:
                return [f"{result} = {cache}.index_copy_(2, {positions}, {v})"]
            return [f"{result} = operations.write_rows_({cache}, {positions}, {v})"]
        count = self.graph.values[_only(call.argument("v"))].shape[2]
        start = self.graph.literal(where)
        if start is not None:
            return [f"{cache}[:, :, {start}:{int(start) + count}] = {v}", f"{result} = {cache}"]
        return [f"{result} = operations.write_span_({cache}, {positions}, {v})"]

    def unit(self, unit: Unit, stage: str) -> list[str]:
        if unit.siblings:
            widths = [self.graph.values[n].shape[-1] for n in unit.results]
            x = unit.reads[0]
            product = linear(self.graph.values[x], (self.tensor(x), self.joined_name(unit)))
            targets = ", ".join(self.name(n) for n in unit.results)
            return [f"{targets} = {product}.split({_tuple(map(str, widths))}, dim=-1)"]
        if unit.call is not None and unit.state is not None:
            return self.write(unit.call)
        if unit.call is not None and unit.replaced:
            return self.replaced(unit.call, self.graph.steps, self.graph.calls)
        if unit.call is not None:
            text = library_call(self.graph, unit.call, self.tensor, self.numerics)
            return [f"{self.name(unit.results[0])} = {text}"]
        assert unit.step is not None
        return self.step(unit.step, numbers=stage != "constants")

    def step(self, step: Step, numbers: bool = True) -> list[str]:
        if step.bodies:
            return self.control(step)

        def named(number: int) -> str:
            if not numbers or not takes_number(self.graph, step, number):
                return self.tensor(number)
            return self.number(number)

        return [f"{self.name(step.results[0])} = {expression(self.graph, step, named)}"]

    def control(self, step: Step) -> list[str]:
        results = [self.name(n) for n in step.results]
        operands = [self.tensor(n) for n in step.operands]
        if step.kind == "if":
            lines = []
            for head, body in zip((f"if {operands[0]}:", "else:"), step.bodies, strict=True):
                outputs = [self.tensor(n) for n in body.outputs]
                inner = [*self.block(body), *_assigned(results, outputs), *self.drop(body)]
                lines += [head, *_indented(inner or ["pass"])]
            return lines
        if step.kind == "while":
            return self.loop(step, results, operands)
        body = step.bodies[0]
        start, stop = step.attributes["start"], step.attributes["stop"]
        count = len(operands)
        counter, *carried = (self.name(n) for n in body.inputs)
        outputs = [self.tensor(n) for n in body.outputs]
        kept = [f"kept_{self.place(n)}" for n in step.results[count:]]
        inner = [
            f"{counter} = torch.tensor(index, dtype=torch.int64, device=device)",
            *self.block(body),
            *(f"{k}.append({v})" for k, v in zip(kept, outputs[count:], strict=True)),
            *_assigned(carried, outputs[:count]),
            *self.drop(body),
        ]
        stacked = []
        for name, k, number in zip(results[count:], kept, step.results[count:], strict=True):
            value = self.graph.values[number]
            shape = _tuple(map(str, value.shape))
            empty = f"torch.empty({shape}, dtype={dtype_name(value.dtype)}, device=device)"
            stacked.append(f"{name} = {f'torch.stack({k})' if stop > start else empty}")
            stacked.append(f"del {k}")
        return [
            *_assigned(carried, operands),
            *(f"{k} = []" for k in kept),
            f"for index in range({start}, {stop}):",
            *_indented(inner),
            *_assigned(results[:count], carried),
            *stacked,
        ]

    def loop(self, step: Step, results: list[str], operands: list[str]) -> list[str]:
        condition, advance = step.bodies
        test = [self.name(n) for n in condition.inputs]
        carried = [self.name(n) for n in advance.inputs]
        outputs = [self.tensor(n) for n in advance.outputs]
        inner = [
            *_assigned(test, results),
            *self.block(condition),
            f"if not {self.tensor(condition.outputs[0])}:",
            *_indented(["break"]),
            *_assigned(carried, results),
            *self.block(advance),
            *_assigned(results, outputs),
            *self.drop(advance),
        ]
        return [*_assigned(results, operands), "while True:", *_indented(inner)]

    def replaced(self, call: Call, steps: Sequence[Step], calls: Sequence[Call]) -> list[str]:
        """A call whose gradients its `grad` clause gives, by two functions."""
        gradient, (result,) = call.gradient, call.results
        assert gradient is not None
        name = self.name(result)
        inner = [
            line for n in range(call.start, call.stop) for line in self.checked(steps[n], calls)
        ]
        backward = ", ".join(self.name(n) for n in gradient.inputs)
        gradients = _tuple([self.tensor(n) for n in gradient.outputs])
        operands = ", ".join(self.tensor(n) for n in call.operands)
        return [
            f"def forward_{name}():",
            *_indented([*inner, f"return {name}"]),
            f"def backward_{name}({backward}):",
            *_indented([*self.block(gradient), f"return {gradients}"]),
            f"{name} = operations.with_gradient(forward_{name}, backward_{name}, {operands})",
        ]

    def replaced_in(self, body: Body) -> dict[int, Call]:
        """The outermost calls of a body, by start, whose gradients are replaced in training."""
        found: dict[int, Call] = {}
        done = 0
        for call in body.calls if self.training else ():
            if call.gradient is not None and call.stop > call.start >= done:
                found[call.start] = call
                done = call.stop
        return found

    def checked(self, step: Step, calls: Sequence[Call]) -> list[str]:
        """A step with the checks of the calls that start at it."""
        lines = []
        for call in calls:
            if call.start == step.index and call.stop > call.start:
                lines += [self.check(bound) for bound in position_bounds(self.graph, call)]
        return [*lines, *self.step(step)]

    def block(self, body: Body) -> list[str]:
        lines: list[str] = []
        replaced = self.replaced_in(body)
        done = 0
        for step in body.steps:
            if step.index in replaced:
                done = replaced[step.index].stop
                lines += self.replaced(replaced[step.index], body.steps, body.calls)
            elif step.index >= done:
                lines += self.checked(step, body.calls)
        return lines

    def drop(self, body: Body) -> list[str]:
        """Frees what a body made, so that a loop does not keep its last round's values."""
        hidden = {
            n
            for call in self.replaced_in(body).values()
            for step in body.steps[call.start : call.stop]
            for n in step.results
            if n not in call.results
        }
        made = [self.name(n) for s in body.steps for n in s.results if n not in hidden]
        return [f"del {', '.join(made)}"] if made else []


def _only(tree: Tree) -> int:
    """The number of an argument that is one tensor."""
    assert isinstance(tree, int)
    return tree


def _place(span: SourceSpan | None) -> str:
    return "" if span is None else f"{span.file.rsplit('/', 1)[-1]}:{span.line}"


def _assigned(targets: Sequence[str], values: Sequence[str]) -> list[str]:
    return [f"{', '.join(targets)} = {', '.join(values)}"] if targets else []


def _unpacked(source: str, names: Sequence[str]) -> list[str]:
    if len(names) < 2:
        return [f"({names[0]},) = {source}"] if names else []
    return ["(", *(f"{INDENT}{name}," for name in names), f") = {source}"]


def _tuple(items: Iterable[str]) -> str:
    parts = list(items)
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def _listed(name: str, items: Sequence[object]) -> list[str]:
    if not items:
        return [f"{name} = []"]
    return [f"{name} = [", *(f"{INDENT}{item!r}," for item in items), "]"]


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"{INDENT}{line}" for line in lines]
