"""Compares a back end with the generated source, region by region."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from linnet.backends import Backend, Options, Region
from linnet.torch.interpret import interpret_values
from linnet.torch.module import Inputs, LinnetModule
from linnet.torch.planned.context import PlanContext
from linnet.torch.planned.engine import Engine
from linnet.torch.planned.items import RegionItem, portion_of
from linnet.torch.planned.proposals import compile_regions, describe_failure, propose
from linnet.torch.planned.target import target_for


@dataclass(frozen=True)
class Finding:
    """How a region came out: by the back end and by the generated source, on equal inputs.

    `difference` is the largest difference of two elements, divided by the larger of 1 and the
    generated one's size; infinite where one side has a NaN or an infinity that the other has not.
    None where the region was not compared (`note` says why) or failed (`error` says how).
    """

    region: Region | None
    difference: float | None
    passed: bool
    error: str | None = None
    note: str | None = None
    inputs: str = "given"


def conform(
    model: LinnetModule,
    entry: str,
    inputs: Inputs,
    backend: Backend,
    tolerance: float = 0.01,
    stress: bool = False,
) -> list[Finding]:
    """`LinnetModule.conform`, which has the contract."""
    graph = model.graph_for(entry, inputs)
    tensors = model.bind(graph, inputs)
    target = target_for(model.device)
    proposals, refusals = propose(graph, [backend], target)
    findings = [
        Finding(refusal.region, None, False, error=refusal.reason)
        for refusal in refusals
        if not refusal.reason.startswith("declines ")
    ]
    states = {s.path: model.tensor(s.path).clone() for s in graph.states}
    wanted = {number for p in proposals for number in p.region.inputs}
    parameters = {p.path: model.tensor(p.path) for p in graph.parameters}
    with torch.no_grad():
        values = interpret_values(graph, tensors, parameters, states, model.device, wanted)
        for proposal in proposals:
            region = proposal.region
            (executable,) = compile_regions(backend, [region], target, Options())
            if isinstance(executable, str):
                findings.append(Finding(region, None, False, error=executable))
                continue
            item = RegionItem(region, backend, executable)
            given = [values[number] for number in region.inputs]
            sets = [("given", given, states)]
            if stress and not region.states_written:
                sets += [(label, odd, states) for label, odd in _adversarial(given)]
                sets += _unused(model, item, given, states)
            for label, chosen, contents in sets:
                findings.append(_compare(model, item, chosen, contents, tolerance, label))
    return findings


def _compare(
    model: LinnetModule,
    item: RegionItem,
    given: Sequence[Tensor],
    states: dict[str, Tensor],
    tolerance: float,
    label: str,
) -> Finding:
    region = item.region
    context = PlanContext(model, [item], {path: t.clone() for path, t in states.items()})
    engine = Engine(region.graph, [item])
    nothing = [None] * len(region.outputs)
    # The back end gets its own copies: one that writes its inputs must not spoil the reference.
    copies = [tensor.clone() for tensor in given]
    try:
        context.prepare()
        made = engine.execute(item, copies, nothing, context)
    except Exception as error:
        return Finding(region, None, False, error=describe_failure(error), inputs=label)
    if any(not _same(a, b) for a, b in zip(copies, given, strict=True)):
        return Finding(region, None, False, error="execute changed one of its inputs", inputs=label)
    if region.states_written:
        return Finding(region, None, True, note="writes state: ran once, not compared")
    runner = model.slice_runner(region.graph, portion_of(region.graph, region.steps), None)
    expected, _ = runner.run(given, context.parameters.__getitem__)
    pairs = zip(made, expected, strict=True)
    difference = max((largest_difference(a, b) for a, b in pairs), default=0.0)
    return Finding(region, difference, difference <= tolerance, inputs=label)


def largest_difference(made: Tensor, expected: Tensor) -> float:
    """The largest difference of two elements, relative to the expected one where that exceeds 1;
    infinite where only one of the two is NaN, or they are infinities of which one is not there.
    """
    if made.numel() == 0:
        return 0.0
    a, b = made.double(), expected.double()
    odd = a.isfinite().logical_not() | b.isfinite().logical_not()
    alike = (a == b) | (a.isnan() & b.isnan())
    if bool((odd & ~alike).any()):
        return math.inf
    distance = torch.where(alike, torch.zeros_like(a), (a - b).abs() / b.abs().clamp(min=1.0))
    return float(distance.max())


def _same(one: Tensor, other: Tensor) -> bool:
    return bool(((one == other) | ((one != one) & (other != other))).all())


def _unused(
    model: LinnetModule, item: RegionItem, given: Sequence[Tensor], states: dict[str, Tensor]
) -> list[tuple[str, list[Tensor], dict[str, Tensor]]]:
    """The inputs and states with NaN where the generated source does not look: in the last slice
    along an axis (a cache past its length), if that leaves its results as they are.
    """
    region = item.region
    runner = model.slice_runner(region.graph, portion_of(region.graph, region.steps), None)
    tensors = dict(enumerate(given)) | {path: states[path] for path in region.states_read}

    def run(content: dict[int | str, Tensor]) -> list[Tensor]:
        context = PlanContext(model, [], {**states, **_paths(content)})
        inputs = [content[n] for n in range(len(given))]
        return runner.run(inputs, context.parameters.__getitem__)[0]

    expected = run(tensors)
    found = []
    for key, tensor in tensors.items():
        name = f"input {key}" if isinstance(key, int) else f"state {key}"
        for axis in range(tensor.dim() if tensor.is_floating_point() and tensor.numel() else 0):
            spoiled = tensor.clone()
            spoiled.select(axis, -1).fill_(math.nan)
            content = {**tensors, key: spoiled}
            if all(torch.equal(a, b) for a, b in zip(run(content), expected, strict=True)):
                inputs = [content[n] for n in range(len(given))]
                label = f"NaN in unused places of {name}, axis {axis}"
                found.append((label, inputs, {**states, **_paths(content)}))
    return found


def _paths(content: dict[int | str, Tensor]) -> dict[str, Tensor]:
    return {key: tensor for key, tensor in content.items() if isinstance(key, str)}


def _adversarial(given: Sequence[Tensor]) -> list[tuple[str, list[Tensor]]]:
    """Large values, negative zeros and tiny values in place of the floating inputs."""
    sets = []
    for label, scale, constant in (("large", 1e4, None), ("tiny", 1e-30, None), ("-0.0", 0, -0.0)):
        changed = [
            tensor
            if not tensor.is_floating_point()
            else torch.full_like(tensor, constant)
            if constant is not None
            else tensor * scale
            for tensor in given
        ]
        sets.append((label, changed))
    return sets
