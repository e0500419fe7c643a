"""Corners of every registered operator, made from the list of them.

Whatever operands and results look like, the device does what the CPU does, or raises an error that
says what is wrong, and then has written nothing. A type that InfiniOps lacks is such an error.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import torch
from operands import OPERATORS, Registered, instead, on, replaced, tensors_of
from torch import Tensor

from torch_infini import _native

pytestmark = pytest.mark.filterwarnings(
    "ignore:Casting complex values to real discards:UserWarning"
)

DTYPES = (torch.float32, torch.int64, torch.bool, torch.complex64)
ERRORS = (RuntimeError, IndexError, ValueError, TypeError)
NAMED = {operator.name: operator for operator in OPERATORS}
SEVERAL = [name for name, operator in NAMED.items() if len(tensors_of(operator.arguments())) > 1]
WITH_OUT = [name for name, operator in NAMED.items() if operator.out is not None]
IN_PLACE = [name for name, operator in NAMED.items() if operator.in_place is not None]
Change = Callable[[Tensor], Tensor]


@pytest.fixture(autouse=True)
def _nothing_falls_back() -> Iterator[None]:
    before = _native.fallback_counts()
    yield
    assert _native.fallback_counts() == before


def offset(x: Tensor) -> Tensor:
    return x.new_zeros(x.numel() + 3)[3:].view(x.shape).copy_(x)


def transposed(x: Tensor) -> Tensor:
    return x.new_zeros(x.shape[::-1]).permute(*reversed(range(x.dim()))).copy_(x)


def spread(x: Tensor) -> Tensor:
    base = x.new_zeros([2 * size for size in x.shape])
    return base[tuple(slice(None, None, 2) for _ in x.shape)].copy_(x)


def expanded(x: Tensor) -> Tensor:
    return x.narrow(0, 0, 1).clone().expand(x.shape)


def negative(x: Tensor) -> Tensor:
    # Negated on the CPU, so that an InfiniOps with few operators is tested too.
    return x.clone() if x.dtype == torch.bool else torch._neg_view((x.cpu() * -1).to(x.device))


def conjugate(x: Tensor) -> Tensor:
    return x.conj()


LAYOUTS: dict[str, Change] = {
    change.__name__: change
    for change in (offset, transposed, spread, expanded, negative, conjugate)
}


def attempt(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """What a call gives, or the error that it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = function(*arguments, **named)
            torch.infini.synchronize()  # a device that works on its own tells of places here
        except ERRORS as error:
            return error
    return result


def is_clear(error: Exception) -> bool:
    text = str(error)
    return len(text) > 20 and "INTERNAL ASSERT" not in text


def is_clear_error(outcome: Any) -> bool:
    return isinstance(outcome, RuntimeError) and is_clear(outcome)


def agree(what: str, found: Any, expected: Any, values: Any = None) -> None:
    """Asserts that an outcome on infini is that on the CPU, or says what infini lacks.

    `values` are those to be found, where the CPU's own are not to be trusted.
    """
    if isinstance(expected, Exception):
        # What the CPU merely has no kernel for may work.
        if not isinstance(expected, NotImplementedError):
            assert isinstance(found, Exception), f"{what}: the CPU raises {expected!r}"
        if isinstance(found, Exception) and str(found) != str(expected):
            assert is_clear(found), f"{what}: {found!r}"
        return
    if isinstance(found, NotImplementedError):
        assert is_clear(found), f"{what}: {found!r}"
        return
    assert not isinstance(found, Exception), f"{what}: {found!r}"
    here, there = tensors_of(expected), tensors_of(found)
    assert len(here) == len(there), what
    wanted = here if values is None else tensors_of(values)
    for on_cpu, on_infini, value in zip(here, there, wanted, strict=True):
        assert on_infini.device.type == "infini", what
        assert (on_infini.dtype, on_infini.shape) == (on_cpu.dtype, on_cpu.shape), what
        assert on_infini.stride() == on_cpu.stride(), what
        torch.testing.assert_close(
            on_infini.cpu(),
            value.resolve_neg().to(on_cpu.dtype),
            equal_nan=True,
            msg=lambda m: f"{what}: {m}",
        )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", NAMED)
def test_operands_of_any_layout(name: str, dtype: torch.dtype) -> None:
    operator = NAMED[name]
    plain = operator.arguments(dtype)
    lacking = attempt(operator.function, *on("infini", plain))
    agree(name, lacking, attempt(operator.function, *plain))
    for layout, change in LAYOUTS.items():
        for which in range(len(tensors_of(plain))):
            here = replaced(plain, change, which)
            there = replaced(on("infini", plain), change, which)
            what = f"{name} {dtype}: operand {which} is {layout}"
            found = attempt(operator.function, *there)
            agree(what, found, attempt(operator.function, *here))
            # What the layout adds is no reason to refuse.
            assert isinstance(found, Exception) <= isinstance(lacking, Exception), (what, found)
            for kept, given in zip(tensors_of(there), tensors_of(here), strict=True):
                assert torch.equal(kept.cpu(), given), f"{what}: an operand was written"


