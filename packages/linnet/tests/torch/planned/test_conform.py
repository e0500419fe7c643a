"""`conform` compares a back end with the generated source, region by region."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from linnet_helpers.runtime import Reference, model_of
from torch import Tensor

from linnet.backends import Context, Options, Region, Target
from linnet.backends.testing import GraphBuilder, two_layer_graph
from linnet.graph import Graph
from linnet.torch.planned.conform import largest_difference


class Changed(Reference):
    """Its executables' outputs go through `change`."""

    def __init__(self, change: Any) -> None:
        super().__init__("changed", records=False)
        self.change = change

    def compile(self, region: Region, target: Target, options: Options) -> Any:
        executable: Any = super().compile(region, target, options)
        original = executable.execute
        executable.execute = lambda i, o, c: self.change(i, original(i, o, c))
        return executable


def findings(change: Any, tolerance: float = 0.01, stress: bool = False) -> list[Any]:
    model = model_of(two_layer_graph())
    x = torch.randn(3, 8, generator=torch.Generator().manual_seed(3))
    return model.conform("forward", [x], Changed(change), tolerance, stress)


def test_an_exact_back_end_passes_everywhere() -> None:
    found = findings(lambda inputs, outputs: outputs)
    assert len(found) == 8
    assert all(one.passed and one.difference < 1e-5 for one in found)


def test_a_back_end_that_returns_zeros_is_flagged_everywhere() -> None:
    found = findings(lambda inputs, outputs: [torch.zeros_like(outputs[0])])
    assert len(found) == 8
    assert not any(one.passed for one in found)
    assert all(one.difference > 0.01 for one in found)


def test_the_tolerance_decides() -> None:
    def slightly(inputs: Any, outputs: list[Tensor]) -> list[Tensor]:
        return [outputs[0] + 0.005]

    assert all(one.passed for one in findings(slightly))
    assert not any(one.passed for one in findings(slightly, tolerance=0.001))


def test_a_nan_on_one_side_is_an_infinite_difference() -> None:
    found = findings(lambda inputs, outputs: [outputs[0] * math.nan])
    assert all(one.difference == math.inf and not one.passed for one in found)


def fail(inputs: Any, outputs: Any) -> Any:
    raise RuntimeError("no kernel")


def spoil(inputs: list[Tensor], outputs: Any) -> Any:
    inputs[0].zero_()
    return outputs


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (fail, "RuntimeError: no kernel"),
        (spoil, "execute changed one of its inputs"),
        (lambda inputs, outputs: [], "RuntimeError: execute returned 0 outputs, not 1"),
    ],
)
def test_a_back_end_that_fails_is_a_finding(change: Any, error: str) -> None:
    found = findings(change)
    assert {one.error for one in found} == {error}
    assert not any(one.passed for one in found)


def test_refused_regions_are_findings_too() -> None:
    backend = Reference()
    backend.match = lambda graph, target: [Region.of(graph, 0, 99)]
    model = model_of(two_layer_graph())
    (found,) = model.conform("forward", [torch.ones(3, 8)], backend)
    assert not found.passed
    assert "names step 26" in (found.error or "")


def test_a_back_end_that_declines_the_device_has_no_findings() -> None:
    backend = Reference()
    backend.probe = lambda target: None
    assert model_of(two_layer_graph()).conform("forward", [torch.ones(3, 8)], backend) == []


def test_stress_repeats_with_odd_inputs() -> None:
    found = findings(lambda inputs, outputs: outputs, stress=True)
    assert {one.inputs for one in found} == {"given", "large", "tiny", "-0.0"}
    assert len(found) == 32

    def breaks_when_large(inputs: list[Tensor], outputs: list[Tensor]) -> list[Tensor]:
        return [outputs[0] * 2 if inputs[0].abs().max() > 1000 else outputs[0]]

    wrong = [one for one in findings(breaks_when_large, stress=True) if not one.passed]
    assert wrong
    assert "given" not in {one.inputs for one in wrong}


def first_columns(state: bool) -> Graph:
    """Sums of the first three of four columns, the others hidden by a mask."""
    builder = GraphBuilder()
    x = builder.input("x", (2, 4))
    cache = builder.state("cache", (2, 4)) if state else x
    seen = builder.step(
        "compare",
        builder.step("iota", shape=(4,), dtype="i64"),
        builder.constant(3, "i64"),
        comparison="lt",
    )
    chosen = builder.step("select", seen, cache, builder.constant(0.0))
    total = builder.step("reduce", chosen, shape=(2,), reduction="sum", axes=(1,))
    return builder.graph((total, x))


class Masking(Reference):
    """Sums the columns that the mask leaves, or what is left when the others count nothing."""

    def __init__(self, by_product: bool) -> None:
        super().__init__("masking", records=False)
        self.by_product = by_product

    def match(self, graph: Graph, target: Target) -> Sequence[Region]:
        return [Region.of(graph, 0, len(graph.steps))]

    def compile(self, region: Region, target: Target, options: Options) -> Any:
        executable: Any = super().compile(region, target, options)

        def execute(inputs: Any, outputs: Any, context: Context) -> list[Tensor]:
            cache = context.parameters["cache"] if region.states_read else inputs[0]
            seen = torch.arange(4) < 3
            left = cache * seen if self.by_product else torch.where(seen, cache, 0.0)
            return [left.sum(dim=1)]

        executable.execute = execute
        return executable


@pytest.mark.parametrize("state", [False, True])
def test_stress_puts_nan_where_nothing_looks(state: bool) -> None:
    model = model_of(first_columns(state))
    x = torch.randn(2, 4)
    careful = model.conform("forward", [x], Masking(False), stress=True)
    assert all(one.passed for one in careful)
    place = "state cache" if state else "input 0"
    label = f"NaN in unused places of {place}, axis 1"
    assert [one.inputs for one in careful if "NaN" in one.inputs] == [label]
    careless = model.conform("forward", [x], Masking(True), stress=True)
    assert [one.inputs for one in careless if not one.passed] == [label]
    assert not model.state_paths() or not model.tensor("cache").isnan().any()


@pytest.mark.parametrize(
    ("made", "expected", "difference"),
    [
        ([1.0, 2.0], [1.0, 2.5], 0.2),
        ([0.1], [0.2], 0.1),
        ([math.inf], [math.inf], 0.0),
        ([math.inf], [-math.inf], math.inf),
        ([math.nan], [math.nan], 0.0),
        ([math.nan], [1.0], math.inf),
        ([], [], 0.0),
    ],
)
def test_differences(made: list[float], expected: list[float], difference: float) -> None:
    found = largest_difference(torch.tensor(made), torch.tensor(expected))
    assert found == pytest.approx(difference)
