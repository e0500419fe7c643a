"""Attention runs as one operator of InfiniOps where it can."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
import torch
from torch.nn import functional

FUSED = "aten::_scaled_dot_product_fused_attention_overrideable"


def operands(dtype: torch.dtype, key_heads: int = 4) -> list[torch.Tensor]:
    torch.manual_seed(3)
    sizes = [(2, 4, 5, 8), (2, key_heads, 7, 8), (2, key_heads, 7, 8)]
    return [torch.randn(size).to(dtype) for size in sizes]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize(
    "options",
    [{}, {"is_causal": True}, {"scale": 0.3}, {"mask": True}, {"enable_gqa": True}],
    ids=str,
)
def test_results_are_those_of_the_cpu(dtype: torch.dtype, options: dict[str, Any]) -> None:
    options = dict(options)
    q, k, v = operands(dtype, key_heads=2 if options.get("enable_gqa") else 4)
    here = dict(options)
    if options.pop("mask", False):
        here = {"attn_mask": torch.randn(2, 1, 5, 7).to(dtype)}
    there = {name: x.to("infini") if torch.is_tensor(x) else x for name, x in here.items()}
    exact = {name: x.double() if torch.is_tensor(x) else x for name, x in here.items()}
    found = functional.scaled_dot_product_attention(*(x.to("infini") for x in (q, k, v)), **there)
    expected = functional.scaled_dot_product_attention(q.double(), k.double(), v.double(), **exact)
    tolerance = 2e-5 if dtype == torch.float32 else 2e-2
    torch.testing.assert_close(found.cpu().double(), expected, rtol=tolerance, atol=tolerance)


def test_one_operator_of_infiniops_is_called() -> None:
    q, k, v = (x.to("infini") for x in operands(torch.float32))
    with torch.profiler.profile() as profile:
        functional.scaled_dot_product_attention(q, k, v)
    names = {event.key for event in profile.key_averages()}
    assert FUSED in names
    assert "aten::bmm" not in names


def test_composition_is_used_where_the_user_asks_for_it() -> None:
    q, k, v = (x.to("infini") for x in operands(torch.float32))
    chosen = torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)
    refused = contextlib.suppress(NotImplementedError)  # by an InfiniOps without softmax
    with chosen, torch.profiler.profile() as profile, torch.no_grad(), refused:
        functional.scaled_dot_product_attention(q, k, v)
    assert FUSED not in {event.key for event in profile.key_averages()}


def test_transposed_heads_are_taken_as_they_are() -> None:
    q, k, v = operands(torch.float32)
    there = [x.transpose(1, 2).contiguous().to("infini").transpose(1, 2) for x in (q, k, v)]
    found = functional.scaled_dot_product_attention(*there)
    expected = functional.scaled_dot_product_attention(q, k, v)
    torch.testing.assert_close(found.cpu(), expected, rtol=2e-5, atol=2e-5)


def test_operands_elsewhere_are_refused() -> None:
    q, k, v = operands(torch.float32)
    with pytest.raises(RuntimeError, match=r"infini:0.*cpu|cpu.*infini:0|same device"):
        functional.scaled_dot_product_attention(q.to("infini"), k, v)