@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize("wider", [False, True])
def test_zero_dimensional_operands_on_the_cpu(name: str, wider: bool) -> None:
    operator = NAMED[name]
    plain = operator.arguments()

    def number(x: Tensor) -> Tensor:
        first = x.flatten()[0]
        return first.double() if wider and x.is_floating_point() else first

    for which in range(len(tensors_of(plain))):
        here = replaced(plain, number, which)
        there = replaced(on("infini", plain), lambda x: number(x.cpu()), which)
        what = f"{name}: operand {which} is a number on the CPU"
        found = attempt(operator.function, *there)
        if operator.pointwise:
            assert not isinstance(found, Exception), f"{what}: {found!r}"
        elif isinstance(found, Exception):
            assert is_clear(found), f"{what}: {found!r}"
            continue
        agree(what, found, attempt(operator.function, *here))


@pytest.mark.parametrize("name", SEVERAL)
def test_operands_elsewhere_are_refused_by_name(name: str) -> None:
    operator = NAMED[name]
    arguments = on("infini", operator.arguments())
    elsewhere = ["cpu", *(["infini:1"] if torch.infini.device_count() > 1 else [])]
    for device in elsewhere:
        for which in range(len(tensors_of(arguments))):
            moved = replaced(arguments, partial(Tensor.to, device=device), which)
            with pytest.raises(RuntimeError) as caught:
                operator.function(*moved)
            for named in (device, "infini:0"):
                assert named in str(caught.value), f"{name}: operand {which} on {device}: {caught}"


def poison(shape: Any, dtype: torch.dtype) -> Tensor:
    return torch.full(tuple(shape), 7).to(dtype)


def other_type(dtype: torch.dtype) -> torch.dtype:
    return torch.int32 if dtype != torch.int32 else torch.int64


#: What a result to write into is made of: the result that the CPU gives.
RESULTS: dict[str, Change] = {
    "without elements": lambda r: torch.empty(0, dtype=r.dtype),
    "fitting": lambda r: poison(r.shape, r.dtype),
    "transposed": lambda r: transposed(poison(r.shape, r.dtype)),
    "spread": lambda r: spread(poison(r.shape, r.dtype)),
    "of another shape": lambda r: poison((*r.shape, 2), r.dtype),
    "of another type": lambda r: poison(r.shape, other_type(r.dtype)),
    "wider": lambda r: poison(r.shape, torch.float64),
    "bool": lambda r: poison(r.shape, torch.bool),
    # With room behind it, for those kernels of PyTorch that take any strides for their own.
    "overlapping itself": lambda r: poison((r.numel(),), r.dtype)[:1].expand(r.shape),
}


def in_layout_of(model: Tensor) -> Tensor:
    """A copy of `model` on infini with its strides, where it does not overlap itself."""
    span = 1 + sum((n - 1) * s for n, s in zip(model.shape, model.stride(), strict=True))
    base = torch.full((max(span, 0),), 7, device="infini").to(model.dtype)
    if model.numel() == 0:
        return torch.empty(model.shape, dtype=model.dtype, device="infini")
    return base.as_strided(model.shape, model.stride())


def outs(operator: Registered) -> list[str]:
    return [item.name for item in operator.out._schema.arguments if item.is_out]


@pytest.mark.parametrize("dtype", DTYPES[:2], ids=str)
@pytest.mark.parametrize("name", WITH_OUT)
def test_results_that_are_given(name: str, dtype: torch.dtype) -> None:
    operator = NAMED[name]
    plain = operator.arguments(dtype)
    made = attempt(operator.function, *plain)
    if isinstance(made, Exception):
        pytest.skip("the CPU has no kernel for this type")
    names, models = outs(operator), tensors_of(made)
    for kind, make in RESULTS.items():
        for which in range(len(names)):
            here = [make(m) if i == which else m.clone() for i, m in enumerate(models)]
            there = [in_layout_of(tensor) for tensor in here]
            before = [tensor.cpu() for tensor in there]
            arguments = on("infini", plain)
            expected = attempt(operator.out, *plain, **dict(zip(names, here, strict=True)))
            found = attempt(operator.out, *arguments, **dict(zip(names, there, strict=True)))
            what = f"{name} {dtype}: `{names[which]}` is {kind}"
            # InfiniOps refuses what PyTorch writes several times where it does not look.
            if kind != "overlapping itself" or not is_clear_error(found):
                # Some of PyTorch's kernels take any strides of a result for their own.
                strided = kind in ("transposed", "spread")
                agree(what, found, expected, models if strided else None)
            if isinstance(found, Exception):
                for old, tensor in zip(before, there, strict=True):
                    assert torch.equal(tensor.cpu(), old), f"{what}: written in spite of {found!r}"
            else:
                for result, given in zip(tensors_of(found), there, strict=True):
                    assert result is given, what


