"""Plans: what is measured and chosen, and how a plan runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from linnet_helpers.runtime import Reference, close, inputs, model_of
from torch import Tensor

from linnet.backends import (
    Capabilities,
    Context,
    Cost,
    ExecutableMeta,
    Options,
    Region,
    Target,
)
from linnet.backends.store import BenchmarkStore, Timing
from linnet.backends.testing import two_layer_graph
from linnet.graph import Graph
from linnet.torch import LinnetModule, load
from linnet.torch.planned import planner as planner_module
from linnet.torch.planned.items import RegionItem


def times(monkeypatch: pytest.MonkeyPatch, *pairs: tuple[float, float]) -> list[int]:
    """Gives these (back end, generated) seconds in turn instead of measuring; the last repeats.
    Returns a list that grows by one for each.
    """
    asked: list[int] = []

    def given(*args: Any) -> tuple[float, float]:
        asked.append(1)
        return pairs[min(len(asked), len(pairs)) - 1]

    monkeypatch.setattr(planner_module, "time_pair", given)
    return asked


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_a_planned_step_equals_the_interpreted_one(joined: bool, dtype: str) -> None:
    graph = two_layer_graph(dtype=dtype, joined=joined)
    model = model_of(graph)
    (x,) = inputs()
    x = x.to(torch.bfloat16) if dtype == "bf16" else x
    plan = model.plan_for("forward", [x], backends=[Reference()], measure=False)
    (made,) = plan.run([x], model.context_for(plan))
    expected = model.run_entry("forward", [x], compile=False)
    tolerance = 1e-5 if dtype == "f32" else 0.05
    assert torch.allclose(made, expected, rtol=tolerance, atol=10 * tolerance)
    assert len(plan.regions) == (12 if joined else 8)
    assert plan.slices == ()


def test_steps_that_no_back_end_takes_run_as_slices_between() -> None:
    class OnlyLinear(Reference):
        def match(self, graph: Graph, target: Target) -> Sequence[Region]:
            calls = graph.semantic_calls("std.nn.linear::linear")
            return [Region.of(graph, c.start, c.stop, c.index) for c in calls]

    model = model_of(two_layer_graph())
    plan = model.plan_for("forward", inputs(), backends=[OnlyLinear()], measure=False)
    (made,) = plan.run(inputs(), model.context_for(plan))
    assert close(made, model.run_entry("forward", inputs(), compile=False))
    kinds = "".join("R" if isinstance(item, RegionItem) else "s" for item in plan.items)
    assert kinds == "sRRsRRs"


STACK = """module stack
use std.nn.linear::{Linear}

block Layer<H: Dim> {
    param gain: Tensor[H; f32]
    sub proj: Linear<H, H, f32>
    pub fn forward<B: Dim>(x: Tensor[B, H; f32]) -> Tensor[B, H; f32] {
        return tanh(proj.forward(x)) * gain
    }
}

