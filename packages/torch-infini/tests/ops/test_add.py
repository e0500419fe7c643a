"""`torch.add` on infini: PyTorch's semantics, InfiniOps' arithmetic."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch

DTYPES = [
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.complex64,
    torch.complex128,
]


def values(shape: tuple[int, ...], dtype: torch.dtype, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    if dtype == torch.bool:
        return torch.rand(shape, generator=generator) > 0.5
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(shape, dtype=torch.float64, generator=generator).to(dtype)
    low = 0 if dtype == torch.uint8 else -100
    return torch.randint(low, 100, shape, dtype=dtype, generator=generator)


def same(actual: torch.Tensor, expected: torch.Tensor) -> None:
    assert actual.device.type == "infini"
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    torch.testing.assert_close(actual.cpu(), expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (2, 3, 4, 5), (0,), (2, 0, 3)], ids=str)
def test_every_type_and_shape(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    a, b = values(shape, dtype), values(shape, dtype, 1)
    same(a.to("infini") + b.to("infini"), a + b)


@pytest.mark.parametrize(
    ("left", "right"), list(itertools.permutations(DTYPES, 2)), ids=lambda dtype: str(dtype)[6:]
)
def test_promotion_is_that_of_torch(left: torch.dtype, right: torch.dtype) -> None:
    a, b = values((3, 4), left), values((3, 4), right, 1)
    same(a.to("infini") + b.to("infini"), a + b)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((0, 3), (1, 3)),
        ((2, 0), (2, 1)),
        ((0,), ()),
        ((1, 0, 1), (4, 1, 5)),
        ((), (2, 3)),
        ((2, 3), ()),
        ((3,), (2, 3)),
        ((2, 1), (1, 3)),
        ((4, 1, 5), (3, 1)),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64], ids=str)
def test_shapes_broadcast(
    left: tuple[int, ...], right: tuple[int, ...], dtype: torch.dtype
) -> None:
    a, b = values(left, dtype), values(right, dtype, 1)
    same(a.to("infini") + b.to("infini"), a + b)


@pytest.mark.parametrize(("left", "right"), [((0, 3), (2, 3)), ((2, 3), (4,))], ids=str)
def test_shapes_that_do_not_broadcast_are_refused_as_on_cpu(
    left: tuple[int, ...], right: tuple[int, ...]
) -> None:
    a, b = torch.zeros(left), torch.zeros(right)
    with pytest.raises(RuntimeError) as on_cpu:
        a + b
    with pytest.raises(RuntimeError) as on_infini:
        a.to("infini") + b.to("infini")
    assert str(on_infini.value) == str(on_cpu.value)


@pytest.mark.parametrize(
    ("alpha", "dtype"),
    [
        (2, torch.int32),
        (-3, torch.int64),
        (0.5, torch.float32),
        (2, torch.bfloat16),
        (True, torch.bool),
        (1 + 2j, torch.complex64),
        (0, torch.float64),
    ],
    ids=str,
)
def test_alpha_multiplies_the_second_operand(alpha: Any, dtype: torch.dtype) -> None:
    a, b = values((3, 4), dtype), values((3, 4), dtype, 1)
    actual = torch.add(a.to("infini"), b.to("infini"), alpha=alpha)
    expected = torch.add(a, b, alpha=alpha)
    torch.testing.assert_close(actual.cpu(), expected)


@pytest.mark.parametrize(("alpha", "dtype"), [(0.5, torch.int32), (1j, torch.float32)], ids=str)
def test_alpha_that_the_type_cannot_hold_is_refused_as_on_cpu(
    alpha: Any, dtype: torch.dtype
) -> None:
    a = torch.ones(2, dtype=dtype)
    with pytest.raises(RuntimeError) as on_cpu:
        torch.add(a, a, alpha=alpha)
    with pytest.raises(RuntimeError) as on_infini:
        torch.add(a.to("infini"), a.to("infini"), alpha=alpha)
    assert str(on_infini.value) == str(on_cpu.value)


@pytest.mark.parametrize("number", [2, 0.5, True, 1 + 2j, float("nan"), -(2**20)], ids=str)
@pytest.mark.parametrize("dtype", [torch.int32, torch.float32, torch.bfloat16, torch.bool], ids=str)
def test_numbers_are_operands(number: Any, dtype: torch.dtype) -> None:
    a = values((3, 4), dtype)
    same(a.to("infini") + number, a + number)
    same(number + a.to("infini"), number + a)


def test_zero_dimensional_cpu_tensors_are_operands() -> None:
    a = values((3, 4), torch.float32)
    for scalar in (torch.tensor(2.5), torch.tensor(3), torch.tensor(1.5, dtype=torch.float64)):
        same(a.to("infini") + scalar, a + scalar)
        same(scalar + a.to("infini"), scalar + a)


def test_cpu_tensors_with_dimensions_are_refused() -> None:
    with pytest.raises(RuntimeError, match=r"same device.*infini:0.*cpu"):
        torch.ones(3, device="infini") + torch.ones(3)


def test_integers_wrap() -> None:
    for dtype, a, b, expected in (
        (torch.uint8, 250, 10, 4),
        (torch.int8, 127, 1, -128),
        (torch.int32, 2**31 - 1, 1, -(2**31)),
        (torch.bool, True, True, True),
    ):
        x = torch.tensor([a], dtype=dtype).to("infini")
        y = torch.tensor([b], dtype=dtype).to("infini")
        assert (x + y).tolist() == [expected]


def layouts() -> list[tuple[str, Any]]:
    return [
        ("contiguous", lambda t: t),
        ("transposed", lambda t: t.t()),
        ("every second", lambda t: t[:, ::2]),
        ("offset", lambda t: t.flatten()[1:13].view(3, 4)),
        ("expanded", lambda t: t[:1].expand(5, -1)),
        ("permuted", lambda t: t.view(2, 3, -1).permute(2, 0, 1)),
    ]


@pytest.mark.parametrize(("name", "arrange"), layouts(), ids=[name for name, _ in layouts()])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_layouts_of_operands_and_result_are_those_of_cpu(
    name: str, arrange: Any, dtype: torch.dtype
) -> None:
    base = values((6, 6), dtype)
    a, x = arrange(base), arrange(base.to("infini"))
    assert a.stride() == x.stride(), name
    expected, actual = a + a, x + x
    same(actual, expected)
    assert actual.stride() == expected.stride()
    contiguous = torch.ones(a.shape, dtype=dtype)
    same(x + contiguous.to("infini"), a + contiguous)
    same(contiguous.to("infini") + x, contiguous + a)


def test_in_place_writes_into_the_tensor() -> None:
    a, b = values((3, 4), torch.float32), values((4,), torch.float32, 1)
    x = a.to("infini")
    address = x.data_ptr()
    assert x.add_(b.to("infini")) is x
    assert x.data_ptr() == address
    same(x, a + b)
    x += x
    same(x, (a + b) * 2)


def test_in_place_result_must_fit_as_on_cpu() -> None:
    for left, right in (((1, 3), (2, 3)), ((3,), (2, 3))):
        a, b = torch.zeros(left), torch.zeros(right)
        with pytest.raises(RuntimeError) as on_cpu:
            a.add_(b)
        with pytest.raises(RuntimeError) as on_infini:
            a.to("infini").add_(b.to("infini"))
        assert str(on_infini.value) == str(on_cpu.value)
    with pytest.raises(RuntimeError, match="result type Float can't be cast"):
        torch.ones(2, dtype=torch.int32, device="infini").add_(1.5)


def test_in_place_on_a_view_leaves_the_rest_alone() -> None:
    base = torch.zeros(6, 6)
    x = base.to("infini")
    base[1:5, ::2] += 3
    x[1:5, ::2] += 3
    same(x, base)


def test_partly_overlapping_result_is_refused() -> None:
    x = torch.zeros(10, device="infini")
    with pytest.raises(RuntimeError, match="unsupported operation: some elements"):
        torch.add(x[:5], x[:5], out=x[1:6])


def test_out_keeps_its_strides_when_the_shape_fits() -> None:
    a = values((3, 4), torch.float32)
    out = torch.empty(4, 3, device="infini").t()
    result = torch.add(a.to("infini"), 1, out=out)
    assert result is out
    assert out.stride() == (1, 3)
    same(out, a + 1)


def test_out_is_resized_when_it_is_empty() -> None:
    a = values((3, 4), torch.float32)
    out = torch.empty(0, device="infini")
    torch.add(a.to("infini"), a.to("infini"), out=out)
    same(out, a + a)


def test_out_of_another_shape_warns_as_on_cpu() -> None:
    x = torch.ones(3, device="infini")
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        torch.add(x, x, out=torch.empty(5, device="infini"))


def test_out_of_a_wider_type_takes_the_result() -> None:
    a = values((3, 4), torch.float32)
    out = torch.empty(3, 4, dtype=torch.float64, device="infini")
    torch.add(a.to("infini"), a.to("infini"), out=out)
    same(out, (a + a).double())


def test_out_that_cannot_hold_the_result_is_refused() -> None:
    x = torch.ones(3, device="infini")
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
        torch.add(x, x, out=torch.empty(3, dtype=torch.int32, device="infini"))


def test_type_without_a_kernel_is_refused_by_name() -> None:
    x = torch.zeros(3, dtype=torch.float8_e4m3fn, device="infini")
    with pytest.raises(NotImplementedError) as caught:
        torch.ops.aten.add.Tensor(x, x)
    text = str(caught.value)
    assert "float8_e4m3fn" in text or "Float8_e4m3fn" in text
    assert "infini:0" in text or "add" in text


def test_gradients_flow() -> None:
    x = torch.ones(3, device="infini", requires_grad=True)
    y = torch.ones(3, device="infini", requires_grad=True)
    z = x + y
    z.backward(torch.tensor([1.0, 2.0, 3.0]).to("infini"))
    assert x.grad is not None
    assert x.grad.tolist() == [1, 2, 3]
    assert y.grad is not None
    assert y.grad.tolist() == [1, 2, 3]


@pytest.mark.usefixtures("two_devices")
def test_second_device_works_while_the_first_is_current() -> None:
    a = values((3, 4), torch.float32)
    x = a.to("infini:1")
    y = x + x
    assert y.device == torch.device("infini:1")
    assert torch.infini.current_device() == 0
    same(y, a + a)


@pytest.mark.usefixtures("two_devices")
def test_operands_on_two_devices_are_refused_by_name() -> None:
    x, y = torch.ones(3, device="infini:0"), torch.ones(3, device="infini:1")
    with pytest.raises(RuntimeError, match=r"infini:0.*infini:1|infini:1.*infini:0"):
        x + y
    assert torch.infini.current_device() == 0


def test_calls_from_many_threads_agree() -> None:
    a = values((64, 64), torch.int32)

    def work(seed: int) -> bool:
        x = (a + seed).to("infini")
        for _ in range(50):
            x = x + 1
        return torch.equal(x.cpu(), a + seed + 50)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))
