"""Gradients of rms_norm, whose kernel takes the place of PyTorch's composition."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from torch_infini import _native

# The gradients are composed of these.
NEEDED = {"aten::mean.out", "aten::rsqrt.out", "aten::sum.IntList_out"}

pytestmark = pytest.mark.skipif(
    not set(_native.registered_overloads()) >= NEEDED,
    reason="the InfiniOps of this build has no reductions",
)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("normalized", [(8,), (3, 8)], ids=str)
def test_gradients_agree_with_the_cpu(normalized: tuple[int, ...], weighted: bool) -> None:
    torch.manual_seed(2)
    x, g = torch.randn(2, 3, 8), torch.randn(2, 3, 8)
    w = torch.randn(normalized) if weighted else None
    found = []
    for device in ("infini", "cpu"):
        leaves = [t.to(device).requires_grad_() for t in (x, w) if t is not None]
        weight = leaves[1] if weighted else None
        functional.rms_norm(leaves[0], normalized, weight, eps=1e-5).backward(g.to(device))
        found.append([leaf.grad.cpu() for leaf in leaves])
    torch.testing.assert_close(found[0], found[1])


def test_gradcheck() -> None:
    x = torch.randn(3, 8, dtype=torch.float64).to("infini").requires_grad_()
    w = torch.randn(8, dtype=torch.float64).to("infini").requires_grad_()
    assert torch.autograd.gradcheck(lambda a, b: functional.rms_norm(a, (8,), b, 1e-6), (x, w))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_narrow_types_are_computed_in_float32(dtype: torch.dtype) -> None:
    x = torch.randn(4, 64).to(dtype)
    leaf = x.to("infini").requires_grad_()
    functional.rms_norm(leaf, (64,), eps=1e-5).backward(torch.ones_like(leaf))
    exact = x.double().requires_grad_()
    functional.rms_norm(exact, (64,), eps=1e-5).backward(torch.ones_like(exact))
    assert leaf.grad.dtype == dtype
    torch.testing.assert_close(leaf.grad.cpu().double(), exact.grad, rtol=1e-2, atol=1e-2)
