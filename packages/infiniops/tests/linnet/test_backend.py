"""Linnet models planned over InfiniOps: what it takes, that it is right and recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from norms import rounding_orders  # type: ignore[import-not-found]  # on the path by conftest
from torch import Tensor

import infini.ops
from infini.linnet import InfiniOps
from linnet.backends import CONTRACT, Target
from linnet.backends.discovery import check_backend
from linnet.backends.testing import GraphBuilder, two_layer_graph
from linnet.graph import Graph
from linnet.torch import GraphProgram, LinnetModule, load, load_program
from linnet.torch.dtypes import torch_dtype
from linnet.torch.planned import Captured

CPU = Target("cpu")


def model_of(graph: Graph, **options: Any) -> LinnetModule:
    generator = torch.Generator().manual_seed(0)
    weights = {
        p.path: (torch.randn(p.shape, generator=generator) / 4).to(torch_dtype(p.dtype))
        for p in graph.parameters
    }
    return load_program(GraphProgram([graph]), weights=weights, **options)


def batch(seed: int, dtype: str = "f32") -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn((3, 8), generator=generator).to(torch_dtype(dtype))


def taken(graph: Graph) -> list[str]:
    """What it offers to run, by place: the op or the step kind."""
    found = []
    for region in sorted(InfiniOps().match(graph, CPU), key=lambda region: region.steps):
        assert region.problem is None
        call = None if region.call is None else graph.calls[region.call].callee
        found.append(call or graph.steps[region.start].kind)
    return found


def test_it_is_a_back_end_of_this_contract() -> None:
    backend = InfiniOps()
    assert check_backend(backend, "InfiniOps") is backend
    assert backend.contract == CONTRACT
    assert backend.version == infini.ops.__version__


def test_it_declines_devices_that_it_has_no_kernels_for() -> None:
    assert InfiniOps().probe(CPU) is not None
    assert InfiniOps().probe(Target("meta")) is None
    assert InfiniOps().recorder(Target("meta")) is None


def test_it_takes_a_whole_model_of_norms_products_and_sums() -> None:
    layer = ["std.nn.norm::rms_norm", "std.nn.linear::linear", "std.nn.linear::linear", "add"]
    # The second norm is offered alone and together with the sum before it.
    assert taken(two_layer_graph()) == [*layer, layer[0], *layer]


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("joined", [False, True])
def test_a_model_computes_the_same_interpreted_generated_planned_and_captured(
    dtype: str, joined: bool
) -> None:
    model = model_of(two_layer_graph(dtype=dtype, joined=joined))
    plan = model.plan_for("forward", [batch(0, dtype)], backends=[InfiniOps()], measure=False)
    assert plan.slices == ()
    context = model.context_for(plan)
    step = Captured(plan, context)
    tolerance = 1e-5 if dtype == "f32" else 0.03
    for seed in range(4):
        x = batch(seed, dtype)
        expected = model.run_entry("forward", [x], compile=False)
        results = [model.forward(x), plan.run([x], context)[0], step([x])[0]]
        for made in results:
            assert torch.allclose(made, expected, rtol=tolerance, atol=tolerance)
        assert torch.equal(results[1], results[2])
    report = step.report()
    assert report.unrecorded == ()
    assert report.recorded_steps == len(plan.graph.steps)
    assert report.calls == (13 if joined else 7)
    assert report.parts == 1


def test_it_conforms() -> None:
    model = model_of(two_layer_graph())
    findings = model.conform("forward", [batch(0)], InfiniOps(), tolerance=1e-5)
    assert len(findings) == 9
    assert all(finding.passed for finding in findings), findings


NORM = """module norms
use std.nn.norm::{rms_norm}

