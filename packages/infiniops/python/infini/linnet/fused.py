"""Regions that a few operators compute together, with less memory traffic or fewer launches than
the ops of the graph one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from infini.linnet.attention import cached_attention
from infini.linnet.products import Product, are_siblings, joined_launch, products_of
from infini.linnet.program import (
    FromJoined,
    FromPath,
    Launch,
    Program,
    Result,
    Temporary,
    Viewed,
)
from infini.linnet.single import Places
from infini.linnet.table import OPERATOR_DTYPES
from linnet.backends import ExecutableMeta, Region
from linnet.graph import Call, Graph, Step, fold

RMS_NORM = "std.nn.norm::rms_norm"
SWIGLU = "std.nn.mlp::swiglu"
SILU = "std.nn.activations::silu"


@dataclass(frozen=True)
class Fused:
    """A region, and how it is computed."""

    region: Region
    program: Program


def fused_regions(graph: Graph, operators: frozenset[str]) -> Iterator[Fused]:
    """Every fusion that the operators at hand allow; they may overlap."""
    for find in (_attention, _siblings, _gated, _gated_products, _sums_and_norms):
        for fused in find(graph, operators):
            if fused.region.problem is None:
                yield fused


# --- products of one input with several weights ---


def _siblings(graph: Graph, operators: frozenset[str]) -> Iterator[Fused]:
    """Products of one input, as one product with the weights laid side by side."""
    if "copy" not in operators:
        return
    inside = {n for call in graph.semantic_calls(SWIGLU) for n in range(call.start, call.stop)}
    groups: dict[tuple[str, int], list[Product]] = {}
    for product in products_of(graph, operators).values():
        if product.call.start not in inside:
            groups.setdefault((product.operator, product.x), []).append(product)
    for group in groups.values():
        group.sort(key=lambda product: product.call.start)
        if len(group) < 2 or not are_siblings(group):
            continue
        region = Region.of_steps(graph, [n for product in group for n in product.steps])
        if region.problem is None and region.outputs == tuple(one.result for one in group):
            yield Fused(region, _joined_program(graph, region, group))


def _joined_program(graph: Graph, region: Region, products: Sequence[Product]) -> Program:
    values = [graph.values[number] for number in region.outputs]
    columns = [value.shape[-1] for value in values]
    whole = Temporary(0, (*values[0].shape[:-1], sum(columns)), values[0].dtype)
    launches = [joined_launch(products, _viewed(graph, region, products[0].x), Viewed(whole))]
    start = 0
    for n, count in enumerate(columns):
        view = (*(slice(None),) * (len(whole.shape) - 1), slice(start, start + count))
        launches.append(
            Launch("copy", {"input": Viewed(whole, view)}, outputs={"out": Viewed(Result(n))})
        )
        start += count
    return Program(launches, [(v.shape, v.dtype) for v in values], _meta(region))


def _attention(graph: Graph, operators: frozenset[str]) -> Iterator[Fused]:
    """A new token's attention with its cache."""
    for region, program in cached_attention(graph, operators):
        yield Fused(region, program)


# --- gated feed-forward layers ---


def _gated(graph: Graph, operators: frozenset[str]) -> Iterator[Fused]:
    """A gated feed-forward: gate and up as one product, silu times up, and down."""
    if not {"linear", "silu_and_mul"} <= operators:
        return
    for call in graph.semantic_calls(SWIGLU):
        names = ("gate", "up", "down")
        paths = {path for name in names if (path := _weight(graph, call, name))}
        x, weight = call.argument("x"), call.argument("gate")
        biased = any(call.argument(f"{name}_bias") is not None for name in names)
        if biased or len(paths) < 3 or not isinstance(x, int) or not isinstance(weight, int):
            continue
        region = Region.of(graph, call.start, call.stop, call.index)
        if region.problem is not None or region.outputs != tuple(call.results):
            continue
        out, dtype = graph.values[call.results[0]], graph.values[call.results[0]].dtype
        inner = graph.values[weight].shape[0]
        gate, up, down = (_weight(graph, call, name) or "" for name in names)
        both = Temporary(0, (*out.shape[:-1], 2 * inner), dtype)
        opened = Temporary(1, (*out.shape[:-1], inner), dtype)
        launches = [
            Launch(
                "linear",
                {
                    "input": _viewed(graph, region, x),
                    "weight": Viewed(FromJoined((gate, up))),
                },
                outputs={"out": Viewed(both)},
            ),
            Launch("silu_and_mul", {"input": Viewed(both)}, outputs={"out": Viewed(opened)}),
            Launch(
                "linear",
                {"input": Viewed(opened), "weight": Viewed(FromPath(down))},
                outputs={"out": Viewed(Result(0))},
            ),
        ]
        yield Fused(region, Program(launches, [(out.shape, dtype)], _meta(region)))


