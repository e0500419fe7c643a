"""Each rewriting rule: what it makes of a program, and that its legality is no lie."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from linnet_helpers.interpreter import run
from linnet_helpers.trips import optimized

from linnet.check import check_text
from linnet.graph.binding import graph_for
from linnet.ir.passes import RULES, Legality


@dataclass(frozen=True)
class Sample:
    """An expression of f32 tensors x and y, and what a rule makes of it."""

    rule: str
    before: str
    after: str


SAMPLES = [
    Sample("product_with_one", "x * 1.0", "x"),
    Sample("quotient_by_one", "x / 1.0", "x"),
    Sample("difference_with_zero", "x - 0.0", "x"),
    Sample("integer_sum_with_zero", "cast<f32>(n + 0)", "cast<f32>(n)"),
    Sample("sum_with_negative", "x + -y", "x - y"),
    Sample("difference_with_negative", "x - -y", "x + y"),
    Sample("quotient_by_power_of_two", "x / 8.0", "x * 0.125"),
    Sample("cast_through_wider", "cast<f32>(cast<f64>(x))", "x"),
    Sample("choice_by_negation", "w(x, y)", "select(x < y, y, x)"),
    Sample("negated_comparison", "v(x, y)", "select(x != y, x, y)"),
    Sample("float_sum_with_zero", "x + 0.0", "x"),
    Sample("zero_minus", "0.0 - x", "-x"),
    Sample("quotient_by_number", "x / 3.0", "x * 0.3333333333333333"),
    Sample("reciprocal_of_root", "x / sqrt(y)", "x * rsqrt(y)"),
    Sample("product_of_exponentials", "exp(x) * exp(y)", "exp(x + y)"),
    Sample("numbers_of_products", "x * 2.0 * 3.0", "x * 6.0"),
    Sample("numbers_of_sums", "x + 2.0 + 3.0", "x + 5.0"),
    Sample("cast_through_narrower", "cast<f32>(cast<f16>(x))", "x"),
]
HELD = {rule.name: rule for rule in RULES}


def program(sample: Sample) -> str:
    """An entry with the sample; `w` and `v` stand for choices in index notation."""
    forms = {
        "w(x, y)": "let z[i] = select(!(x[i] < y[i]), x[i], y[i])",
        "v(x, y)": "let z[i] = select(!(x[i] == y[i]), x[i], y[i])",
    }
    made = forms.get(sample.before, f"let z = {sample.before}")
    return (
        "module m\npub entry f(x: Tensor[64; f32], y: Tensor[64; f32], n: Tensor[64; i32])"
        f" -> Tensor[64; f32] {{ {made} return z }}"
    )


def result(text: str, x: object, y: object, n: object) -> np.ndarray:
    kinds = {"x": ((64,), "f32"), "y": ((64,), "f32"), "n": ((64,), "i32")}
    graph = graph_for(check_text(text), "f", kinds)
    return np.asarray(run(graph, {"x": x, "y": y, "n": n}))


def test_every_rule_has_a_sample() -> None:
    assert [sample.rule for sample in SAMPLES] == [rule.name for rule in RULES]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.rule)
def test_the_rule_applies_at_its_level_and_not_below(sample: Sample) -> None:
    legality = HELD[sample.rule].legality
    text = optimized(program(sample), legality)
    wanted = sample.after.replace("x < y, y, x", "x[i] < y[i], y[i], x[i]").replace(
        "x != y, x, y", "x[i] != y[i], x[i], y[i]"
    )
    assert f"return {wanted}\n" in text or f"= {wanted}\n" in text, text
    if legality > Legality.EXACT:
        below = optimized(program(sample), Legality(legality - 1))
        assert f"return {wanted}\n" not in below


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.rule)
def test_the_rule_changes_no_more_than_its_level_allows(sample: Sample) -> None:
    legality = HELD[sample.rule].legality
    pick = np.random.default_rng()
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 3e38, -1.5], np.float32)
    x, y = (pick.standard_normal(56).astype(np.float32) for _ in range(2))
    # Not less than 24 roots are ordinary numbers.
    x[:24], y[:24] = abs(x[:24]), abs(y[:24])
    x, y = np.concatenate([special, x]), np.concatenate([special[::-1], y])
    n = pick.integers(-(2**31), 2**31 - 1, 64).astype(np.int32)
    before = result(program(sample), x, y, n)
    after = result(optimized(program(sample), legality), x, y, n)
    if legality == Legality.EXACT:
        numbers = ~np.isnan(before)
        assert np.array_equal(np.isnan(before), np.isnan(after))
        assert before[numbers].tobytes() == after[numbers].tobytes()
    elif legality == Legality.IEEE:
        assert np.array_equal(before, after, equal_nan=True)
    else:
        # Ordinary numbers only: overflow and NaN may appear elsewhere.
        usual = np.isfinite(before[8:]) & np.isfinite(after[8:])
        tolerance = 1e-5 if legality == Legality.EQUIVALENT else 1e-2
        assert np.allclose(before[8:][usual], after[8:][usual], rtol=tolerance, atol=tolerance)
        assert usual.sum() >= 24


def test_rules_leave_what_they_must_not_touch() -> None:
    kept = [
        ("x / 3.0", Legality.EXACT),
        ("x + 0.0", Legality.EXACT),
        ("x * 0.0", Legality.APPROXIMATE),
        ("x / 0.0", Legality.APPROXIMATE),
        ("x * 1e30 * 2e30", Legality.EQUIVALENT),
        ("cast<f32>(cast<i32>(x))", Legality.APPROXIMATE),
    ]
    for expression, legality in kept:
        text = optimized(program(Sample("", expression, "")), legality)
        assert f"= {expression}\n" in text.replace("e+30", "e30"), text
