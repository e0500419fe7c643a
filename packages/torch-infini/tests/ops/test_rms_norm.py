import pytest
import torch
from torch.nn import functional


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("shape", [(8,), (3, 8), (2, 3, 64), (0, 8), (1, 1)], ids=str)
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("eps", [None, 1e-5])
def test_last_dimension_is_normalised_as_on_cpu(
    dtype: torch.dtype, shape: tuple[int, ...], weighted: bool, eps: float | None
) -> None:
    x = torch.randn(shape, dtype=dtype)
    weight = torch.randn(shape[-1:], dtype=dtype) if weighted else None
    expected = functional.rms_norm(
        x.double(),
        shape[-1:],
        None if weight is None else weight.double(),
        eps if eps else torch.finfo(torch.float64 if dtype == torch.float64 else torch.float32).eps,
    )
    actual = functional.rms_norm(
        x.to("infini"), shape[-1:], None if weight is None else weight.to("infini"), eps
    )
    assert actual.dtype == dtype
    assert actual.device.type == "infini"
    torch.testing.assert_close(actual.cpu(), expected.to(dtype))


def test_several_dimensions_are_normalised_together() -> None:
    x = torch.randn(2, 3, 4, 5)
    weight = torch.randn(4, 5)
    expected = functional.rms_norm(x, (4, 5), weight, 1e-6)
    actual = functional.rms_norm(x.to("infini"), (4, 5), weight.to("infini"), 1e-6)
    torch.testing.assert_close(actual.cpu(), expected)


def test_strided_input_is_taken_as_it_is() -> None:
    x = torch.randn(6, 8)
    weight = torch.randn(6)
    expected = functional.rms_norm(x.t(), (6,), weight, 1e-6)
    actual = functional.rms_norm(x.to("infini").t(), (6,), weight.to("infini"), 1e-6)
    torch.testing.assert_close(actual.cpu(), expected)


def test_module_works() -> None:
    norm = torch.nn.RMSNorm(16)
    x = torch.randn(4, 16)
    expected = norm(x)
    with torch.no_grad():
        actual = norm.to("infini")(x.to("infini"))
    torch.testing.assert_close(actual.cpu(), expected)


def test_wrong_shapes_are_refused() -> None:
    x = torch.randn(3, 8).to("infini")
    with pytest.raises(RuntimeError, match=r"normalized_shape|last sizes"):
        functional.rms_norm(x, (7,))
    with pytest.raises(RuntimeError, match="weight"):
        torch.ops.aten._fused_rms_norm(x, [8], torch.ones(7, device="infini"), 1e-6)


def test_weight_elsewhere_is_refused_by_name() -> None:
    x = torch.randn(3, 8).to("infini")
    with pytest.raises(RuntimeError, match=r"`weight` is on cpu, expected it on infini:0"):
        torch.ops.aten._fused_rms_norm(x, [8], torch.ones(8), 1e-6)


def test_integer_types_are_refused_by_name() -> None:
    x = torch.ones(3, 8, dtype=torch.int32, device="infini")
    with pytest.raises(NotImplementedError, match=r"rms_norm.*int32 on infini:0; it has .*float32"):
        torch.ops.aten._fused_rms_norm(x, [8], None, 1e-6)


def test_a_weight_of_another_type_is_refused_by_name() -> None:
    x, weight = torch.ones(3, 8, dtype=torch.bfloat16).to("infini"), torch.ones(8).to("infini")
    with pytest.raises(NotImplementedError, match=r"weight of the input's type bfloat16.*float32"):
        functional.rms_norm(x, (8,), weight)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_the_statistic_is_that_of_the_cpu(dtype: torch.dtype) -> None:
    x = torch.randn(3, 4, 8).to(dtype)
    for shape in ([8], [4, 8]):
        expected = torch.ops.aten._fused_rms_norm(x, shape, None, 1e-6)
        found = torch.ops.aten._fused_rms_norm(x.to("infini"), shape, None, 1e-6)
        assert (found[1].dtype, found[1].shape) == (expected[1].dtype, expected[1].shape)
        torch.testing.assert_close(found[1].cpu(), expected[1], rtol=1e-3, atol=1e-3)