def _gated_products(graph: Graph, operators: frozenset[str]) -> Iterator[Fused]:
    """silu of one product times another one of the same input, where no op stands for it: both as
    one product, and silu times.
    """
    if "silu_and_mul" not in operators:
        return
    inside = {n for call in graph.semantic_calls(SWIGLU) for n in range(call.start, call.stop)}
    products = products_of(graph, operators)
    opened = {call.results[0]: call for call in graph.semantic_calls(SILU)}
    for step in graph.steps:
        if step.kind != "mul" or step.index in inside or step.operands[0] not in opened:
            continue
        silu = opened[step.operands[0]]
        x = silu.argument("x")
        gate = products.get(x) if isinstance(x, int) else None
        up = products.get(step.operands[1])
        if gate is None or up is None or not are_siblings((gate, up)):
            continue
        value = graph.values[step.results[0]]
        if any(graph.values[one.result].shape != value.shape for one in (gate, up)):
            continue
        steps = {*gate.steps, *up.steps, *range(silu.start, silu.stop), step.index}
        region = Region.of_steps(graph, steps)
        if region.problem is not None or region.outputs != step.results:
            continue
        both = Temporary(0, (*value.shape[:-1], 2 * value.shape[-1]), value.dtype)
        launches = [
            joined_launch((gate, up), _viewed(graph, region, gate.x), Viewed(both)),
            Launch("silu_and_mul", {"input": Viewed(both)}, outputs={"out": Viewed(Result(0))}),
        ]
        yield Fused(region, Program(launches, [(value.shape, value.dtype)], _meta(region)))


# --- a sum and the norm of it ---


def _sums_and_norms(graph: Graph, operators: frozenset[str]) -> Iterator[Fused]:
    """A residual sum with the normalisation that reads it."""
    if "add_rms_norm" not in operators:
        return
    for call in graph.semantic_calls(RMS_NORM):
        x, eps = call.argument("x"), call.argument("eps")
        path = _weight(graph, call, "weight")
        if not isinstance(x, int) or not isinstance(eps, int) or path is None:
            continue
        step, epsilon = graph.producers.get(x), fold(graph, eps)
        if step is None or epsilon is None or not _plain_sum(graph, step):
            continue
        region = Region.of_steps(graph, [step.index, *range(call.start, call.stop)], call.index)
        if region.problem is not None or set(region.outputs) - {x, *call.results}:
            continue
        if call.results[0] not in region.outputs:
            continue
        summed = _where(graph, region, x)
        launches = [
            Launch(
                "add_rms_norm",
                {
                    "input": _viewed(graph, region, step.operands[0]),
                    "residual": _viewed(graph, region, step.operands[1]),
                    "weight": Viewed(FromPath(path)),
                },
                {"eps": epsilon},
                {"out": Viewed(Result(region.outputs.index(call.results[0]))), "sum": summed},
            )
        ]
        values = [graph.values[number] for number in region.outputs]
        yield Fused(region, Program(launches, [(v.shape, v.dtype) for v in values], _meta(region)))


def _plain_sum(graph: Graph, step: Step) -> bool:
    """Whether a step adds two tensors of one shape."""
    return step.kind == "add" and all(
        graph.values[number].shape == graph.values[step.results[0]].shape
        and graph.values[number].origin in ("input", "step")
        for number in step.operands
    )


def _where(graph: Graph, region: Region, number: int) -> Viewed:
    """Where a value that the region makes goes: to an output, or to memory of its own."""
    if number in region.outputs:
        return Viewed(Result(region.outputs.index(number)))
    value = graph.values[number]
    return Viewed(Temporary(0, value.shape, value.dtype))


# --- shared ---


def _weight(graph: Graph, call: Call, name: str) -> str | None:
    """The path of a parameter that is the argument `name`, of a dtype that InfiniOps has."""
    number = call.argument(name)
    found = next((p for p in graph.parameters if p.value == number and p.kind == "param"), None)
    return None if found is None or found.dtype not in OPERATOR_DTYPES else found.path


def _viewed(graph: Graph, region: Region, number: int) -> Viewed:
    place = Places(graph, region).of(number)
    assert place is not None
    return Viewed(place)


def _meta(region: Region) -> ExecutableMeta:
    return ExecutableMeta(region.states_read, region.states_written, requires=())
