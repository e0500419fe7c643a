"""Captured steps: recorded through back ends, replayed at fixed addresses, and never stale."""

from __future__ import annotations

import contextlib
import gc
import json
import threading
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import torch
from linnet_helpers.runtime import ListRecorder, ListReplay, Reference, batch, captured, model_of
from torch import Tensor

from linnet.backends import Region, Target
from linnet.backends.testing import GraphBuilder, two_layer_graph
from linnet.graph import Graph
from linnet.torch.planned import Captured, RecordingWarning


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("records", [False, True])
def test_every_replay_equals_the_interpreted_step(joined: bool, records: bool) -> None:
    model = model_of(two_layer_graph(joined=joined))
    step = captured(model, [batch(0)], Reference(records=records))
    for seed in range(5):
        (made,) = step([batch(seed)])
        expected = model.run_entry("forward", [batch(seed)], compile=False)
        assert torch.allclose(made, expected, rtol=1e-5, atol=1e-5)


def test_the_first_call_runs_the_second_records_and_the_rest_replay() -> None:
    backend = Reference()
    model = model_of(two_layer_graph())
    step = captured(model, [batch(0)], backend)
    step([batch(0)])
    assert len(backend.executed) == 8
    step([batch(1)])
    assert len(backend.executed) == 16
    step([batch(2)])
    step([batch(3)])
    assert len(backend.executed) == 16


def test_results_stay_what_they_were() -> None:
    step = captured(model_of(two_layer_graph()), [batch(0)], Reference())
    kept = [step([batch(seed)])[0] for seed in range(4)]
    copies = [tensor.clone() for tensor in kept]
    for seed in range(4, 8):
        step([batch(seed)])
    assert all(torch.equal(a, b) for a, b in zip(kept, copies, strict=True))


def test_the_callers_input_is_neither_kept_nor_changed() -> None:
    step = captured(model_of(two_layer_graph()), [batch(0)], Reference())
    for seed in range(3):
        x = batch(seed)
        step([x])
        assert torch.equal(x, batch(seed))
        alive = weakref.ref(x)
        del x
        gc.collect()
        assert alive() is None


@pytest.mark.parametrize(
    ("wrong", "error", "text"),
    [
        ([torch.ones(2, 8)], ValueError, "this plan was made for x f32[3, 8]"),
        ([torch.ones(3, 8).double()], TypeError, "expected f32[3, 8], got f64[3, 8]"),
        ([torch.ones(3, 8, device="meta")], ValueError, "the model is on cpu, the tensor on meta"),
        ([], TypeError, "input 'x' is missing"),
    ],
)
def test_a_wrong_input_is_named_before_anything_runs(
    wrong: list[Tensor], error: type[Exception], text: str
) -> None:
    backend = Reference()
    step = captured(model_of(two_layer_graph()), [batch(0)], backend)
    step([batch(0)])
    step([batch(0)])
    before = len(backend.executed)
    with pytest.raises(error) as caught:
        step(wrong)
    assert "entry forward: input" in str(caught.value)
    assert text in str(caught.value)
    assert len(backend.executed) == before
    (made,) = step([batch(5)])
    assert torch.isfinite(made).all()


def stateful() -> Graph:
    """total += x; returns (total + x) summed with a recorded sum, and the total before."""
    builder = GraphBuilder(entry="step")
    x = builder.input("x", (2, 4))
    total = builder.state("total", (2, 4))
    after = builder.step("add", total, x)
    builder.write("total", after)
    return builder.graph((builder.step("add", after, x), total))


def test_states_go_on_and_old_contents_stay() -> None:
    model, other = model_of(stateful()), model_of(stateful(), compile=False)
    step = captured(model, [torch.ones(2, 4)], Reference(), entry="step")
    for n in range(5):
        x = torch.full((2, 4), float(n))
        made, before = step([x])
        wanted, wanted_before = other.step(x)
        assert torch.equal(made, wanted)
        assert torch.equal(before, wanted_before)
    assert torch.equal(model.tensor("total"), other.tensor("total"))


