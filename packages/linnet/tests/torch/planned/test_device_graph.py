"""A whole step as one graph of a device, with graphs that record on the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from linnet_helpers.decoder import at, decoder, tokens
from linnet_helpers.host_graphs import HostGraphs
from linnet_helpers.runtime import Reference, close, model_of
from torch import Tensor, nn

from linnet.backends import ExecutableMeta, Region
from linnet.backends.testing import GraphBuilder, two_layer_graph
from linnet.graph import Graph
from linnet.torch import LinnetModule
from linnet.torch.planned import Captured, RecordingWarning, planner
from linnet.torch.planned import captured as captured_module


def batch(seed: int) -> Tensor:
    return torch.randn(3, 8, generator=torch.Generator().manual_seed(seed))


def captured(
    model: LinnetModule, entry: str, given: list[Any], backends: Any = ()
) -> tuple[Captured, HostGraphs]:
    graphs = HostGraphs()
    plan = model.plan_for(entry, given, backends=backends, measure=False)
    return Captured(plan, model.context_for(plan), graphs), graphs


@pytest.mark.parametrize("backends", [[], [Reference(records=False)]], ids=["none", "reference"])
def test_every_replay_equals_the_interpreted_step(backends: list[Reference]) -> None:
    model = model_of(two_layer_graph(joined=True))
    step, graphs = captured(model, "forward", [batch(0)], backends)
    kept = []
    for seed in range(5):
        (made,) = step([batch(seed)])
        kept.append((made, made.clone()))
        assert close(made, model.run_entry("forward", [batch(seed)], compile=False))
    assert (graphs.captures, graphs.replays) == (1, 4)
    assert all(torch.equal(made, copy) for made, copy in kept)
    report = step.report()
    assert (report.recorded_steps, report.unrecorded) == (30, ())
    assert str(report) == (
        "captured step of entry forward: 100% of 30 steps recorded in one graph of the device"
    )


def test_the_first_call_runs_the_second_captures_and_the_report_waits_for_it() -> None:
    step, graphs = captured(model_of(two_layer_graph()), "forward", [batch(0)])
    with pytest.raises(RuntimeError, match="forward: nothing is captured yet; call the step twice"):
        step.report()
    step([batch(0)])
    assert graphs.captures == 0
    step([batch(1)])
    assert (graphs.captures, graphs.replays) == (1, 1)


def test_the_callers_input_is_neither_kept_nor_changed() -> None:
    model = model_of(two_layer_graph())
    step, _ = captured(model, "forward", [batch(0)])
    step([batch(0)])
    given = batch(1)
    step([given])
    assert torch.equal(given, batch(1))
    given.fill_(torch.nan)
    (made,) = step([batch(2)])
    assert close(made, model.run_entry("forward", [batch(2)], compile=False))


def growing(vocabulary: int = 5) -> Graph:
    """Looks a row of a table up, adds it to row `at` of a state that grows, sums what is there."""
    builder = GraphBuilder(entry="step")
    token, at = builder.input("token", (1,), "i64"), builder.input("at", (1,), "i64")
    table = builder.parameter("table", (vocabulary, 4))
    rows = builder.state("rows", (64, 4))
    row = builder.step("element", table, token, shape=(1, 4), axes=(0,))
    places = builder.step("reshape", builder.step("iota", shape=(64,), dtype="i64"), shape=(64, 1))
    hit = builder.step("compare", places, at, comparison="eq")
    after = builder.step("select", hit, row, rows)
    builder.write("rows", after)
    total = builder.step("reduce", after, shape=(4,), reduction="sum", axes=(0,))
    scale = builder.step("exp", builder.parameter("scale", (4,)))  # made once from a weight
    return builder.graph((builder.step("mul", total, scale), rows))


def token(n: int) -> list[Tensor]:
    return [torch.tensor([n % 5]), torch.tensor([n % 64])]


def test_sixty_four_steps_with_a_growing_state_equal_the_uncaptured_ones() -> None:
    model, other = model_of(growing()), model_of(growing())
    step, graphs = captured(model, "step", token(0))
    for n in range(64):
        made = step(token(n))
        expected = other.run_entry("step", token(n), compile=False)
        assert all(close(a, b) for a, b in zip(made, expected, strict=True))
        assert torch.equal(model.tensor("rows"), other.tensor("rows"))
    assert graphs.captures == 1


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ([torch.tensor([5]), torch.tensor([0])], IndexError, "`token`: .* 0 to 4 .*, got 5"),
        ([torch.tensor([-1]), torch.tensor([0])], IndexError, "`token`: .* 0 to 4 .*, got -1"),
        ([torch.tensor([1, 2]), torch.tensor([0])], ValueError, r"token: expected i64\[1\]"),
        ([torch.tensor([1.0]), torch.tensor([0])], TypeError, r"token: expected i64\[1\]"),
        ([torch.tensor([1])], TypeError, "'at' is missing"),
    ],
)
def test_a_wrong_input_is_named_and_changes_nothing(
    wrong: list[Tensor], error: type[Exception], message: str
) -> None:
    model = model_of(growing())
    step, graphs = captured(model, "step", token(0))
    for n in range(3):
        step(token(n))
    before = model.tensor("rows").clone()
    with pytest.raises(error, match=message):
        step(wrong)
    assert torch.equal(model.tensor("rows"), before)
    step(token(3))
    assert graphs.replays == 3


@pytest.mark.parametrize("backends", [[], [Reference(records=False)]], ids=["none", "reference"])
def test_a_whole_decoder_is_one_graph_and_refuses_what_its_caches_cannot_take(
    backends: list[Reference],
) -> None:
    model, other = decoder(), decoder()
    step, graphs = captured(model, "decode", [tokens(0, 1), at(0)], backends)
    for n in range(16):
        (made,) = step([tokens(n, 1), at(n)])
        expected = other.run_entry("decode", [tokens(n, 1), at(n)], compile=False)
        assert torch.allclose(made, expected, rtol=1e-4, atol=1e-5)
    assert (graphs.captures, graphs.replays) == (1, 15)
    assert step.report().unrecorded == ()
    before = {path: model.tensor(path).clone() for path in model.state_paths()}
    for wrong in ([tokens(0, 1), at(16)], [tokens(0, 1), at(-1)], [tokens(0, 1) + 50, at(3)]):
        with pytest.raises(
            IndexError, match=r"decode: input `(positions|tokens)`: expected values"
        ):
            step(wrong)
    assert all(torch.equal(model.tensor(path), kept) for path, kept in before.items())
    assert graphs.replays == 15


def replace_weight(model: LinnetModule) -> None:
    model._parameters["table"] = nn.Parameter(torch.randn(5, 4), requires_grad=False)


def write_weight(model: LinnetModule) -> None:
    with torch.no_grad():
        model.tensor("scale").fill_(0.5)


def replace_state(model: LinnetModule) -> None:
    model._buffers["rows"] = torch.ones(64, 4)


def move_weight(model: LinnetModule) -> None:
    model.tensor("table").data = torch.randn(5, 4)


@pytest.mark.parametrize("change", [replace_weight, write_weight, replace_state, move_weight])
def test_what_was_replaced_or_written_is_seen_and_captured_anew(
    change: Callable[[LinnetModule], None],
) -> None:
    model, other = model_of(growing()), model_of(growing())
    step, graphs = captured(model, "step", token(0))
    for n in range(4):
        step(token(n))
        other.run_entry("step", token(n))
    torch.manual_seed(9)
    change(model)
    torch.manual_seed(9)
    change(other)
    for n in range(4, 7):
        made = step(token(n))
        expected = other.run_entry("step", token(n), compile=False)
        assert all(close(a, b) for a, b in zip(made, expected, strict=True))
    assert graphs.captures == 2


def test_setting_states_to_zeros_needs_no_new_graph() -> None:
    model = model_of(growing())
    step, graphs = captured(model, "step", token(0))
    for n in range(4):
        step(token(n))
    model.reset_state()
    _, rows = step(token(1))
    assert not rows.any()
    assert graphs.captures == 1


class InPlace(Reference):
    """Adds to a state in place; fails when it is told to."""

    fails = False

    def match(self, graph: Graph, target: Any) -> Any:
        return [Region.of(graph, 0, 2)]

    def compile(self, region: Any, target: Any, options: Any) -> Any:
        backend = self

        class Add:
            meta = ExecutableMeta(region.states_read, region.states_written)

            def prepare(self, context: Any) -> None:
                pass

            def execute(self, inputs: Any, outputs: Any, context: Any) -> list[Tensor]:
                total: Tensor = context.parameters["total"].add_(inputs[0])
                if backend.fails:
                    raise RuntimeError("the kernel failed")
                return [total]

        return Add()


def adding() -> Graph:
    builder = GraphBuilder(entry="step")
    x, total = builder.input("x", (4,)), builder.state("total", (4,))
    after = builder.step("add", total, x)
    builder.write("total", after)
    return builder.graph(builder.step("neg", after))


def test_a_state_that_a_back_end_writes_is_written_once_a_step() -> None:
    model, backend = model_of(adding()), InPlace()
    step, _ = captured(model, "step", [torch.ones(4)], [backend])
    for n in range(1, 6):
        (made,) = step([torch.ones(4)])
        assert made.tolist() == [-n] * 4
        assert model.tensor("total").tolist() == [n] * 4
        if n == 3:
            model._buffers["total"] = model.tensor("total").clone()  # a new graph, warmed up


def test_a_step_that_fails_before_its_graph_leaves_the_states() -> None:
    model, backend = model_of(adding()), InPlace()
    step, graphs = captured(model, "step", [torch.ones(4)], [backend])
    step([torch.ones(4)])
    backend.fails = True
    with pytest.raises(RuntimeError, match=r"step: back end reference, .*: the kernel failed"):
        step([torch.ones(4)])
    assert model.tensor("total").tolist() == [1] * 4
    backend.fails = False
    step([torch.ones(4)])
    assert model.tensor("total").tolist() == [2] * 4
    assert graphs.captures == 1


def deciding() -> Graph:
    """A branch, which reads its condition on the host."""
    builder = GraphBuilder(entry="step")
    x, total = builder.input("x", (4,)), builder.state("total", (4,))
    builder.write("total", builder.step("add", total, x))
    first = builder.step("element", x, builder.constant(0, "i64"), shape=(), axes=(0,))
    large = builder.step("compare", first, builder.constant(0.0), comparison="gt")
    bodies = []
    for kind in ("neg", "exp"):
        with builder.nested() as (_, outputs):
            outputs.append(builder.step(kind, x))
        bodies.append(builder.body())
    (made,) = builder.control("if", [large], bodies)
    return builder.graph(made)


def test_a_step_that_cannot_be_captured_is_reported_and_still_right() -> None:
    model = model_of(deciding())
    step, graphs = captured(model, "step", [torch.ones(4)])
    step([torch.ones(4)])
    with pytest.warns(RecordingWarning, match=r"step: the step cannot be captured: .*capturing"):
        (made,) = step([torch.ones(4)])
    assert made.tolist() == [-1] * 4
    (made,) = step([torch.zeros(4)])
    assert made.tolist() == [1] * 4
    assert model.tensor("total").tolist() == [2] * 4
    report = step.report()
    assert (report.recorded_steps, report.parts, graphs.captures) == (0, 0, 0)
    assert "0% of" in str(report)
    assert "not permitted when stream is capturing" in report.unrecorded[0].reason


def test_constants_inputs_and_parameters_may_be_results() -> None:
    builder = GraphBuilder()
    x, weight = builder.input("x", (3, 8)), builder.parameter("w", (2,))
    graph = builder.graph((x, weight, builder.constant(2.5), builder.step("neg", x)))
    model = model_of(graph)
    step, _ = captured(model, "forward", [batch(0)])
    for seed in range(3):
        made = step([batch(seed)])
        assert torch.equal(made[0], batch(seed))
        assert torch.equal(made[1], model.tensor("w"))
        assert made[2].item() == 2.5
        assert torch.equal(made[3], -batch(seed))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_cuda_graphs_capture_and_replay() -> None:
    model = model_of(two_layer_graph(), device="cuda")
    given = batch(0).cuda()
    plan = model.plan_for("forward", [given], backends=[], measure=False)
    step = Captured(plan, model.context_for(plan))
    for seed in range(4):
        (made,) = step([batch(seed).cuda()])
        expected = model.run_entry("forward", [batch(seed).cuda()], compile=False)
        assert torch.allclose(made, expected, rtol=1e-4, atol=1e-4)
    assert step.report().unrecorded == ()


def test_regions_and_the_whole_plan_are_timed_as_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = HostGraphs()
    for module in (planner, captured_module):
        monkeypatch.setattr(module, "device_graphs", lambda device: graphs)
    model = model_of(two_layer_graph())
    plan = model.plan_for("forward", [batch(0)], backends=[Reference(records=False)])
    assert graphs.captures > 2
    assert graphs.replays > 20 * 2
    assert not [r for r in plan.refusals if "failed" in r.reason]
    (made,) = plan.run([batch(1)], model.context_for(plan))
    assert close(made, model.run_entry("forward", [batch(1)], compile=False))