pub block Model<H: Dim> {
    sub layers: [Layer<H>; 4]
    pub entry forward<B: Dim>(x: Tensor[B, H; f32]) -> Tensor[B, H; f32] {
        var y = x
        static for layer in layers {
            y = layer.forward(y)
        }
        return y
    }
}
"""


def test_slices_of_one_kind_share_one_source_and_one_compilation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class OnlyLinear(Reference):
        def match(self, graph: Graph, target: Target) -> Sequence[Region]:
            calls = graph.semantic_calls("std.nn.linear::linear")
            return [Region.of(graph, c.start, c.stop, c.index) for c in calls]

    compiled: list[str] = []

    def compile_once(main: Any, backend: str, dynamic: bool) -> Any:
        compiled.append(backend)
        return main

    monkeypatch.setattr(torch, "compile", compile_once)
    weights = {f"layers.{n}.gain": torch.randn(8) for n in range(4)}
    weights |= {f"layers.{n}.proj.weight": torch.randn(8, 8) for n in range(4)}
    model = load(STACK, generics={"H": 8}, weights=weights)
    plan = model.plan_for(
        "forward", inputs(), backends=[OnlyLinear()], compile="named", measure=False
    )
    assert len(plan.slices) == 4
    assert len({item.runner.source.text for item in plan.slices}) == 1
    assert compiled == ["named"]
    (made,) = plan.run(inputs(), model.context_for(plan))
    assert close(made, model.run_entry("forward", inputs(), compile=False))


def test_a_region_must_save_the_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of(two_layer_graph())
    for backend_time, taken in ((0.97e-6, True), (0.985e-6, False), (1.5e-6, False)):
        times(monkeypatch, (backend_time, 1e-6))
        version = str(backend_time)
        plan = model.plan_for("forward", inputs(), backends=[Reference(version=version)])
        assert bool(plan.regions) == taken
        if not taken:
            assert "saves less than 2%" in plan.refusals[0].reason
    times(monkeypatch, (0.985e-6, 1e-6))
    lenient = model.plan_for(
        "forward", inputs(), backends=[Reference(version="4")], options=Options(margin=0.01)
    )
    assert lenient.regions


def test_each_kind_is_timed_once_and_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of(two_layer_graph())
    asked = times(monkeypatch, (1e-6, 2e-6))
    model.plan_for("forward", inputs(), backends=[Reference()])
    assert len(asked) == 5  # rms_norm, up, down, the sum, and the whole plan
    plan = model.plan_for("forward", inputs(), backends=[Reference()])
    assert len(asked) == 5
    assert plan.times.planned == 1e-6  # as it was measured then
    model.plan_for("forward", inputs(), backends=[Reference(version="2")])
    assert len(asked) == 10


def test_without_measuring_nothing_is_timed_or_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = times(monkeypatch, (1e-6, 2e-6))
    model = model_of(two_layer_graph())
    plan = model.plan_for("forward", inputs(), backends=[Reference()], measure=False)
    assert plan.regions
    assert asked == []
    assert len(BenchmarkStore()) == 0


def test_measured_times_are_kept_and_positive() -> None:
    model = model_of(two_layer_graph())
    plan = model.plan_for("forward", inputs(), backends=[Reference()])
    store = BenchmarkStore()
    assert len(store) == 5  # four kinds, and the plan
    assert plan.times.planned is not None
    assert plan.times.planned > 0


def test_the_plan_as_a_whole_must_not_be_slower(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of(two_layer_graph())
    times(monkeypatch, *[(1e-6, 2e-6)] * 4, (9e-6, 5e-6))
    plan = model.plan_for("forward", inputs(), backends=[Reference()])
    assert plan.regions == ()
    assert plan.times.planned == plan.times.generated == 5e-6
    assert "the whole plan took 9.0 us, all generated source 5.0 us" in plan.refusals[-1].reason
    # The next plan is made from stored times, and decides alike.
    again = model.plan_for("forward", inputs(), backends=[Reference()])
    assert again.regions == ()
    assert again.times == plan.times


class Overlapping(Reference):
    """Offers each linear call alone, and up with down of each layer as one region."""

    def match(self, graph: Graph, target: Target) -> Sequence[Region]:
        calls = graph.semantic_calls("std.nn.linear::linear")
        both = [
            Region.of(graph, a.start, b.stop) for a, b in zip(calls[::2], calls[1::2], strict=True)
        ]
        return [Region.of(graph, c.start, c.stop, c.index) for c in calls] + both

    def compile(self, region: Region, target: Target, options: Options) -> Any:
        return Pair(region)


class Pair:
    def __init__(self, region: Region) -> None:
        self.region = region
        self.meta = ExecutableMeta(holds=100 * len(region.steps))

    def prepare(self, context: Context) -> None:
        pass

    def execute(self, given: Any, outputs: Any, context: Context) -> list[Tensor]:
        y = given[0]
        for path in self.region.parameters:
            y = torch.nn.functional.linear(y, context.parameters[path])
        return [y]


@pytest.mark.parametrize(
    ("pairs", "steps"),
    [
        # up, down, both: alone they save 1 each, together 3.
        ([(9e-6, 10e-6), (9e-6, 10e-6), (17e-6, 20e-6), (1e-6, 2e-6)], {2}),
        ([(7e-6, 10e-6), (9e-6, 10e-6), (18e-6, 20e-6), (1e-6, 2e-6)], {1}),
    ],
)
def test_the_greatest_saving_goes_first_and_overlaps_never_run(
    monkeypatch: pytest.MonkeyPatch, pairs: list[tuple[float, float]], steps: set[int]
) -> None:
    model = model_of(two_layer_graph())
    times(monkeypatch, *pairs)
    plan = model.plan_for("forward", inputs(), backends=[Overlapping(records=False)])
    assert {len(item.region.steps) for item in plan.regions} == steps
    assert any(r.reason.endswith("runs and that saves more") for r in plan.refusals)
    (made,) = plan.run(inputs(), model.context_for(plan))
    assert close(made, model.run_entry("forward", inputs(), compile=False))


def test_exact_selection_finds_what_greedy_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    # Greedy takes the pair, which saves 3; the two alone save 2 each.
    pairs = [(8e-6, 10e-6), (8e-6, 10e-6), (17e-6, 20e-6), (1e-6, 2e-6)]
    model = model_of(two_layer_graph())
    times(monkeypatch, *pairs)
    greedy = model.plan_for("forward", inputs(), backends=[Overlapping(records=False)])
    assert {len(item.region.steps) for item in greedy.regions} == {2}
    assert greedy.times.other_selection == pytest.approx(8e-6)
    exact = model.plan_for(
        "forward",
        inputs(),
        backends=[Overlapping(records=False)],
        options=Options(selection="exact"),
    )
    assert {len(item.region.steps) for item in exact.regions} == {1}
    assert exact.times.other_selection == pytest.approx(6e-6)


def test_without_measuring_the_largest_regions_go_first() -> None:
    model = model_of(two_layer_graph())
    backends = [Overlapping(records=False)]
    plan = model.plan_for("forward", inputs(), backends=backends, measure=False)
    assert {len(item.region.steps) for item in plan.regions} == {2}
    assert all(r.reason.endswith("is no smaller; nothing was timed") for r in plan.refusals)


def test_memory_bounds_what_executables_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of(two_layer_graph())
    times(monkeypatch, (9e-6, 10e-6), (9e-6, 10e-6), (17e-6, 20e-6), (1e-6, 2e-6))
    backends = [Overlapping(records=False)]
    plan = model.plan_for("forward", inputs(), backends=backends, memory=300)
    held = sum(item.executable.meta.holds for item in plan.regions)
    assert held == 300
    assert any("past the bound of 300" in refusal.reason for refusal in plan.refusals)
    nothing = model.plan_for("forward", inputs(), backends=backends, memory=0)
    assert nothing.regions == ()


def test_all_installed_back_ends_take_part_when_none_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(planner_module, "available", lambda: [Reference("installed")])
    model = model_of(two_layer_graph())
    plan = model.plan_for("forward", inputs(), measure=False)
    assert {item.backend.name for item in plan.regions} == {"installed"}


def test_a_region_that_fails_to_compile_late_frees_its_place() -> None:
    class Late(Overlapping):
        """The first two compilations work (one of each kind), later pairs fail."""

        def compile(self, region: Region, target: Target, options: Options) -> Any:
            self.compiled.append(region)
            if len(self.compiled) > 3 and len(region.steps) == 2:
                raise RuntimeError("too many pairs")
            return Pair(region)

    model = model_of(two_layer_graph())
    plan = model.plan_for("forward", inputs(), backends=[Late(records=False)], measure=False)
    assert {len(item.region.steps) for item in plan.regions} == {1}
    (made,) = plan.run(inputs(), model.context_for(plan))
    assert close(made, model.run_entry("forward", inputs(), compile=False))


def test_compile_regions_gets_all_chosen_regions_at_once() -> None:
    groups: list[int] = []

    class Together(Reference):
        def compile_regions(
            self, regions: Sequence[Region], target: Target, options: Options
        ) -> list[Any]:
            groups.append(len(regions))
            return [self.compile(region, target, options) for region in regions]

    model = model_of(two_layer_graph())
    backend = Together()
    plan = model.plan_for("forward", inputs(), backends=[backend], measure=False)
    assert groups == [len(plan.regions)]


def test_capabilities_bound_the_dtypes() -> None:
    class Floats(Reference):
        def probe(self, target: Target) -> Capabilities | None:
            return Capabilities(dtypes=frozenset(("f32",)))

    plan = model_of(two_layer_graph(dtype="bf16")).plan_for(
        "forward", [inputs()[0].bfloat16()], backends=[Floats()], measure=False
    )
    assert plan.regions == ()
    assert plan.refusals[0].reason == "it does not take bf16"


@pytest.mark.parametrize("rows", [0, 2, 7])
def test_inputs_of_another_size_are_refused_with_what_was_planned(rows: int) -> None:
    model = model_of(two_layer_graph())
    plan = model.plan_for("forward", inputs(), backends=[Reference()], measure=False)
    context = model.context_for(plan)
    with pytest.raises(ValueError) as caught:
        plan.run([torch.ones(rows, 8)], context)
    assert str(caught.value) == (
        f"entry forward: input x: expected f32[3, 8], got f32[{rows}, 8]; this plan was made for "
        "x f32[3, 8]: plan again for other sizes"
    )


def test_a_context_belongs_to_its_plan_and_model() -> None:
    model, other = model_of(two_layer_graph()), model_of(two_layer_graph())
    plan = model.plan_for("forward", inputs(), backends=[], measure=False)
    again = model.plan_for("forward", inputs(), backends=[], measure=False)
    with pytest.raises(ValueError, match="made for another plan"):
        plan.run(inputs(), model.context_for(again))
    with pytest.raises(ValueError, match="made for another model"):
        other.context_for(plan)


def test_replaced_and_written_weights_are_prepared_again_and_used() -> None:
    model = model_of(two_layer_graph())
    backend = Reference()
    plan = model.plan_for("forward", inputs(), backends=[backend], measure=False)
    context = model.context_for(plan)
    plan.run(inputs(), context)
    before = len(backend.prepared)
    plan.run(inputs(), context)
    assert len(backend.prepared) == before
    up = model.get_submodule("layers.0.up")
    up.weight = torch.nn.Parameter(torch.ones(16, 8), requires_grad=False)
    (made,) = plan.run(inputs(), context)
    assert len(backend.prepared) == before + 1
    assert close(made, model.run_entry("forward", inputs(), compile=False))
    with torch.no_grad():
        up.weight.mul_(2)
    (made,) = plan.run(inputs(), context)
    assert len(backend.prepared) == before + 2
    assert close(made, model.run_entry("forward", inputs(), compile=False))


def test_a_replaced_child_is_seen() -> None:
    model, other = model_of(two_layer_graph()), model_of(two_layer_graph(), numerics="exact")
    with torch.no_grad():
        other.get_parameter("layers.0.up.weight").fill_(0.25)
    plan = model.plan_for("forward", inputs(), backends=[Reference()], measure=False)
    context = model.context_for(plan)
    plan.run(inputs(), context)
    model.get_submodule("layers")._modules["0"] = other.get_submodule("layers.0")
    (made,) = plan.run(inputs(), context)
    assert close(made, other.run_entry("forward", inputs(), compile=False))


def test_join_gives_a_view_lays_out_once_or_declines() -> None:
    model = model_of(two_layer_graph(joined=True))
    plan = model.plan_for("forward", inputs(), backends=[], measure=False)
    context = model.context_for(plan)
    paths = ["layers.0.up.weight", "layers.0.gate.weight"]
    expected = torch.cat([model.tensor(path) for path in paths])
    joined = context.join(paths)
    assert joined is not None
    assert torch.equal(joined, expected)
    again = context.join(paths)
    assert again is not None
    assert again.data_ptr() == joined.data_ptr() == model.tensor(paths[0]).data_ptr()
    with torch.no_grad():
        model.get_parameter(paths[1]).zero_()
    assert not joined[16:].any()
    assert context.join(["layers.0.up.weight", "layers.0.down.weight"]) is None
    assert context.join(["layers.0.up.weight", "layers.0.up.weight"]) is None
    with pytest.raises(KeyError, match=r"no tensor at 'layers\.9\.up\.weight'"):
        context.join(["layers.9.up.weight", "layers.0.up.weight"])
    assert model_of(two_layer_graph(joined=True), trainable=True).join(paths) is None


def test_context_parameters_resolve_paths_and_name_near_ones() -> None:
    model = model_of(two_layer_graph())
    context = model.context_for(model.plan_for("forward", inputs(), backends=[], measure=False))
    assert context.parameters["layers.1.up.weight"] is model.tensor("layers.1.up.weight")
    assert len(context.parameters) == 6
    assert set(context.parameters) == set(model.state_dict())
    with pytest.raises(KeyError, match=r"near ones are layers\.1\.up\.weight"):
        _ = context.parameters["layers.7.up.weight"]


def test_the_report_is_text_and_data() -> None:
    model = model_of(two_layer_graph())
    plan = model.plan_for("forward", inputs(), backends=[Reference("mine")])
    document = json.loads(json.dumps(plan.report().to_json()))
    assert document["version"] == 1
    assert document["entry"] == "forward"
    taken = document["regions"]
    assert {row["backend"] for row in taken} <= {"mine"}
    assert len(taken) + len(document["refused"]) == 8
    assert document["steps"] == len(plan.graph.steps)
    assert document["planned_seconds"] > 0
    assert document["step_bytes"] == 4 * (3 * 8 + 2 * (8 + 2 * 8 * 16))
    text = str(plan.report())
    assert "plan of entry forward (x f32[3, 8]) on cpu:0" in text
    assert "all generated" in text


def test_the_report_has_every_fact_and_shows_equal_rows_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = model_of(two_layer_graph())
    # Four kinds of two regions each: rms_norm, up, down and the sum; then the plan.
    times(monkeypatch, (1e-6, 3e-6), (2e-6, 9e-6), (4e-6, 9e-6), (5e-6, 5e-6), (20e-6, 40e-6))
    backend = Reference("mine")
    backend.holds = 3_000_000
    report = model.plan_for("forward", inputs(), backends=[backend]).report()
    rows = {(r.place, r.callee, r.backend_seconds, r.generated_seconds) for r in report.regions}
    assert len(report.regions) == 6
    assert {row.holds for row in report.regions} == {3_000_000}
    assert ("two_layer.linnet:12", "std.nn.linear::linear", 4e-6, 9e-6) in rows
    assert [row.reason.split(":")[1] for row in report.refused] == [" saves less than 2%"] * 2
    assert sum(row.steps for row in report.slices) == 2
    assert report.predicted_saving == pytest.approx(2 * (2e-6 + 7e-6 + 5e-6))
    assert report.predicted_seconds == pytest.approx(40e-6 - 28e-6)
    assert (report.planned_seconds, report.generated_seconds) == (20e-6, 40e-6)
    assert report.floor_seconds is not None
    text = str(report)
    for part in (
        "predicted to save 28.0 us a step, and so to take 12.0 us",
        "measured 20.0 us a step, all generated 40.0 us",
        "exact selection would save 28.0 us",
        f"takes at least {report.floor_seconds * 1e6:.1f} us, ",
        "of the measured step",
        "3.0 MB",
    ):
        assert part in text
    plain = model.plan_for("forward", inputs(), backends=[backend], measure=False).report()
    assert plain.predicted_saving is plain.predicted_seconds is plain.planned_seconds is None


def test_compiled_slices_run() -> None:
    model = model_of(two_layer_graph())
    plan = model.plan_for("forward", inputs(), backends=[], compile="eager", measure=False)
    (made,) = plan.run(inputs(), model.context_for(plan))
    assert close(made, model.run_entry("forward", inputs(), compile=False))


def test_a_captured_step_is_no_compiler_of_slices() -> None:
    model = model_of(two_layer_graph())
    with pytest.raises(ValueError, match="run the plan by Captured"):
        model.plan_for("forward", inputs(), compile="reduce-overhead")


def test_options_are_checked() -> None:
    for wrong in ({"margin": -0.1}, {"margin": 1.0}, {"memory": -1}, {"selection": "best"}):
        with pytest.raises(ValueError, match=f"Options: {next(iter(wrong))}"):
            Options(**wrong)


def test_stored_times_decide_without_measuring(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of(two_layer_graph())
    times(monkeypatch, (1e-6, 2e-6))
    model.plan_for("forward", inputs(), backends=[Reference()])
    store = BenchmarkStore()
    known = json.loads(store.path.read_text())["entries"]
    store.put({key: Timing(3e-6, 2e-6) for key in known})
    plan = model.plan_for("forward", inputs(), backends=[Reference()])
    assert plan.regions == ()


def test_a_cost_is_a_record() -> None:
    assert Cost(1.0) == Cost(1.0, None)
    assert isinstance(model_of(two_layer_graph()), LinnetModule)
