"""gradcheck of every differentiable registered operator, made from the list of them.

An operator is differentiable where its result on the CPU requires a gradient. Second and forward
derivatives are checked where PyTorch has them on the CPU. All of it is in float64, which the device
has for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import pytest
import torch
from operands import (
    OPERATORS,
    THROUGH_A_CALLER,
    Registered,
    instead,
    on,
    replaced,
    tensors_of,
)
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck
from torch.nn import functional

Function = Callable[..., Any]

NAMED = {operator.name: operator for operator in OPERATORS}

pytestmark = [
    pytest.mark.filterwarnings(
        # What PyTorch's own forward formulas use.
        "ignore:`torch.jit.*` is deprecated:DeprecationWarning"
    ),
    pytest.mark.skipif(
        not {"aten::mul.Tensor", "aten::sum.dim_IntList", "aten::where.self"} <= set(NAMED),
        reason="PyTorch's formulas of gradients need more than the InfiniOps of this build has",
    ),
]


def leaves_of(operator: Registered, device: str) -> list[Tensor]:
    """The floating arguments of `operator` on `device`, which require gradients."""
    arguments = on(device, operator.arguments(torch.float64))
    return [
        tensor.detach().requires_grad_()
        for tensor in tensors_of(arguments)
        if tensor.is_floating_point()
    ]


def applied(function: Function, operator: Registered, *, in_place: bool = False) -> Function:
    """`function` of its floating arguments alone, which gives its differentiable results."""

    def call(*leaves: Tensor) -> tuple[Tensor, ...]:
        arguments: Any = on(leaves[0].device, operator.arguments(torch.float64))
        rest = list(leaves)
        for which, tensor in enumerate(tensors_of(arguments)):
            if tensor.is_floating_point():
                given = rest.pop(0)
                written = given.clone() if in_place and which == 0 else given
                arguments = replaced(arguments, partial(instead, new=written), which)
        made = tensors_of(function(*arguments))
        return tuple(made[which] for which in differentiable_results(operator.name))

    return call


@cache
def differentiable_results(name: str) -> tuple[int, ...]:
    """Which results require gradients on the CPU."""
    operator = NAMED[name]
    arguments = operator.arguments(torch.float64)
    for which, tensor in enumerate(tensors_of(arguments)):
        if tensor.is_floating_point():
            arguments = replaced(arguments, Tensor.requires_grad_, which)
    made = tensors_of(operator.function(*arguments))
    return tuple(which for which, result in enumerate(made) if result.requires_grad)


@cache
def is_differentiable(name: str) -> bool:
    operator = NAMED[name]
    leaves = leaves_of(operator, "cpu")
    try:
        made = applied(operator.function, operator)(*leaves) if leaves else ()
        if made:
            total = torch.stack([result.sum() for result in made]).sum()
            torch.autograd.grad(total, leaves, allow_unused=True)
    except (NotImplementedError, RuntimeError) as error:
        if "not implemented" not in str(error):  # for floating operands, or its derivative
            raise
        return False
    return bool(made)


DIFFERENTIABLE = [name for name in NAMED if is_differentiable(name)]


def passes_on_cpu(
    check: Function, function: Function, operator: Registered, **options: Any
) -> bool:
    """Whether PyTorch has this derivative at all."""
    try:
        return bool(check(function, leaves_of(operator, "cpu"), **options))
    except (RuntimeError, NotImplementedError) as error:
        lacking = ("not implemented", "does not support it", "not currently supported")
        if not any(text in str(error) for text in lacking):
            raise
        return False


def test_most_operators_of_this_build_are_found() -> None:
    assert DIFFERENTIABLE
    assert not {"aten::argmax", "aten::eq.Tensor", "aten::bitwise_not"} & set(DIFFERENTIABLE)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_first_derivatives(name: str) -> None:
    operator = NAMED[name]
    assert gradcheck(applied(operator.function, operator), leaves_of(operator, "infini"))


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_second_derivatives(name: str) -> None:
    operator = NAMED[name]
    function = applied(operator.function, operator)
    if not passes_on_cpu(gradgradcheck, function, operator):
        pytest.skip("PyTorch has none on the CPU either")
    assert gradgradcheck(function, leaves_of(operator, "infini"))


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_forward_derivatives(name: str) -> None:
    operator = NAMED[name]
    function = applied(operator.function, operator)
    options = {"check_forward_ad": True, "check_backward_ad": False, "check_undefined_grad": False}
    if not passes_on_cpu(gradcheck, function, operator, **options):
        pytest.skip("PyTorch has none on the CPU either")
    assert gradcheck(function, leaves_of(operator, "infini"), **options)


@pytest.mark.parametrize("name", [name for name in DIFFERENTIABLE if NAMED[name].in_place])
def test_derivatives_through_the_form_that_changes_its_operand(name: str) -> None:
    operator = NAMED[name]
    function = applied(operator.in_place, operator, in_place=True)
    assert gradcheck(function, leaves_of(operator, "infini"))


@pytest.mark.parametrize("caller", sorted(set(THROUGH_A_CALLER.values())))
@pytest.mark.parametrize("masked", [False, True])
def test_derivatives_through_the_caller(caller: str, masked: bool) -> None:
    torch.manual_seed(0)
    sizes = [(1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 4), *([(1, 1, 3, 5)] if masked else [])]
    leaves = [
        torch.randn(size, dtype=torch.float64).to("infini").requires_grad_() for size in sizes
    ]
    function = getattr(functional, caller)
    assert gradcheck(function, leaves)
    assert gradgradcheck(function, leaves)
