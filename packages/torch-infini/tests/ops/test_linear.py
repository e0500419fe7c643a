import pytest
import torch
from torch.nn import functional


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("shape", [(8,), (3, 8), (2, 5, 8), (1, 8), (0, 8), (33, 8)], ids=str)
@pytest.mark.parametrize("biased", [True, False])
def test_rows_are_multiplied_as_on_cpu(
    dtype: torch.dtype, shape: tuple[int, ...], biased: bool
) -> None:
    x = torch.randn(shape, dtype=dtype)
    weight = torch.randn(6, 8, dtype=dtype)
    bias = torch.randn(6, dtype=dtype) if biased else None
    expected = functional.linear(
        x.double(), weight.double(), None if bias is None else bias.double()
    )
    actual = functional.linear(
        x.to("infini"), weight.to("infini"), None if bias is None else bias.to("infini")
    )
    assert actual.dtype == dtype
    assert actual.shape == expected.shape
    assert actual.is_contiguous()
    torch.testing.assert_close(actual.cpu(), expected.to(dtype))


def test_module_works() -> None:
    layer = torch.nn.Linear(16, 4)
    x = torch.randn(3, 16)
    expected = layer(x)
    with torch.no_grad():
        actual = layer.to("infini")(x.to("infini"))
    torch.testing.assert_close(actual.cpu(), expected)


def test_strided_operands() -> None:
    x, weight = torch.randn(8, 3), torch.randn(8, 6)
    expected = functional.linear(x.t(), weight.t())
    actual = functional.linear(x.to("infini").t(), weight.to("infini").t())
    torch.testing.assert_close(actual.cpu(), expected)


def test_shapes_that_do_not_fit_are_refused() -> None:
    x, weight = torch.randn(3, 8).to("infini"), torch.randn(6, 7).to("infini")
    with pytest.raises(RuntimeError, match="weight"):
        functional.linear(x, weight)
    with pytest.raises(RuntimeError, match="at least 1 dimension"):
        functional.linear(torch.tensor(1.0).to("infini"), weight)


def test_mixed_types_are_refused() -> None:
    x = torch.randn(3, 8).to("infini")
    weight = torch.randn(6, 8, dtype=torch.bfloat16).to("infini")
    with pytest.raises(RuntimeError, match=r"bfloat16.*float32|float32.*bfloat16"):
        functional.linear(x, weight)


def test_weight_elsewhere_is_refused_by_name() -> None:
    with pytest.raises(RuntimeError, match=r"`weight` is on cpu, expected it on infini:0"):
        functional.linear(torch.randn(3, 8).to("infini"), torch.randn(6, 8))


def test_types_without_a_kernel_are_refused_by_name() -> None:
    x = torch.ones(3, 8, dtype=torch.int32, device="infini")
    with pytest.raises(NotImplementedError, match=r"aten::linear.*int32 on infini:0"):
        functional.linear(x, x)