def test_a_state_that_was_replaced_is_seen() -> None:
    model = model_of(stateful())
    step = captured(model, [torch.ones(2, 4)], Reference(), entry="step")
    for _ in range(3):
        step([torch.ones(2, 4)])
    model._buffers["total"] = torch.full((2, 4), 10.0)
    made, _ = step([torch.ones(2, 4)])
    assert (made == 12).all()
    assert (model.tensor("total") == 11).all()
    model.reset_state()
    made, _ = step([torch.ones(2, 4)])
    assert (made == 2).all()


class Sums(Reference):
    def match(self, graph: Graph, target: Target) -> Sequence[Region]:
        return [Region.of(graph, s.index, s.index + 1) for s in graph.steps if s.kind == "add"]


def counted_from_literals() -> Graph:
    """x + (3 * iota), which is the same every time, then that sum doubled."""
    builder = GraphBuilder()
    x = builder.input("x", (4,))
    place = builder.step("iota", shape=(4,), dtype="f32")
    table = builder.step("mul", place, builder.constant(3.0))
    first = builder.step("add", x, x)
    return builder.graph(builder.step("add", first, table))


def test_what_depends_on_literals_alone_is_made_once() -> None:
    model = model_of(counted_from_literals())
    x = torch.arange(4.0)
    step = captured(model, [x], Sums())
    for n in range(4):
        (made,) = step([x + n])
        assert torch.equal(made, 2 * (x + n) + 3 * torch.arange(4.0))
    report = step.report()
    assert (report.parts, report.calls, report.unrecorded) == (1, 2, ())
    assert (report.recorded_steps, report.once_steps, report.steps) == (2, 2, 4)


class Products(Sums):
    """Takes sums, and products even of literals."""

    def match(self, graph: Graph, target: Target) -> Sequence[Region]:
        kinds = ("add", "mul")
        return [Region.of(graph, s.index, s.index + 1) for s in graph.steps if s.kind in kinds]


def test_literals_that_a_back_end_computes_stay_in_order() -> None:
    builder = GraphBuilder()
    x = builder.input("x", (4,))
    place = builder.step("iota", shape=(4,), dtype="f32")
    doubled = builder.step("add", place, place)
    table = builder.step("neg", doubled)
    model = model_of(builder.graph(builder.step("add", x, table)))
    step = captured(model, [torch.ones(4)], Products())
    for n in range(4):
        (made,) = step([torch.full((4,), float(n))])
        assert torch.equal(made, n - 2 * torch.arange(4.0))


def viewing() -> Graph:
    """A sum, turned and cut by view steps, then another sum of the views."""
    builder = GraphBuilder()
    x = builder.input("x", (4, 6))
    first = builder.step("add", x, x)
    turned = builder.step("permute", first, shape=(6, 4), axes=(1, 0))
    left = builder.step("slice", turned, shape=(3, 4), starts=(0, 0), stops=(3, 4), steps=(1, 1))
    right = builder.step("slice", turned, shape=(3, 4), starts=(3, 0), stops=(6, 4), steps=(1, 1))
    return builder.graph(builder.step("add", left, right))


def test_views_between_recorded_parts_cost_nothing_and_are_recorded_through() -> None:
    model = model_of(viewing())
    x = torch.arange(24.0).reshape(4, 6)
    step = captured(model, [x], Sums())
    for n in range(4):
        (made,) = step([x + n])
        assert torch.equal(made, model.run_entry("forward", [x + n], compile=False))
    report = step.report()
    assert (report.parts, report.calls) == (1, 2)
    assert (report.recorded_steps, report.once_steps, report.steps) == (2, 3, 5)
    assert report.unrecorded == ()


def test_a_value_keeps_its_memory_as_long_as_a_view_of_it_is_read() -> None:
    builder = GraphBuilder()
    x = builder.input("x", (4, 4))
    first = builder.step("add", x, x)
    turned = builder.step("permute", first, shape=(4, 4), axes=(1, 0))
    value = builder.step("add", x, x)
    for _ in range(4):
        value = builder.step("add", value, value)
    model = model_of(builder.graph(builder.step("add", turned, value)))
    x_value = torch.arange(16.0).reshape(4, 4)
    step = captured(model, [x_value], Sums())
    for n in range(3):
        (made,) = step([x_value + n])
        assert torch.equal(made, model.run_entry("forward", [x_value + n], compile=False))


