"""Passes keep what programs compute, leave well-formed IR, and come to an end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from linnet_helpers.programs import all_programs
from linnet_helpers.trips import answers, optimized, some_graphs, source_of

from linnet.check import check_text
from linnet.ir import IRModule, lower, verify_ir
from linnet.ir.emit_expressions import operations
from linnet.ir.json import module_to_json
from linnet.ir.passes import Legality, optimize

PROGRAMS = all_programs()


def same_bits(first: Any, second: Any) -> bool:
    """Whether two trees of arrays have the same shapes, dtypes and bits."""
    if isinstance(first, (tuple, list)):
        return all(same_bits(a, b) for a, b in zip(first, second, strict=True))
    if isinstance(first, dict):
        return all(same_bits(first[name], second[name]) for name in first)
    if first is None or second is None:
        return first is second
    a, b = np.asarray(first), np.asarray(second)
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_exact_passes_keep_every_bit(number: int) -> None:
    after = some_graphs(optimized(PROGRAMS[number], Legality.EXACT))
    for name, graph in some_graphs(PROGRAMS[number]).items():
        assert same_bits(answers(graph, 1), answers(after[name], 1)), name


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_every_level_leaves_programs_that_check_and_a_fixed_point(number: int) -> None:
    module = lower(check_text(PROGRAMS[number]).ensure_valid())
    for legality in Legality:
        after = optimize(module, legality, verify_ir)
        assert count(after) <= count(module) + 8
        again = optimize(after, legality, verify_ir)
        assert source_of(again) == source_of(after)


def count(module: IRModule) -> int:
    """How many operations a module's bodies have."""
    functions = module_to_json(module, None)["functions"]
    return sum(1 for fn in functions for _ in operations(fn["body"]))


def shown(body: str, legality: Legality = Legality.EXACT) -> list[str]:
    """The statements of the last function after the passes."""
    text = optimized(f"module m\n{body}", legality)
    return [line.strip() for line in text.split("\n")[2:] if line.startswith("    ")]


def test_known_branches_are_taken() -> None:
    assert shown("fn f(x: f32) -> f32 { return if 1 + 1 == 2 { x } else { x * 2.0 } }") == [
        "return x"
    ]
    text = (
        "enum Mode { A, B }\nfn f(x: f32) -> f32 {"
        " let o = some((x, x * 2.0))"
        " let y = match o { some((a, b)) => a + b none => 0.0 }"
        " let m = Mode.B return match m { A => y B => -y } }"
    )
    assert shown(text)[-2:] == ["let y = x + b", "return -y"]


def test_structures_are_opened() -> None:
    text = (
        "struct S { a: f32 b: f32 }\nfn f(x: f32) -> f32 {"
        " let s = S(a = x * 2.0, b = x) let (p, q) = (s.b, s.a) return p - q }"
    )
    assert shown(text)[-1] == "return x - q"


def test_views_of_views_are_one_view() -> None:
    text = (
        "fn f<A: Dim, B: Dim, C: Dim>(x: Tensor[A, B, C; f32]) -> Tensor[A, B, C; f32] {"
        " let y = permute(permute(x, [2, 0, 1]), [1, 2, 0])"
        " let z = reshape(reshape(y, [A * B, C]), [A, B, C]) return z[:, :, :] }"
    )
    assert shown(text) == ["return x"]


def test_integers_are_folded_and_wrap() -> None:
    text = "fn f(x: i8) -> i8 { let a: i8 = 127 let b: i8 = 1 return x * (a + b) }"
    assert shown(text) == ["return x * -128"]
    text = "fn f(x: i32) -> i32 { let a: i32 = -7 let b: i32 = 2 return x + a / b + a % b }"
    assert shown(text) == ["return x + -3 + -1"]


def test_division_by_zero_is_left_for_the_run() -> None:
    text = "fn f(x: i32) -> i32 { let a: i32 = 1 let b: i32 = 0 return x + a / b }"
    assert any("/" in line for line in shown(text))


def test_what_is_the_same_is_done_once() -> None:
    text = (
        "fn f<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] {"
        " let a[i] = exp(x[i]) * exp(x[i]) let b[j] = exp(x[j]) * exp(x[j]) return a + b }"
    )
    lines = shown(text)
    assert len(lines) == 2
    assert lines[1] == "return a + a"


def test_zeros_of_both_signs_stay_apart() -> None:
    text = "fn f(x: f32, y: f32) -> (f32, f32) { return (x * 0.0, y * (-0.0)) }"
    assert "-0.0" in shown(text)[-1]


def test_states_keep_their_order_and_their_writes() -> None:
    text = (
        "pub block B { state s: Tensor[2; f32]\n"
        "fn push(x: Tensor[2; f32]) -> f32 { let old = s s = s + x return sum[i] old[i] }\n"
        "pub entry go(x: Tensor[2; f32]) -> f32 {"
        " let _a = push(x) let b = push(x) return b + (sum[i] s[i]) } }"
    )
    lines = shown(text)
    assert sum("push(x)" in line and "let" in line for line in lines) == 2
    assert "let old = s" in lines
    assert "s = s + x" in lines


def test_what_nobody_reads_is_gone() -> None:
    text = (
        "fn f<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] {"
        " let a[i] = x[i] * 2.0 var c = 0.0 for i in 0..N { c = c + 1.0 } return x }"
    )
    assert shown(text) == ["return x"]


def test_a_loop_does_not_carry_what_it_leaves_alone() -> None:
    text = (
        "fn f<N: Dim>(x: f32) -> f32 { var a = x var b = x + 1.0"
        " for i in 0..N { a = a * b b = b } return a + b }"
    )
    assert not any(line.startswith("var b") for line in shown(text))
    text = (
        "fn f(x: f32) -> f32 { var a = x var b = x + 1.0"
        " while a < b { a = a * 2.0 b = b } return a + b }"
    )
    assert not any(line.startswith("var b") for line in shown(text))
