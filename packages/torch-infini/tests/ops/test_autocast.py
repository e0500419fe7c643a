"""Mixed precision: operators run in the types that PyTorch's policy for CUDA gives them."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

LOW = (torch.bfloat16,)


@pytest.mark.parametrize("dtype", LOW, ids=str)
def test_products_run_in_the_low_precision(dtype: torch.dtype) -> None:
    x, w = torch.randn(3, 8).to("infini"), torch.randn(6, 8).to("infini")
    with torch.autocast("infini", dtype=dtype):
        y = functional.linear(x, w)
        assert (x + x).dtype == torch.float32  # in no list
    assert y.dtype == dtype
    expected = functional.linear(x.cpu().to(dtype), w.cpu().to(dtype))
    torch.testing.assert_close(y.cpu(), expected)
    assert functional.linear(x, w).dtype == torch.float32


def test_numerically_delicate_operators_run_in_float32() -> None:
    x = torch.randn(3, 8).to(torch.float16).to("infini")
    with torch.autocast("infini", dtype=torch.float16), pytest.raises(NotImplementedError) as error:
        torch.erfinv(x)
    assert "float32 on infini:0" in str(error.value)


def test_the_default_precision_can_be_set() -> None:
    before = torch.get_autocast_dtype("infini")
    try:
        torch.set_autocast_dtype("infini", torch.bfloat16)
        x, w = torch.randn(3, 8).to("infini"), torch.randn(6, 8).to("infini")
        with torch.autocast("infini"):
            assert torch.is_autocast_enabled("infini")
            assert functional.linear(x, w).dtype == torch.bfloat16
            with torch.autocast("infini", enabled=False):
                assert functional.linear(x, w).dtype == torch.float32
    finally:
        torch.set_autocast_dtype("infini", before)


def test_other_precisions_are_refused_with_those_that_exist() -> None:
    with pytest.warns(UserWarning, match=r"target dtype is not supported.*\s.*float16"):
        context = torch.autocast("infini", dtype=torch.float64)
    with context:
        assert not torch.is_autocast_enabled("infini")


def test_binary_cross_entropy_is_refused() -> None:
    x = torch.rand(3).to("infini")
    with torch.autocast("infini", dtype=torch.float16), pytest.raises(RuntimeError, match="logits"):
        functional.binary_cross_entropy(x, x)


def test_modules_keep_float32_parameters() -> None:
    layer = torch.nn.Linear(8, 6).to("infini")
    with torch.autocast("infini", dtype=torch.bfloat16):
        y = layer(torch.randn(3, 8).to("infini"))
    assert y.dtype == torch.bfloat16
    assert layer.weight.dtype == torch.float32


def test_every_operator_of_the_policy_for_cuda_has_one_here() -> None:
    registered = torch._C._dispatch_get_registrations_for_dispatch_key
    missing = set(registered("AutocastCUDA")) - set(registered("AutocastPrivateUse1"))
    assert not [name for name in missing if not name.startswith("aten::cudnn")]
