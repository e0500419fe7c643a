"""States under plans: planning changes none, and a step that fails restores them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from linnet_helpers.runtime import Reference, do, model_of
from torch import Tensor

from linnet.backends import Context, ExecutableMeta, Options, Region, Requirement, Target
from linnet.backends.testing import GraphBuilder
from linnet.graph import Graph
from linnet.torch.planned import Captured
from linnet.torch.planned.replayed import ReplayedStep


def counting() -> Graph:
    """0: after = total + x; 1: write total; 2: y = after * w (a linear call); 3: row of y."""
    builder = GraphBuilder(entry="step")
    x, at = builder.input("x", (2, 4)), builder.input("at", (), "i64")
    total = builder.state("total", (2, 4))
    after = builder.step("add", total, x)
    builder.write("total", after)
    y = builder.linear(after, builder.parameter("w", (4, 4)))
    return builder.graph(builder.step("element", y, at, shape=(4,), axes=(0,)))


class Writer(Reference):
    """Takes the sum with its write to the state, and linear calls."""

    fails = False

    def match(self, graph: Graph, target: Target) -> Sequence[Region]:
        calls = graph.semantic_calls("std.nn.linear::linear")
        return [Region.of(graph, 0, 2)] + [Region.of(graph, c.start, c.stop) for c in calls]

    def compile(self, region: Region, target: Target, options: Options) -> Any:
        self.compiled.append(region)
        return Write(self, region) if region.states_written else Product(self, region)


class Write:
    def __init__(self, backend: Writer, region: Region) -> None:
        self.backend = backend
        self.meta = ExecutableMeta(region.states_read, region.states_written)

    def prepare(self, context: Context) -> None:
        pass

    def execute(self, inputs: Any, outputs: Any, context: Context) -> list[Tensor]:
        total = context.parameters["total"]
        self.backend.executed.append(self.backend.compiled[0])
        return [total.add_(inputs[0])]


class Product:
    def __init__(self, backend: Writer, region: Region) -> None:
        self.backend = backend
        self.path = region.parameters[0]
        self.meta = ExecutableMeta()

    def prepare(self, context: Context) -> None:
        pass

    def execute(self, inputs: Any, outputs: Any, context: Context) -> list[Tensor]:
        if self.backend.fails:
            raise RuntimeError("the kernel failed")
        return [torch.nn.functional.linear(inputs[0], context.parameters[self.path])]


def given(at: int = 1) -> list[Any]:
    return [torch.ones(2, 4), at]


@pytest.mark.parametrize("measure", [False, True])
def test_planning_and_conform_change_no_state(measure: bool) -> None:
    model = model_of(counting())
    model.tensor("total").fill_(3)
    backend = Writer(records=False)
    model.plan_for("step", given(), backends=[backend], measure=measure)
    model.conform("step", given(), backend)
    assert (model.tensor("total") == 3).all()


@pytest.mark.parametrize("captured", [False, True])
def test_a_region_that_writes_a_state_writes_it_once_a_step(captured: bool) -> None:
    model, other = model_of(counting()), model_of(counting(), compile=False)
    plan = model.plan_for("step", given(), backends=[Writer(records=False)], measure=False)
    assert [item.region.states_written for item in plan.regions] == [("total",), ()]
    context = model.context_for(plan)
    step = Captured(plan, context) if captured else lambda inputs: plan.run(inputs, context)
    for n in range(4):
        (made,) = step(given(n % 2))
        assert torch.allclose(made, other.step(*given(n % 2)), atol=1e-5)
    assert (model.tensor("total") == 4).all()


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("in_place", [False, True])
def test_a_step_that_fails_leaves_the_states_as_they_were(captured: bool, in_place: bool) -> None:
    model = model_of(counting())
    backend = Writer(records=False)
    backends = [backend] if in_place else []
    plan = model.plan_for("step", given(), backends=backends, measure=False)
    context = model.context_for(plan)
    step = Captured(plan, context) if captured else lambda inputs: plan.run(inputs, context)
    step(given())
    step(given())
    with pytest.raises(IndexError, match="position 2 is outside axis 0 of size 2"):
        step(given(2))
    assert (model.tensor("total") == 2).all()
    if in_place:
        backend.fails = True
        with pytest.raises(RuntimeError, match=r"back end reference, .*: the kernel failed"):
            step(given())
        assert (model.tensor("total") == 2).all()


def placing() -> Graph:
    """Steps 0 to 3 put x at place `at` of the state; step 4 doubles it."""
    builder = GraphBuilder(entry="step")
    x, at = builder.input("x", (1,)), builder.input("at", (1,), "i64")
    slots = builder.state("slots", (4,))
    hit = builder.step(
        "compare", builder.step("iota", shape=(4,), dtype="i64"), at, comparison="eq"
    )
    after = builder.step("select", hit, x, slots)
    builder.write("slots", after)
    return builder.graph(builder.step("add", after, after))


class Placer(Reference):
    """Takes the write in place and the sum after it, and records both."""

    requires: tuple[Requirement, ...] | None = None
    fails = False

    def match(self, graph: Graph, target: Target) -> Sequence[Region]:
        return [Region.of(graph, 0, 4), Region.of(graph, 4, 5)]

    def compile(self, region: Region, target: Target, options: Options) -> Any:
        return Place(self, region) if region.states_written else Double(self)


class Place:
    def __init__(self, backend: Placer, region: Region) -> None:
        self.meta = ExecutableMeta((), region.states_written, requires=backend.requires)

    def prepare(self, context: Context) -> None:
        pass

    def execute(self, inputs: Any, outputs: Any, context: Context) -> list[Tensor]:
        at, x = sorted(inputs, key=lambda tensor: tensor.dtype == torch.float32)
        slots = context.parameters["slots"]

        def write() -> None:
            slots[int(at)] = x[0]

        do(write)
        return [slots]


class Double:
    def __init__(self, backend: Placer) -> None:
        self.backend = backend
        self.meta = ExecutableMeta(requires=backend.requires and ())

    def prepare(self, context: Context) -> None:
        pass

    def execute(self, inputs: Any, outputs: Any, context: Context) -> list[Tensor]:
        out = torch.empty(4) if outputs[0] is None else outputs[0]

        def double() -> None:
            if self.backend.fails:
                raise RuntimeError("the kernel failed")
            torch.add(inputs[0], inputs[0], out=out)

        do(double)
        return [out]


def placed(requires: tuple[Requirement, ...] | None) -> tuple[Any, Placer, Captured]:
    model = model_of(placing())
    backend = Placer()
    backend.requires = requires
    given = [torch.ones(1), torch.tensor([0])]
    plan = model.plan_for("step", given, backends=[backend], measure=False)
    step = Captured(plan, model.context_for(plan))
    for n in range(3):
        (made,) = step([torch.full((1,), n + 1.0), torch.tensor([n])])
    assert made.tolist() == [2, 4, 6, 0]
    assert step.report().unrecorded == ()
    return model, backend, step


# `compare` reads `at` before `select` reads x.
AT_IN_BOUNDS = (Requirement(input=0, least=0, greatest=3),)


def test_what_a_region_requires_is_checked_before_a_replay() -> None:
    model, _, step = placed(AT_IN_BOUNDS)
    before = model.tensor("slots").clone()
    for wrong in (-1, 4):
        message = f"step: input `at`: expected values from 0 to 3 .*, got {wrong}"
        with pytest.raises(IndexError, match=message):
            step([torch.ones(1), torch.tensor([wrong])])
        assert torch.equal(model.tensor("slots"), before)


def backed_up(step: Captured) -> tuple[str, ...]:
    assert isinstance(step._step, ReplayedStep)
    return step._step.recording.backed_up


def test_a_step_that_cannot_fail_copies_no_state() -> None:
    _, _, step = placed(AT_IN_BOUNDS)
    assert backed_up(step) == ()
    _, _, careful = placed(None)
    assert backed_up(careful) == ("slots",)


def test_a_step_that_may_fail_puts_written_states_back() -> None:
    model, backend, step = placed(None)
    before = model.tensor("slots").clone()
    backend.fails = True
    with pytest.raises(RuntimeError, match="the kernel failed"):
        step([torch.ones(1), torch.tensor([3])])
    assert torch.equal(model.tensor("slots"), before)


def test_a_recorded_region_that_writes_a_state_is_timed_on_a_copy() -> None:
    model = model_of(placing())
    given = [torch.ones(1), torch.tensor([0])]
    plan = model.plan_for("step", given, backends=[Placer()])
    assert [r.reason for r in plan.refusals if "failed" in r.reason] == []
    assert not model.tensor("slots").any()


def refused(make: Any) -> str:
    builder = GraphBuilder(entry="step")
    graph = make(builder)

    class All(Reference):
        def match(self, graph: Graph, target: Target) -> Sequence[Region]:
            return [Region.of(graph, 0, 2)]

    plan = model_of(graph).plan_for("step", [torch.ones(2)], backends=[All()], measure=False)
    assert plan.regions == ()
    return plan.refusals[0].reason


def test_a_state_written_twice_is_not_written_by_a_region() -> None:
    def make(builder: GraphBuilder) -> Graph:
        x, s = builder.input("x", (2,)), builder.state("s", (2,))
        builder.write("s", builder.step("add", x, s))
        builder.write("s", builder.step("neg", x))
        return builder.graph(None)

    assert "is written 2 times, and the region holds only one" in refused(make)


def test_a_state_whose_old_content_is_read_later_is_not_written_in_place() -> None:
    def make(builder: GraphBuilder) -> Graph:
        x, s = builder.input("x", (2,)), builder.state("s", (2,))
        builder.write("s", builder.step("add", x, s))
        return builder.graph(builder.step("mul", s, s))

    assert "whose content from before step 2 reads later" in refused(make)


def test_a_state_whose_old_content_is_the_result_is_not_written_in_place() -> None:
    def make(builder: GraphBuilder) -> Graph:
        x, s = builder.input("x", (2,)), builder.state("s", (2,))
        builder.write("s", builder.step("add", x, s))
        return builder.graph(s)

    assert "whose content from before the result reads later" in refused(make)
