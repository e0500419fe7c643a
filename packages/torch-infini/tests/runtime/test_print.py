"""Printing: values and device, for every type, whatever operators the device has."""

from __future__ import annotations

import pytest
import torch

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_floating_values_print_as_on_cpu(dtype: torch.dtype) -> None:
    torch.set_printoptions(linewidth=10_000)
    try:
        for shape in ((), (3,), (2, 3), (2, 1, 3), (1, 2, 2, 2)):
            x = torch.randn(shape).to(dtype)
            there = repr(x.to("infini"))
            assert there.replace(", device='infini:0'", "") == repr(x)
            assert "device='infini:0'" in there
    finally:
        torch.set_printoptions(profile="default")


@pytest.mark.parametrize(
    "values",
    [
        [float("nan"), float("inf"), -float("inf"), 0.0, -0.0],
        [True, False],
        [1, -2, 2**40],
        [1 + 2j, complex("nan")],
        [],
    ],
    ids=["special", "bool", "int", "complex", "empty"],
)
def test_special_values_print_as_on_cpu(values: list[object]) -> None:
    x = torch.tensor(values)
    there = repr(x.to("infini"))
    assert there.replace(", device='infini:0'", "") == repr(x)


def test_large_tensors_are_summarised() -> None:
    text = repr(torch.zeros(1000, 1000, device="infini"))
    assert "..." in text
    assert len(text) < 1000


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2], ids=str)
def test_eight_bit_floats_print(dtype: torch.dtype) -> None:
    x = torch.tensor([1.0, 2.0]).to(dtype)
    assert repr(x.to("infini")).replace(", device='infini:0'", "") == repr(x)


def test_lazy_views_and_gradients_print() -> None:
    x = torch.tensor([1 + 2j]).to("infini")
    assert "1.-2.j" in repr(x.conj())
    assert "[-2.]" in repr(x.conj().imag)
    leaf = torch.ones(2, device="infini", requires_grad=True)
    assert repr(leaf) == "tensor([1., 1.], device='infini:0', requires_grad=True)"
    assert "grad_fn=<AddBackward0>" in repr(leaf + leaf)
    assert "Parameter containing" in repr(torch.nn.Parameter(leaf.detach()))


def test_str_and_format_work() -> None:
    x = torch.tensor(1.5, device="infini")
    assert f"{x:.2f}" == "1.50"
    assert str(torch.ones(2).to("infini")) == "tensor([1., 1.], device='infini:0')"


def test_printing_leaves_stream_and_graph_alone() -> None:
    stream = torch.infini.Stream()
    x = torch.ones(2, device="infini", requires_grad=True)
    with torch.infini.stream(stream):
        repr(x)
        assert torch.infini.current_stream() == stream
    assert x.grad_fn is None
