"""Functions composed of others: special values, gradients and dropout are those of the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from torch_infini import _native

pytestmark = pytest.mark.skipif(
    not {"aten::where.self", "aten::remainder.Tensor"} <= set(_native.registered_overloads()),
    reason="the InfiniOps of this build has too few operators to compose these of",
)

VALUES = [0.0, -0.0, 1e-30, -1e-9, 1e-4, 0.3, 0.5, 1.0, 1.5, 2.5, 3.0, 7.7, 30.0, 88.0, 100.0]
VALUES += [-0.3, -0.5, -0.9, -1.0, -1.5, -2.5, -7.7, -30.0, -100.0, 1e20, float("inf")]
VALUES += [float("-inf"), float("nan")]

UNARY = [torch.log1p, torch.expm1, torch.log2, torch.log10, torch.exp2, torch.sinh, torch.cosh]
UNARY += [torch.sinc, torch.floor, torch.ceil, torch.trunc, torch.frac, torch.round, torch.signbit]
UNARY += [torch.nan_to_num, torch.special.entr, torch.logit]
BINARY = [torch.logaddexp, torch.logaddexp2, torch.xlogy, torch.special.xlog1py, torch.copysign]
BINARY += [torch.heaviside, torch.fmax, torch.fmin, torch.fmod]


def named(function: Any) -> str:
    return str(getattr(function, "__name__", function))


def same(found: Tensor, expected: Tensor, absolute: float = 1e-37) -> None:
    assert found.device.type == "infini"
    torch.testing.assert_close(found.cpu(), expected, equal_nan=True, rtol=2e-6, atol=absolute)


@pytest.mark.parametrize("function", UNARY, ids=named)
def test_special_values_of_one_operand(function: Callable[[Tensor], Tensor]) -> None:
    x = torch.tensor(VALUES)
    if function is torch.sinc:
        x = x[x.abs() < 10]  # the sine of large numbers differs by their last bit
    same(function(x.to("infini")), function(x))


@pytest.mark.parametrize("function", BINARY, ids=named)
def test_special_values_of_two_operands(function: Callable[[Tensor, Tensor], Tensor]) -> None:
    x = torch.tensor(VALUES)
    if function is torch.fmod:
        x = x[(x.abs() < 1e3) & (x.abs() > 1e-3)]
    found = function(x.to("infini").unsqueeze(1), x.to("infini"))
    # Sums of logarithms cancel.
    same(found, function(x.unsqueeze(1), x), 1e-6 if "logaddexp" in named(function) else 1e-37)


@pytest.mark.parametrize("function", [torch.floor, torch.ceil, torch.trunc, torch.round])
def test_integers_stay_as_they_are(function: Callable[[Tensor], Tensor]) -> None:
    x = torch.arange(-3, 4)
    found = function(x.to("infini"))
    assert found.dtype == torch.int64
    assert found.tolist() == x.tolist()


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "hardtanh": functional.hardtanh,
    "relu6": functional.relu6,
    "hardsigmoid": functional.hardsigmoid,
    "hardswish": functional.hardswish,
    "leaky_relu": lambda x: functional.leaky_relu(x, 0.1),
    "elu": lambda x: functional.elu(x, 1.5),
    "elu in place": lambda x: functional.elu(x * 1, 1.5, inplace=True),
    "celu": lambda x: functional.celu(x, 2.0),
    "selu": functional.selu,
    "softplus": lambda x: functional.softplus(x, 2.0, 3.0),
    "logsigmoid": functional.logsigmoid,
    "mish": functional.mish,
    "threshold": lambda x: functional.threshold(x, 0.5, 7.0),
    "softshrink": lambda x: functional.softshrink(x, 0.4),
    "hardshrink": lambda x: functional.hardshrink(x, 0.4),
    "smooth_l1": lambda x: functional.smooth_l1_loss(x, x.detach().flip(0), beta=0.7),
    "huber": lambda x: functional.huber_loss(x, x.detach().flip(0), delta=0.7, reduction="sum"),
    "l1": lambda x: functional.l1_loss(x, x.detach().flip(0)),
    "binary cross entropy": lambda x: functional.binary_cross_entropy(
        torch.sigmoid(x), (x.detach() > 0).to(x.dtype)
    ),
    "with logits": lambda x: functional.binary_cross_entropy_with_logits(
        x, (x.detach() > 0).to(x.dtype)
    ),
    "roll": lambda x: x.roll((1, -1), (0, 1)) * x,
    "prod": lambda x: x.prod(1),
    "cumprod": lambda x: x.cumprod(1),
    "var_mean": lambda x: torch.cat([y.flatten() for y in torch.var_mean(x, 1)]),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_gradients_are_those_of_the_cpu(name: str) -> None:
    x = torch.randn(4, 5, dtype=torch.float64) * 3
    found = []
    for device in ("infini", "cpu"):
        leaf = x.to(device).requires_grad_()
        result = ACTIVATIONS[name](leaf)
        result.backward(torch.ones_like(result))
        assert leaf.grad is not None
        found.append((result.detach().cpu(), leaf.grad.cpu()))
    torch.testing.assert_close(found[0], found[1])


def test_dropout_drops_and_scales_what_it_keeps() -> None:
    torch.infini.manual_seed(1)
    x = torch.ones(10_000, device="infini", requires_grad=True)
    y = functional.dropout(x, 0.25)
    y.backward(torch.ones_like(y))
    kept = y.detach().cpu() != 0
    assert 0.72 < kept.double().mean() < 0.78
    assert torch.equal(y.detach().cpu(), kept * torch.tensor(4 / 3))
    assert x.grad is not None
    assert torch.equal(x.grad.cpu(), y.detach().cpu())
    assert torch.equal(functional.dropout(x, 0.25, training=False).cpu(), x.detach().cpu())
    assert functional.dropout(x, 1.0).count_nonzero().item() == 0


def test_results_that_are_given_take_what_their_type_can_hold() -> None:
    x = torch.randn(3, 4)
    out = torch.zeros(4, 3, dtype=torch.float64, device="infini").t()
    assert torch.log1p(x.to("infini").abs(), out=out) is out
    torch.testing.assert_close(out.cpu(), torch.log1p(x.abs()).double(), rtol=1e-6, atol=1e-6)
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
        torch.log1p(x.to("infini"), out=torch.empty(3, 4, dtype=torch.int32, device="infini"))


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool, torch.uint8], ids=str)
@pytest.mark.parametrize("shape", [(3, 4), (), (0, 3), (2, 0)], ids=str)
def test_whether_any_or_all_elements_are_true(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    for source in (torch.zeros(shape), torch.ones(shape), torch.randint(0, 2, shape)):
        x = source.to(dtype)
        there = x.to("infini")
        for function in (torch.any, torch.all):
            assert torch.equal(function(there).cpu(), function(x))
            assert function(there).dtype == function(x).dtype
            for dim in range(x.dim()):
                for keepdim in (False, True):
                    expected = function(x, dim, keepdim=keepdim)
                    assert torch.equal(function(there, dim, keepdim=keepdim).cpu(), expected)


def test_masks_fill_the_tensor_itself() -> None:
    x = torch.randn(4, 6)
    mask = torch.randn(6) > 0
    there = x.to("infini")
    view, address = there[::2, 1:], there.data_ptr()
    x[::2, 1:].masked_fill_(mask[1:], 5.0)
    assert view.masked_fill_(mask[1:].to("infini"), 5.0) is view
    assert torch.equal(there.cpu(), x)
    assert there.data_ptr() == address
    with pytest.raises(RuntimeError):
        there.masked_fill_(torch.ones(2, 4, 6, dtype=torch.bool, device="infini"), 0.0)
    assert torch.equal(there.cpu(), x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32, torch.bool], ids=str)
def test_lists_are_added_in_place(dtype: torch.dtype) -> None:
    tensors = [torch.randn(3).to(dtype), torch.randn(2, 2).to(dtype)]
    there = [tensor.to("infini") for tensor in tensors]
    addresses = [tensor.data_ptr() for tensor in there]
    torch._foreach_add_(tensors, tensors)
    torch._foreach_add_(there, there)
    assert [tensor.data_ptr() for tensor in there] == addresses
    for found, expected in zip(there, tensors, strict=True):
        assert torch.equal(found.cpu(), expected)