@pytest.mark.parametrize("name", WITH_OUT)
def test_results_of_another_shape_are_resized_with_a_warning(
    name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    operator = NAMED[name]
    arguments = on("infini", operator.arguments())
    models = tensors_of(operator.function(*arguments))
    given = {
        out: torch.zeros((*model.shape, 2), dtype=model.dtype, device="infini")
        for out, model in zip(outs(operator), models, strict=True)
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        operator.out(*arguments, **given)
    # PyTorch has no Python to warn through in some of its callers.
    text = " ".join(str(item.message) for item in caught) + capfd.readouterr().err
    assert "An output with one or more elements was resized" in text
    for tensor, model in zip(given.values(), models, strict=True):
        assert torch.equal(tensor.cpu(), model.cpu())


@pytest.mark.parametrize("name", WITH_OUT)
def test_results_elsewhere_are_refused_and_left_alone(name: str) -> None:
    operator = NAMED[name]
    arguments = on("infini", operator.arguments())
    models = tensors_of(operator.function(*arguments))
    elsewhere = ["cpu", *(["infini:1"] if torch.infini.device_count() > 1 else [])]
    for device in elsewhere:
        given = {
            out: poison(model.shape, model.dtype).to(device)
            for out, model in zip(outs(operator), models, strict=True)
        }
        with pytest.raises(RuntimeError) as caught:
            operator.out(*arguments, **given)
        assert device in str(caught.value), caught.value
        for tensor, model in zip(given.values(), models, strict=True):
            assert torch.equal(tensor.cpu(), poison(model.shape, model.dtype))


def sharing(x: Tensor) -> tuple[Tensor, Tensor]:
    """A copy of `x` and a tensor of its shape that begins one element behind it."""
    base = x.new_zeros(x.numel() + 1)
    base[:-1].copy_(x.flatten())
    return base[:-1].view(x.shape), base[1:].view(x.shape)


@pytest.mark.parametrize("way", ["the operand", "overlapping the operand"])
@pytest.mark.parametrize("name", WITH_OUT)
def test_results_that_share_memory_with_an_operand(name: str, way: str) -> None:
    operator = NAMED[name]
    plain = operator.arguments()
    names, models = outs(operator), tensors_of(operator.function(*plain))
    for which, operand in enumerate(tensors_of(plain)):
        fits = operand.shape == models[0].shape and operand.dtype == models[0].dtype
        if len(names) > 1 or not fits:
            continue
        outcomes = []
        for device in ("cpu", "infini"):
            first, behind = sharing(operand.to(device))
            arguments = replaced(on(device, plain), partial(instead, new=first), which)
            out = first if way == "the operand" else behind
            outcomes.append(attempt(operator.out, *arguments, **{names[0]: out}))
        # InfiniOps refuses what some of PyTorch's kernels read after they have written it.
        if way == "the operand" or not is_clear_error(outcomes[1]):
            agree(f"{name}: the result is {way} {which}", outcomes[1], outcomes[0])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", IN_PLACE)
def test_operands_that_are_changed(name: str, dtype: torch.dtype) -> None:
    operator = NAMED[name]
    plain = operator.arguments(dtype)
    for layout in (offset, transposed, spread, expanded, negative):
        outcomes, changed = [], []
        for device in ("cpu", "infini"):
            arguments = replaced(on(device, plain), layout, 0)
            before = arguments[0].cpu().clone()
            outcomes.append(attempt(operator.in_place, *arguments))
            changed.append((arguments[0], before))
        what = f"{name} {dtype}: {layout.__name__}"
        agree(what, outcomes[1], outcomes[0])
        target, before = changed[1]
        if isinstance(outcomes[1], Exception):
            assert torch.equal(target.cpu(), before), f"{what}: written in spite of an error"
        else:
            assert outcomes[1] is target, what


@pytest.mark.usefixtures("two_devices")
@pytest.mark.parametrize("name", NAMED)
def test_the_second_device_works_while_the_first_is_current(name: str) -> None:
    operator = NAMED[name]
    plain = operator.arguments()
    found = attempt(operator.function, *on("infini:1", plain))
    torch.infini.synchronize(1)
    agree(name, found, attempt(operator.function, *plain))
    assert all(made.device == torch.device("infini:1") for made in tensors_of(found))
    assert torch.infini.current_device() == 0
    with pytest.raises((RuntimeError, TypeError)):
        operator.function(*on("infini:1", plain), no_such_argument=1)
    assert torch.infini.current_device() == 0


@pytest.mark.skipif("aten::bmm" not in NAMED, reason="the InfiniOps of this build has no products")
def test_results_of_products_keep_their_strides() -> None:
    a, b = torch.randn(3, 4), torch.randn(4)
    for function, operands in (
        (torch.addmv, (torch.randn(3), a, b)),
        (torch.mv, (a, b)),
        (torch.baddbmm, (torch.randn(2, 3, 5), torch.randn(2, 3, 4), torch.randn(2, 4, 5))),
    ):
        expected = function(*operands)
        out = spread(torch.zeros(expected.shape, device="infini"))
        strides = out.stride()
        assert function(*on("infini", operands), out=out) is out
        assert out.stride() == strides
        torch.testing.assert_close(out.cpu(), expected)
