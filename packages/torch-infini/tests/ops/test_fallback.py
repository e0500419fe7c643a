"""Operators without a kernel are refused by name; nothing runs on the CPU silently."""

import pytest
import torch


def test_missing_operator_is_refused_with_operator_type_and_device() -> None:
    x = torch.zeros(3, dtype=torch.bfloat16, device="infini")
    with pytest.raises(NotImplementedError) as caught:
        torch.erfinv(x)
    text = str(caught.value)
    assert text.startswith(
        "aten::erfinv.out is not implemented on infini (got bfloat16 on infini:0"
    ) or text.startswith("aten::erfinv is not implemented on infini (got bfloat16 on infini:0")
    assert "x.cpu()" in text or ".cpu()" in text


def test_lists_of_tensors_are_described() -> None:
    x = torch.zeros(3, device="infini")
    with pytest.raises(NotImplementedError, match=r"aten::cat.*float32 on infini:0, float32"):
        torch.cat([x, x])


def test_only_the_registered_operators_are_registered() -> None:
    from torch_infini import _native

    overloads = _native.registered_overloads()
    assert {"aten::add.Tensor", "aten::add.out", "aten::add_.Tensor"} <= set(overloads)
    assert len(overloads) == len(set(overloads))
    for overload in overloads:
        assert torch._C._dispatch_has_kernel_for_dispatch_key(overload, "PrivateUse1"), overload