def test_generated_slices_run_between_recorded_parts() -> None:
    builder = GraphBuilder()
    x = builder.input("x", (2, 4))
    for _ in range(3):
        x = builder.step("tanh", builder.step("add", x, x))
    model = model_of(builder.graph(x))
    given = torch.randn(2, 4)
    step = captured(model, [given], Sums())
    for n in range(4):
        (made,) = step([given * n])
        expected = model.run_entry("forward", [given * n], compile=False)
        assert torch.allclose(made, expected, atol=1e-6)
    report = step.report()
    assert (report.parts, report.recorded_steps, len(report.unrecorded)) == (3, 3, 3)
    assert {row.reason for row in report.unrecorded} == {"generated source"}


def test_a_chain_shares_the_memory_of_values_that_are_done_with() -> None:
    builder = GraphBuilder()
    x = builder.input("x", (16, 64))
    for _ in range(20):
        x = builder.step("add", x, x)
    model = model_of(builder.graph(x))
    step = captured(model, [torch.ones(16, 64)], Sums())
    assert step([torch.ones(16, 64)])[0][0, 0] == 2**20
    assert step([torch.ones(16, 64)])[0][0, 0] == 2**20
    report = step.report()
    assert (report.arena_bytes, report.value_bytes) == (2 * 16 * 64 * 4, 21 * 16 * 64 * 4)
    assert f"8192 bytes for {21 * 16 * 64 * 4} bytes of values" in str(report)


def test_the_report_counts_what_is_recorded_and_gives_reasons() -> None:
    step = captured(model_of(two_layer_graph()), [batch(0)], Reference("quiet", records=False))
    report = step.report()
    assert report.recorded_steps == report.parts == report.calls == 0
    assert {row.reason for row in report.unrecorded} == {"quiet offers no recorder"}
    assert "0% of 26 steps recorded" in str(report)
    whole = captured(model_of(two_layer_graph()), [batch(0)], Reference()).report()
    assert (whole.recorded_steps, whole.parts, whole.calls) == (26, 1, 8)
    assert json.loads(json.dumps(whole.to_json()))["arena_bytes"] == whole.arena_bytes > 0
    assert "100% of 26 steps recorded, 8 kernel calls in 1 parts" in str(whole)


class Failing(ListRecorder):
    def __init__(self, fail_in: str) -> None:
        super().__init__()
        self.fail_in = fail_in

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        if self.fail_in == "recording":
            raise RuntimeError("no capture here")
        with super().recording():
            yield

    def finish(self) -> Any:
        if self.fail_in == "finish":
            raise RuntimeError("cannot be instantiated")
        return None if self.fail_in == "none" else super().finish()


