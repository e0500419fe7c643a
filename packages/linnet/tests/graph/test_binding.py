"""Graphs of small programs, run step by step, give the values that the source means."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from linnet_helpers.interpreter import run
from linnet_helpers.small_programs import ARRAY, OPTIONAL_CHILD, SCAN, SPLIT

from linnet.check import check_text
from linnet.graph import Graph, verify
from linnet.graph.binding import graph_for, manifest
from linnet.graph.bound import BindingError
from linnet.source import LinnetError


def graph(text: str, entry: str = "run", inputs: Any = (), **options: Any) -> Graph:
    found = graph_for(check_text(f"module m\n{text}"), entry, inputs, **options)
    verify(found)
    assert Graph.from_json(found.to_json()) == found
    return found


def test_scan_stacks_what_it_yields_and_carries_variables() -> None:
    made = graph(SCAN, inputs={"xs": ((3, 1), "f32"), "start": ((), "i64")})
    totals, marks, count = run(made, {"xs": np.ones((3, 1)), "start": 1})
    np.testing.assert_allclose(totals[:, 0], [1, 1.9, 2.71], rtol=1e-6)
    assert marks.tolist() == [4, 9, 16]
    assert count == 4


COUNTER = """
pub block Counter {
    state seen: Tensor[1; i64]
    pub entry run(x: i64) -> i64 {
        let before = seen[0]
        seen = seen + x + select(before > 0, 1, 0)
        return select(before > 0, 1, 0)
    }
}
"""


def test_state_is_read_before_and_written_after() -> None:
    made = graph(COUNTER, inputs={"x": ((), "i64")})
    states: dict[str, Any] = {}
    assert run(made, {"x": 2}, states=states) == 0
    assert states["seen"].tolist() == [2]
    assert run(made, {"x": 4}, states=states) == 1
    assert states["seen"].tolist() == [7]
    assert [s.kind for s in made.steps].count("state_write") == 1
    assert made.states[0].path == "seen"
    assert made.states[0].result != made.states[0].value


def test_optional_child_follows_its_weights() -> None:
    inputs = {"x": ((2,), "f32")}
    without = graph(OPTIONAL_CHILD, inputs=inputs, generics={"N": 2})
    assert without.steps == ()
    assert without.results == (without.inputs[0].value,)
    present = graph(OPTIONAL_CHILD, inputs=inputs, generics={"N": 2}, bound={"head.w"})
    assert run(present, {"x": [1, 2]}, {"head.w": [3, 4]}).tolist() == [3, 8]


def test_manifest_lists_paths_in_order_of_declaration() -> None:
    found = manifest(check_text(f"module m\n{ARRAY}"), generics={"N": 4, "L": 2})
    shown = [f"{e.path}{'?' if e.optional else ''}" for e in found]
    assert shown == [
        "units.0.gain",
        "units.0.bias?",
        "units.1.gain",
        "units.1.bias?",
        "first.gain",
        "first.bias?",
    ]
    assert {(e.shape, e.dtype, e.kind) for e in found} == {((4,), "bf16", "param")}


def test_block_arrays_unroll_with_their_paths() -> None:
    made = graph(
        ARRAY,
        inputs=[((1, 4), "bf16")],
        generics={"N": 4, "L": 2},
        bound={"units.1.bias"},
    )
    assert [c.path for c in made.calls] == ["first", "units.0", "units.1"]
    weights = {"units.0.gain": [2] * 4, "units.1.gain": [3] * 4, "first.gain": [1] * 4}
    found = run(made, {"x0": [[1, 2, 3, 4]]}, {**weights, "units.1.bias": [10] * 4})
    assert found.tolist() == [[22, 28, 34, 40]]


def test_block_where_is_checked_at_the_binding() -> None:
    with pytest.raises(BindingError, match=r"needs \(H % N\) == 0, which H = 10, N = 3 breaks"):
        graph(SPLIT, inputs=[((1, 10), "f32")], generics={"H": 10, "N": 3})
    made = graph(SPLIT, inputs=[((1, 6), "f32")], generics={"H": 6, "N": 3})
    found = run(made, {"x": [range(6)]}, {"w": [[1, 1], [2, 2], [3, 3]]})
    assert found.tolist() == [[[0, 1], [4, 6], [12, 15]]]


INDEX = """
pub entry run<N: Dim, M: Dim, K: Dim>(
    a: Tensor[N, N; i32],
    x: Tensor[M, K; f32],
    ids: Tensor[M; i64],
    k: i32,
) -> (Tensor[N; i32], Tensor[N, N; i32], Tensor[M, K; f32], Tensor[M; f32], Tensor[K; f32], f32) {
    let d[i] = a[i, i]
    let t[j, i] = a[i, j]
    let rows[m, c] = x[ids[m], c] + cast<f32>(iota(M)[m])
    let picked[m] = x[m, ids[m]]
    return (d, t, rows, picked, x[k], sum[m, c] x[m, c] * 2.0)
}
"""


def test_index_notation_means_what_numpy_computes() -> None:
    inputs = {
        "a": ((2, 2), "i32"),
        "x": ((2, 3), "f32"),
        "ids": ((2,), "i64"),
        "k": ((), "i32"),
    }
    made = graph(INDEX, inputs=inputs)
    a = np.array([[1, 2], [3, 4]])
    x = np.arange(6.0).reshape(2, 3)
    ids = np.array([1, 0])
    d, t, rows, picked, row, total = run(made, {"a": a, "x": x, "ids": ids, "k": 1})
    assert d.tolist() == [1, 4]
    assert t.tolist() == a.T.tolist()
    assert rows.tolist() == (x[ids] + np.arange(2)[:, None]).tolist()
    assert picked.tolist() == x[np.arange(2), ids].tolist()
    assert row.tolist() == x[1].tolist()
    assert total == 30


def test_sums_of_products_contract_and_squares_do_not() -> None:
    text = """