pub entry norm<B: Dim, N: Dim>(x: Tensor[B, N; bf16], w: Tensor[N; bf16]) -> Tensor[B, N; bf16]
where N > 0 {
    return rms_norm(x, w, 1e-6)
}
"""


@pytest.mark.parametrize("numerics", ["exact", "equivalent", "fast"])
def test_conform_shows_that_a_norm_rounds_in_another_order(numerics: Any) -> None:
    """Not where the source rounds once, too; to the bit."""
    row, weight, once, twice = rounding_orders(torch.bfloat16)
    model = load(NORM, numerics=numerics)
    (finding,) = model.conform("norm", [row[None], weight], InfiniOps(), tolerance=0.0)
    assert finding.error is None
    source = (once if numerics == "fast" else twice).double()
    gap = float(((once.double() - source).abs() / source.abs().clamp(min=1)).max())
    assert (gap > 0) is (numerics != "fast")
    assert (finding.difference, finding.passed) == (gap, numerics == "fast")


def test_it_is_measured_and_planned(linnet_home: Path) -> None:
    model = model_of(two_layer_graph())
    plan = model.plan_for("forward", [batch(0)], backends=[InfiniOps()])
    assert (linnet_home / "benchmarks.json").is_file()
    (made,) = plan.run([batch(0)], model.context_for(plan))
    expected = model.run_entry("forward", [batch(0)], compile=False)
    assert torch.allclose(made, expected, rtol=1e-5, atol=1e-5)
    assert len(plan.regions) + len(plan.refusals) == 9


def replace_weight(model: LinnetModule) -> None:
    up = model.get_submodule("layers.0.up")
    up.weight = torch.nn.Parameter(torch.full((16, 8), 0.1), requires_grad=False)


def write_weight(model: LinnetModule) -> None:
    with torch.no_grad():
        model.get_parameter("layers.1.norm.weight").mul_(3)


def turn_weight(model: LinnetModule) -> None:
    weight = model.get_parameter("layers.0.up.weight")
    weight.data = weight.data.view(8, 16).t()


@pytest.mark.parametrize("change", [replace_weight, write_weight, turn_weight])
def test_a_changed_weight_is_seen_by_a_captured_step(change: Any) -> None:
    model = model_of(two_layer_graph())
    plan = model.plan_for("forward", [batch(0)], backends=[InfiniOps()], measure=False)
    assert all(item.reads_in_place for item in plan.regions)
    step = Captured(plan, model.context_for(plan))
    for _ in range(3):
        step([batch(0)])
    change(model)
    (made,) = step([batch(0)])
    expected = model.run_entry("forward", [batch(0)], compile=False)
    assert torch.allclose(made, expected, rtol=1e-5, atol=1e-5)


def test_results_of_a_captured_step_stay_what_they_were() -> None:
    model = model_of(two_layer_graph())
    plan = model.plan_for("forward", [batch(0)], backends=[InfiniOps()], measure=False)
    step = Captured(plan, model.context_for(plan))
    kept = [step([batch(seed)])[0] for seed in range(4)]
    for seed, tensor in enumerate(kept):
        expected = model.run_entry("forward", [batch(seed)], compile=False)
        assert torch.allclose(tensor, expected, rtol=1e-5, atol=1e-5)


def test_a_wrong_input_of_a_captured_step_is_named() -> None:
    model = model_of(two_layer_graph())
    plan = model.plan_for("forward", [batch(0)], backends=[InfiniOps()], measure=False)
    step = Captured(plan, model.context_for(plan))
    step([batch(0)])
    step([batch(0)])
    with pytest.raises(ValueError, match=r"input x: expected f32\[3, 8\], got f32\[2, 8\]"):
        step([torch.ones(2, 8)])


def test_a_state_is_read_where_it_is() -> None:
    builder = GraphBuilder(entry="step")
    x, total = builder.input("x", (2, 4)), builder.state("total", (2, 4))
    after = builder.step("add", total, x)
    builder.write("total", after)
    model = model_of(builder.graph(after))
    plan = model.plan_for("step", [torch.ones(2, 4)], backends=[InfiniOps()], measure=False)
    assert len(plan.regions) == 1
    step = Captured(plan, model.context_for(plan))
    assert [float(step([torch.ones(2, 4)])[0][0, 0]) for _ in range(4)] == [1, 2, 3, 4]


def test_views_are_taken_with_their_strides() -> None:
    builder = GraphBuilder()
    x = builder.input("x", (4, 6))
    turned = builder.step("permute", x, shape=(6, 4), axes=(1, 0))
    doubled = builder.step("add", turned, turned)
    model = model_of(builder.graph(builder.linear(doubled, builder.parameter("w", (3, 4)))))
    given = torch.arange(24.0).reshape(4, 6)
    plan = model.plan_for("forward", [given], backends=[InfiniOps()], measure=False)
    step = Captured(plan, model.context_for(plan))
    for n in range(3):
        expected = model.run_entry("forward", [given + n], compile=False)
        assert torch.allclose(step([given + n])[0], expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["f32", "bf16", "i32"])
def test_elementwise_steps_broadcast_as_the_graph_says(dtype: str) -> None:
    builder = GraphBuilder()
    x, y = builder.input("x", (2, 1, 4), dtype), builder.input("y", (3, 1), dtype)
    total = builder.step("add", x, y)
    model = model_of(builder.graph(builder.step("mul", total, y)))
    given = [
        torch.arange(8).reshape(2, 1, 4).to(torch_dtype(dtype)),
        torch.tensor([[1], [2], [3]]).to(torch_dtype(dtype)),
    ]
    plan = model.plan_for("forward", given, backends=[InfiniOps()], measure=False)
    assert len(plan.regions) == 2
    step = Captured(plan, model.context_for(plan))
    for _ in range(3):
        assert torch.equal(step(given)[0], model.run_entry("forward", given, compile=False))


def test_a_bias_and_an_epsilon_reach_the_operator() -> None:
    builder = GraphBuilder()
    x = builder.input("x", (3, 8))
    normal = builder.rms_norm(x, builder.parameter("n", (8,)), eps=0.5)
    w, b = builder.parameter("w", (5, 8)), builder.parameter("b", (5,))
    model = model_of(builder.graph(builder.linear(normal, w, b)))
    plan = model.plan_for("forward", [batch(0)], backends=[InfiniOps()], measure=False)
    assert len(plan.regions) == 2
    (made,) = plan.run([batch(0)], model.context_for(plan))
    expected = model.run_entry("forward", [batch(0)], compile=False)
    assert torch.allclose(made, expected, rtol=1e-5, atol=1e-5)


def test_dtypes_that_an_operator_does_not_take_are_left() -> None:
    builder = GraphBuilder()
    x = builder.input("x", (3, 8), "i32")
    graph = builder.graph(builder.linear(x, builder.parameter("w", (5, 8), "i32")))
    assert taken(graph) == []


def test_an_attribute_that_is_no_constant_is_left() -> None:
    builder = GraphBuilder()
    x, eps = builder.input("x", (3, 8)), builder.input("eps", ())
    weight = builder.parameter("n", (8,))
    with builder.call("std.nn.norm::rms_norm", x=x, weight=weight, eps=eps) as call:
        call.result = builder.step("mul", builder.step("mul", x, eps), weight)
    # Its steps are still there to be taken one by one.
    assert taken(builder.graph(call.result)) == ["mul", "mul"]


def test_a_sum_with_a_constant_takes_it_as_a_tensor() -> None:
    builder = GraphBuilder()
    x = builder.input("x", (3, 8))
    model = model_of(builder.graph(builder.step("add", x, builder.constant(1.5))))
    plan = model.plan_for("forward", [batch(0)], backends=[InfiniOps()], measure=False)
    assert len(plan.regions) == 1
    step = Captured(plan, model.context_for(plan))
    for seed in range(3):
        assert torch.equal(step([batch(seed)])[0], batch(seed) + 1.5)


def test_a_call_whose_inside_is_read_outside_is_left() -> None:
    builder = GraphBuilder()
    x = builder.input("x", (3, 8))
    normal = builder.rms_norm(x, builder.parameter("n", (8,)))
    graph = builder.graph(normal)
    scale = next(s for s in graph.steps if s.kind == "rsqrt").results[0]
    assert "std.nn.norm::rms_norm" in taken(graph)
    seen = builder.graph((normal, builder.step("neg", scale)))
    assert "std.nn.norm::rms_norm" not in taken(seen)