@pytest.mark.parametrize(
    ("fail_in", "reason"),
    [
        ("recording", "recording failed: RuntimeError: no capture here"),
        ("finish", "finish failed: RuntimeError: cannot be instantiated"),
        ("none", "finish failed: TypeError: finish returned a NoneType, which is no replay"),
    ],
)
def test_a_recorder_that_fails_is_reported_and_the_step_still_right(
    fail_in: str, reason: str
) -> None:
    backend = Reference()
    backend.recorder = lambda target: Failing(fail_in)
    model = model_of(two_layer_graph())
    step = captured(model, [batch(0)], backend)
    with pytest.warns(RecordingWarning, match=reason):
        report = step.report()
    assert {row.reason for row in report.unrecorded} == {reason}
    for seed in range(3):
        (made,) = step([batch(seed)])
        expected = model.run_entry("forward", [batch(seed)], compile=False)
        assert torch.allclose(made, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("recorder", [None, RuntimeError("no stream")])
def test_a_back_end_without_a_recorder_for_the_device_runs_between(recorder: Any) -> None:
    def make(target: Target) -> Any:
        if recorder is not None:
            raise recorder

    backend = Reference()
    backend.recorder = make
    model = model_of(two_layer_graph())
    step = captured(model, [batch(0)], backend)
    reasons = {row.reason for row in step.report().unrecorded}
    assert reasons == {
        "reference cannot record on cpu"
        if recorder is None
        else "reference: recorder failed: RuntimeError: no stream"
    }
    assert torch.isfinite(step([batch(0)])[0]).all()


@pytest.mark.parametrize("fault", ["raises", "returns-new"])
def test_one_executable_that_cannot_be_recorded_leaves_the_others_recorded(fault: str) -> None:
    class OneBad(Reference):
        def compile(self, region: Region, target: Target, options: Any) -> Any:
            executable: Any = super().compile(region, target, options)
            original = executable.execute

            def execute(inputs: Any, outputs: Any, context: Any) -> Any:
                if outputs[0] is not None and region.call == 3:
                    if fault == "raises":
                        raise RuntimeError("reads a value")
                    return [original(inputs, outputs, context)[0].clone()]
                return original(inputs, outputs, context)

            executable.execute = execute
            return executable

    model = model_of(two_layer_graph())
    step = captured(model, [batch(0)], OneBad())
    with pytest.warns(RecordingWarning) as caught:
        report = step.report()
    assert len(caught) == 1
    (row,) = report.unrecorded
    assert (
        "reads a value" if fault == "raises" else "did not return the outputs that it was given"
    ) in row.reason
    assert report.parts == 2
    for seed in range(3):
        (made,) = step([batch(seed)])
        expected = model.run_entry("forward", [batch(seed)], compile=False)
        assert torch.allclose(made, expected, rtol=1e-5, atol=1e-5)


class Breaking(ListReplay):
    def run(self) -> None:
        super().run()
        if self.runs == 2:
            raise IndexError("token 9 is outside the table")


class BreakingRecorder(ListRecorder):
    def finish(self) -> ListReplay:
        return Breaking(self.work)


def test_a_replay_that_fails_leaves_the_states_and_the_step_usable() -> None:
    backend = Reference()
    backend.recorder = lambda target: BreakingRecorder()
    model = model_of(stateful())
    step = captured(model, [torch.ones(2, 4)], backend, entry="step")
    ones = [torch.ones(2, 4)]
    step(ones)
    step(ones)
    with pytest.raises(IndexError, match="step: replay on reference: token 9 is outside"):
        step(ones)
    assert (model.tensor("total") == 2).all()
    step(ones)
    assert (model.tensor("total") == 3).all()


def test_calls_from_several_threads_do_not_mix() -> None:
    model = model_of(two_layer_graph())
    step = captured(model, [batch(0)], Reference())
    step([batch(0)])
    step([batch(0)])
    wanted = [model.run_entry("forward", [batch(s)], compile=False) for s in range(4)]
    wrong: list[int] = []

    def work(seed: int) -> None:
        for _ in range(50):
            if not torch.allclose(step([batch(seed)])[0], wanted[seed], rtol=1e-5, atol=1e-5):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_captured_step_needs_the_plans_own_context() -> None:
    model = model_of(two_layer_graph())
    plans = [model.plan_for("forward", [batch(0)], backends=[], measure=False) for _ in range(2)]
    with pytest.raises(ValueError, match="made for another plan"):
        Captured(plans[0], model.context_for(plans[1]))


def test_inputs_parameters_and_constants_may_be_results() -> None:
    builder = GraphBuilder()
    x, w = builder.input("x", (2,)), builder.parameter("w", (2,))
    total = builder.step("add", x, w)
    model = model_of(builder.graph((x, w, total, builder.constant(4.5))))
    step = captured(model, [torch.ones(2)], Sums())
    results = [step([torch.ones(2)]) for _ in range(3)]
    x_out, w_out, sum_out, constant = results[-1]
    assert x_out.tolist() == [1, 1]
    assert torch.equal(w_out, model.tensor("w"))
    assert torch.equal(sum_out, w_out + 1)
    assert float(constant) == 4.5