pub entry run<B: Dim, H: Dim, O: Dim>(x: Tensor[B, H; f32], w: Tensor[O, H; f32]) -> Tensor[B, O;
f32] {
    let y[b, o] = (sum[h] x[b, h] * w[o, h]) + (sum[h] x[b, h] * x[b, h])
    return y
}
"""
    made = graph(text, inputs=[((2, 3), "f32"), ((4, 3), "f32")])
    assert [s.kind for s in made.steps].count("contract") == 1
    assert made.steps[0].attributes == {"inputs": ((0, 1), (2, 1)), "output": (0, 2)}
    x, w = np.random.default_rng(0).normal(size=(2, 3)), np.ones((4, 3))
    want = x @ w.T + (x * x).sum(1)[:, None]
    np.testing.assert_allclose(run(made, {"x": x, "w": w}), want, rtol=1e-5)


def test_while_and_if_keep_states_and_variables() -> None:
    text = """
pub block M {
    state hits: Tensor[1; i64]
    fn bump(x: f32) -> f32 {
        hits = hits + 1
        return x * 0.5
    }
    pub entry run(x: f32, flag: bool) -> (f32, i64) {
        var y = x
        var n = 0
        while y > 1.0 && n < 10 {
            y = bump(y)
            n = n + 1
        }
        let z = if flag { bump(y) } else { y }
        return (z, n)
    }
}
"""
    made = graph(text, inputs=[((), "f32"), ((), "bool")])
    states: dict[str, Any] = {}
    z, n = run(made, {"x": 8.0, "flag": True}, states=states)
    assert (z, n, states["hits"].tolist()) == (0.5, 3, [4])
    z, n = run(made, {"x": 8.0, "flag": False}, states=states)
    assert (z, n, states["hits"].tolist()) == (1.0, 3, [7])


def test_structs_tuples_enums_and_optionals_are_taken_apart() -> None:
    text = """
struct Pair<N: Dim> {
    low: Tensor[N; f32]
    high: Tensor[N; f32]
}
enum Mode { Add, Mul, Low }
pub entry run<N: Dim>(p: Pair<N>, t: (f32, i32), m: Mode, b: Tensor[N; f32]? = none) -> Pair<N> {
    let (scale, _shift) = t
    let mixed = match m {
        Add => p.low + p.high
        Mul => p.low * p.high
        Low => p.low
    }
    let out = match b { some(v) => mixed + v none => mixed }
    return Pair(low = out, high = p.high * scale)
}
"""
    vector = ((2,), "f32")
    inputs = {
        "p": {"low": vector, "high": vector},
        "t": (((), "f32"), ((), "i32")),
        "m": ((), "i64"),
    }
    made = graph(text, inputs=inputs)
    assert [i.name for i in made.inputs] == ["p.low", "p.high", "t.0", "t.1", "m"]
    values = {"p.low": [1, 2], "p.high": [3, 4], "t.0": 2, "t.1": 0}
    for mode, want in ((0, [4, 6]), (1, [3, 8]), (2, [1, 2])):
        found = run(made, {**values, "m": mode})
        assert found["low"].tolist() == want
        assert found["high"].tolist() == [6, 8]
    given = graph(text, inputs={**inputs, "b": vector})
    assert run(given, {**values, "m": 2, "b": [10, 20]})["low"].tolist() == [11, 22]


def test_slices_clamp_and_step() -> None:
    text = """
