"""Regions know their inputs and outputs, refuse what cannot run, and hash by what they compute."""

from __future__ import annotations

import math

import pytest

from linnet.backends import Region, RegionError
from linnet.backends.testing import GraphBuilder, two_layer_graph
from linnet.graph import Graph


def chain() -> tuple[Graph, dict[str, int]]:
    """0: a = x + x; 1: b = a * w; 2: c = a - x; 3: write s := c; 4: d = b + c; result d."""
    builder = GraphBuilder()
    x = builder.input("x", (2,))
    w = builder.parameter("w", (2,))
    s = builder.state("s", (2,))
    a = builder.step("add", x, x)
    b = builder.step("mul", a, w)
    c = builder.step("sub", a, s)
    builder.write("s", c)
    d = builder.step("add", b, c)
    return builder.graph(d), {"x": x, "a": a, "b": b, "c": c, "d": d}


def test_region_of_a_range_lists_what_crosses_its_border() -> None:
    graph, values = chain()
    region = Region.of(graph, 1, 4)
    assert region.problem is None
    assert (region.start, region.stop) == (1, 4)
    assert region.inputs == (values["a"],)
    assert region.outputs == (values["b"], values["c"])
    assert region.parameters == ("w",)
    assert region.states_read == region.states_written == ("s",)


def test_values_used_only_inside_are_no_outputs_and_results_are() -> None:
    graph, values = chain()
    assert Region.of(graph, 0, 5).outputs == (values["d"],)
    assert Region.of(graph, 0, 1).outputs == (values["a"],)


def test_steps_apart_run_together_where_the_first_stands() -> None:
    graph, values = chain()
    region = Region.of_steps(graph, [2, 1])
    assert region.problem is None
    assert region.steps == (1, 2)
    assert region.outputs == (values["b"], values["c"])


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        ([], "has no steps"),
        ([1, 9], "names step 9, and the graph has the steps 0 to 4"),
        ([-1], "names step -1, and the graph has the steps 0 to 4"),
        ([1, 1], "overlaps itself: it names step 1 more than once"),
        ([0, 4], "is not convex: it runs at step 0 and reads value 4, which step 1 makes later"),
    ],
)
def test_bad_regions_say_what_is_wrong_and_give_nothing_else(
    steps: list[int], problem: str
) -> None:
    region = Region.of_steps(chain()[0], steps)
    assert region.problem is not None
    assert problem in region.problem
    for name in ("start", "stop", "inputs", "outputs", "parameters", "kind", "span"):
        with pytest.raises(RegionError, match=r"region \["):
            getattr(region, name)


def test_a_region_names_a_call_of_its_graph() -> None:
    graph = two_layer_graph()
    count = len(graph.calls)
    assert Region.of(graph, 0, 1, count).problem == (
        f"names call {count}, and the graph has {count} calls"
    )
    call = graph.calls[0]
    assert Region.of(graph, call.start, call.stop, call.index).problem is None


def test_a_state_must_not_be_touched_between_steps_apart() -> None:
    builder = GraphBuilder()
    x = builder.input("x", (2,))
    s = builder.state("s", (2,))
    builder.write("s", x)
    between = builder.step("add", x, s)
    later = builder.step("mul", s, s)
    graph = builder.graph((between, later))
    region = Region.of_steps(graph, [0, 2])
    assert region.problem is not None
    assert "writes the state s, which step 1 between its steps reads" in region.problem


def test_a_write_between_steps_that_read_the_state_is_refused() -> None:
    builder = GraphBuilder()
    x = builder.input("x", (2,))
    s = builder.state("s", (2,))
    first = builder.step("add", x, s)
    builder.write("s", x)
    last = builder.step("mul", s, s)
    region = Region.of_steps(builder.graph((first, last)), [0, 2])
    assert region.problem is not None
    assert "touches the state s, which step 1 between its steps writes" in region.problem


def test_equal_computations_have_one_kind() -> None:
    graph = two_layer_graph()
    linears = graph.semantic_calls("std.nn.linear::linear")
    kinds = [Region.of(graph, c.start, c.stop, c.index).kind for c in linears]
    assert kinds[0] == kinds[2]  # up of both layers
    assert kinds[1] == kinds[3]  # down of both layers
    assert kinds[0] != kinds[1]


def test_kind_is_the_same_in_every_process() -> None:
    graph = two_layer_graph(rows=2, width=4, hidden=6)
    assert Region.of(graph, 0, 1).kind == (
        "7bec5fc47adee5e093c50c6e5c9ee52ad4a4350a65f3bd1a898b1591a263c873"
    )


def scaled(number: float, dtype: str = "f32", rows: int = 2) -> Region:
    builder = GraphBuilder()
    x = builder.input("x", (rows,), dtype)
    y = builder.step("mul", x, builder.constant(number, dtype))
    return Region.of(builder.graph(y), 0, 1)


def test_kind_tells_numbers_dtypes_shapes_and_outputs_apart() -> None:
    regions = [scaled(1.0), scaled(-0.0), scaled(0.0), scaled(math.nan), scaled(1.0, "bf16")]
    regions.append(scaled(1.0, rows=3))
    graph = chain()[0]
    # The same first step, once with its value read outside and once not.
    regions += [Region.of(graph, 0, 3), Region.of(graph, 0, 5), Region.of(graph, 1, 3)]
    assert len({region.kind for region in regions}) == len(regions)
    assert scaled(math.nan).kind == scaled(math.nan).kind


def test_kind_sees_inside_loops() -> None:
    def loop(number: float) -> Region:
        builder = GraphBuilder()
        x = builder.input("x", (2,))
        factor = builder.constant(number)
        with builder.nested(((), "i64"), ((2,), "f32")) as ((_, carried), outputs):
            outputs.append(builder.step("mul", carried, factor))
        (result,) = builder.control("scan", [x], [builder.body()], start=0, stop=3)
        return Region.of(builder.graph(result), 0, 1)

    assert loop(2.0).kind == loop(2.0).kind != loop(3.0).kind


def test_overlap_means_a_shared_step() -> None:
    graph = chain()[0]
    assert Region.of(graph, 0, 2).overlaps(Region.of_steps(graph, [1, 3]))
    assert not Region.of(graph, 0, 2).overlaps(Region.of(graph, 2, 4))
