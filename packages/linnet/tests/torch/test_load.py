"""Linnet source to a running model: the example, its inputs, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from linnet.source import LinnetError
from linnet.torch import LinnetModule, load, read_program
from linnet.torch.dtypes import torch_dtype

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_layer.linnet"


def example(dtype: str = "f32", **options: object) -> tuple[LinnetModule, dict[str, Tensor]]:
    generics = {"H": 8, "T": dtype}
    generator = torch.Generator().manual_seed(0)
    declared = read_program(EXAMPLE, generics=generics).declared(None)
    weights = {
        entry.path: torch.randn(entry.shape, generator=generator).to(torch_dtype(dtype))
        for entry in declared
        if not entry.optional
    }
    return load(EXAMPLE, generics=generics, weights=weights, **options), weights


def by_hand(weights: dict[str, Tensor], x: Tensor) -> Tensor:
    for layer in range(2):
        scale = torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-5)
        normal = (x.float() * scale).to(x.dtype) * weights[f"layers.{layer}.norm.weight"]
        x = x + functional.linear(normal, weights[f"layers.{layer}.proj.weight"])
    return x


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("numerics", ["exact", "equivalent", "fast"])
@pytest.mark.parametrize("compile", [False, None, "eager"])
def test_the_example_computes_what_pytorch_does(
    dtype: str, numerics: str, compile: bool | str | None
) -> None:
    model, weights = example(dtype, numerics=numerics, compile=compile)
    x = torch.randn(3, 8).to(torch_dtype(dtype))
    tolerance = 1e-5 if dtype == "f32" else 0.05
    assert torch.allclose(model(x), by_hand(weights, x), rtol=tolerance, atol=tolerance)


def test_an_entry_runs_at_any_size_that_its_type_allows() -> None:
    model, weights = example()
    for rows in (1, 5, 0, 2):
        x = torch.randn(rows, 8)
        assert torch.allclose(model(x), by_hand(weights, x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (torch.ones(3, 7), r"input x: Tensor\[B, H; T\] has the shape \[3, 8\] here, got \[3, 7\]"),
        (torch.ones(3), r"input x has 2 axes \(\[B, H\]\), got shape \[3\]"),
        (torch.ones(3, 8).double(), "input x has the dtype f32, got f64"),
        (None, "input x"),
    ],
)
def test_a_wrong_input_names_the_input_and_the_size(x: Tensor | None, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        example()[0](x)


def test_a_dtype_may_have_pytorchs_name() -> None:
    model, weights = example()
    same = load(EXAMPLE, generics={"H": 8, "T": "float32"}, weights=weights)
    x = torch.randn(3, 8)
    assert torch.equal(same(x), model(x))
    with pytest.raises(ValueError, match=r"Float dtype, got 'i32'; one of: bf16 \(bfloat16\), f16"):
        load(EXAMPLE, generics={"H": 8, "T": "int32"}, weights=weights)


def test_generics_are_asked_for_by_the_name_of_the_argument() -> None:
    with pytest.raises(ValueError, match=r"generics H; give generics=\{'H': ...\}"):
        read_program(EXAMPLE, generics={"T": "f32"})
    with pytest.raises(ValueError, match="block Model has no generic 'C'; it has: H, T"):
        read_program(EXAMPLE, generics={"H": 8, "C": 3})
    model = load(
        "module m\npub entry zeros<N: Dim>() -> Tensor[N; f32] { return fill<f32>([N], 0.0) }"
    )
    with pytest.raises(ValueError, match=r"no input tells N; give generics=\{'N': ...\}"):
        model.run_entry("zeros", [])
    with pytest.raises(ValueError, match=r"entry zeros has no generic 'M'; it has: N$"):
        model.run_entry("zeros", [], generics={"M": 3})
    assert torch.equal(model.run_entry("zeros", [], generics={"N": 3}), torch.zeros(3))


def test_source_with_errors_is_refused_with_its_diagnostics() -> None:
    with pytest.raises(LinnetError, match="E1201"):
        load("module m\npub entry f(x: f32) -> f32 {\n    return y\n}\n")


def test_a_missing_source_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"gone\.linnet"):
        load(tmp_path / "gone.linnet")


MODULE = """module m
use std.nn.linear::{Linear}

pub enum Mode {
    Plus,
    Minus
}

struct Pair {
    left: Tensor[2; f32]
    right: Tensor[2; f32]
}

pub entry scale(x: Tensor[2; f32], by: f32 = 2.0) -> Tensor[2; f32] {
    return x * by
}

pub entry turn(p: Pair, t: (f32, i64), mode: Mode) -> (Pair, i64) {
    let (factor, count) = t
    let sign = match mode {
        Plus => factor
        Minus => -factor
    }
    return (Pair(left = p.right * sign, right = p.left), count)
}
"""


def test_entries_of_a_module_need_no_weights_and_fill_in_defaults() -> None:
    model = load(MODULE)
    ones = torch.ones(2)
    assert model.scale(ones).tolist() == [2, 2]
    assert model.scale(ones, 3.0).tolist() == [3, 3]
    assert model.scale(x=ones, by=torch.tensor(4.0)).tolist() == [4, 4]


@pytest.mark.parametrize("compile", [False, None])
def test_structs_tuples_and_enums_go_in_and_out(compile: bool | None) -> None:
    model = load(MODULE, compile=compile)
    pair = {"left": torch.ones(2), "right": torch.full((2,), 5.0)}
    turned, count = model.turn(pair, (3.0, 7), 1)
    assert turned["left"].tolist() == [-15, -15]
    assert turned["right"].tolist() == [1, 1]
    assert int(count) == 7
    turned, _ = model.turn(pair, (3.0, 7), 0)
    assert turned["left"].tolist() == [15, 15]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ([], r"input 'x' is missing; it is Tensor\[B, 2; f32\]"),
        ([[[1.0, 2.0]]], r"input x: expected Tensor\[B, 2; f32\], got a list or tuple of 1"),
        ([{"a": 1}], r"input x: expected Tensor\[B, 2; f32\], got a mapping"),
        ([3.0], r"input x: .* a plain number is no input of that type"),
    ],
    ids=["missing", "list", "mapping", "number"],
)
def test_inputs_that_are_no_tensors_are_named_with_what_the_entry_takes(
    given: list[object], text: str
) -> None:
    model = load(
        """module m
pub block M {
    pub entry forward<B: Dim>(x: Tensor[B, 2; f32], y: Tensor[2; f32]? = none)
        -> Tensor[B, 2; f32] {
        return x * x
    }
}"""
    )
    assert model.forward(torch.ones(3, 2)).shape == (3, 2)
    with pytest.raises(TypeError, match=f"entry forward: {text}"):
        model.forward(*given)