pub entry run<N: Dim>(x: Tensor[N, 5; f32]) -> (Tensor[N, 2; f32], Tensor[N; f32], Tensor[min(N, 2),
5; f32]) {
    return (x[:, 1:5:2], x[..., 4], x[:2])
}
"""
    x = np.arange(15.0).reshape(3, 5)
    a, b, c = run(graph(text, inputs=[((3, 5), "f32")]), {"x": x})
    assert a.tolist() == x[:, 1:5:2].tolist()
    assert b.tolist() == x[:, 4].tolist()
    assert c.tolist() == x[:2].tolist()
    a, b, c = run(graph(text, inputs=[((1, 5), "f32")]), {"x": x[:1]})
    assert c.tolist() == x[:1].tolist()


def test_gradient_of_an_op_is_kept_with_its_call() -> None:
    text = """
op gate<N: Dim>(x: Tensor[N; f32], w: Tensor[N; f32], mode: i32) -> Tensor[N; f32] {
    return x * w
} grad(y, dy) {
    return (dy * w, dy * x)
}
pub entry run<N: Dim>(x: Tensor[N; f32], w: Tensor[N; f32]) -> Tensor[N; f32] {
    return gate(x, w, 0)
}
"""
    (call,) = graph(text, inputs=[((2,), "f32"), ((2,), "f32")]).semantic_calls("m::gate")
    assert call.gradient is not None
    assert len(call.gradient.inputs) == 5
    assert len(call.gradient.outputs) == 2
    assert [s.kind for s in call.gradient.steps] == ["mul", "mul"]


def test_unused_work_is_dropped_and_kept_calls_stay_whole() -> None:
    text = """
op pair<N: Dim>(x: Tensor[N; f32]) -> (Tensor[N; f32], Tensor[N; f32]) { return (x + 1.0, x * 2.0) }
pub entry run<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] {
    let _unused = exp(x)
    let (a, _b) = pair(x)
    return a
}
"""
    made = graph(text, inputs=[((2,), "f32")])
    assert [s.kind for s in made.steps] == ["add", "mul"]
    (call,) = made.calls
    assert (call.start, call.stop) == (0, 2)
    assert len(call.results) == 2


@pytest.mark.parametrize(
    ("inputs", "options", "complaint"),
    [
        ({"x": ((2, 5), "f32")}, {"generics": {"N": 4, "L": 1}}, "has the dtype bf16, got f32"),
        ({"x0": ((2, 5), "bf16")}, {"generics": {"N": 4, "L": 1}}, r"\[2, 4\] here, got \[2, 5\]"),
        ({"x0": ((5,), "bf16")}, {"generics": {"N": 4, "L": 1}}, "has 2 axes"),
        ({}, {"generics": {"N": 4, "L": 1}}, "no input tells B; give entry_generics={'B': ...}"),
        ({"x0": ((2, 4), "bf16")}, {"generics": {"N": 4}}, "generics L; give generics={'L': ...}"),
        ({"x0": ((2, 4), "bf16")}, {"generics": {"N": -1, "L": 1}}, "size of at least 0, got -1"),
        ({"x0": ((2, 4), "bf16")}, {"generics": {"Q": 4}}, "no generic 'Q'; it has: N, L"),
        (
            {"x0": ((2, 4), "bf16")},
            {"generics": {"N": 4, "L": 1}, "entry_generics": {"C": 3}},
            "entry run has no generic 'C'; it has: B, and block Stack has: N, L",
        ),
        (
            {"x0": ((2, 4), "bf16")},
            {"generics": {"N": 4, "L": 1}, "entry_generics": {"N": 3}},
            "has no generic 'N'; it has: B. N is one of block Stack, set with the root",
        ),
        ({"x0": ((2, 4), "bf16")}, {"root": "Nope"}, "no block 'Nope'; it has: Unit, Stack"),
    ],
)
def test_a_binding_that_does_not_fit_is_refused(
    inputs: Any, options: dict[str, Any], complaint: str
) -> None:
    inputs = {name.replace("x0x", "x0"): spec for name, spec in inputs.items()}
    if "x" in inputs:
        inputs = {"x0": inputs["x"]}
    with pytest.raises(BindingError, match=complaint):
        graph(ARRAY, inputs=inputs, **options)


def test_the_dtype_of_an_input_may_have_pytorchs_name() -> None:
    text = "pub entry run<N: Dim>(x: Tensor[N; u8]) -> Tensor[N; u8] { return x }"
    assert graph(text, inputs=[((2,), "uint8")]) == graph(text, inputs=[((2,), "u8")])


def test_programs_with_errors_have_no_graph() -> None:
    with pytest.raises(LinnetError, match="E1201"):
        graph("pub entry run(x: f32) -> f32 { return y }", inputs=[((), "f32")])
