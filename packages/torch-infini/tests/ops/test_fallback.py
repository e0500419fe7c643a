"""Operators without a kernel are refused by name; the CPU runs them only on request."""

import pytest
import torch

VARIABLE = "TORCH_INFINI_ENABLE_CPU_FALLBACK"


def test_missing_operator_is_refused_with_operator_type_device_and_remedies() -> None:
    x = torch.zeros(3, dtype=torch.bfloat16, device="infini")
    with pytest.raises(NotImplementedError) as caught:
        torch.erfinv(x)
    text = str(caught.value)
    assert text.startswith("aten::erfinv")
    assert "is not implemented on infini (got bfloat16 on infini:0" in text
    assert ".cpu()" in text
    assert f"{VARIABLE}=1" in text


def test_lists_of_tensors_are_described() -> None:
    x = [torch.zeros(3, device="infini")]
    options = {"weight_decay": 0.0, "lr": 0.1, "lr_decay": 0.0, "eps": 0.0, "maximize": False}
    with pytest.raises(NotImplementedError, match=r"float32 on infini:0, float32 on infini:0"):
        torch._fused_adagrad_(x, x, [], [], **options)


def test_only_the_registered_operators_are_registered() -> None:
    from torch_infini import _native

    overloads = _native.registered_overloads()
    assert {"aten::add.Tensor", "aten::add.out", "aten::add_.Tensor"} <= set(overloads)
    assert len(overloads) == len(set(overloads))
    for overload in overloads:
        assert torch._C._dispatch_has_kernel_for_dispatch_key(overload, "PrivateUse1"), overload


@pytest.mark.parametrize("value", ["1", "aten::erfinv", "erfinv.out, aten::erfinv.out"])
def test_allowed_operators_run_on_the_cpu_and_are_counted(run_child, value: str) -> None:
    done = run_child(
        """
import torch, torch_infini
from torch_infini import _native
x = torch.tensor([0.0, 0.5]).to("infini")
assert _native.fallback_counts() == {}
for _ in range(2):
    y = torch.erfinv(x)
assert y.device == x.device
torch.testing.assert_close(y.cpu(), torch.erfinv(x.cpu()))
(name, count), = _native.fallback_counts().items()
assert name.startswith("aten::erfinv") and count == 2, (name, count)
""",
        environment={VARIABLE: value},
    )
    assert done.stderr.count("runs on the CPU") == 1


def test_operators_that_are_not_listed_stay_refused(run_child) -> None:
    run_child(
        """
import torch, torch_infini
try:
    torch.erfinv(torch.zeros(2, device="infini"))
except NotImplementedError:
    raise SystemExit(0)
raise SystemExit(1)
""",
        environment={VARIABLE: "aten::digamma,lgamma.out"},
    )


@pytest.mark.parametrize("value", ["true", "erfinv,digama", "aten::erfinv.nope", "on"])
def test_names_of_no_operator_are_refused(run_child, value: str) -> None:
    done = run_child(
        """
import torch, torch_infini
try:
    torch.erfinv(torch.zeros(2, device="infini"))
except ValueError as error:
    print(error)
""",
        environment={VARIABLE: value},
    )
    wrong = value.split(",")[-1].removeprefix("aten::")
    assert f"{VARIABLE}: there is no operator aten::{wrong}; expected 1 for all" in done.stdout


def test_lists_of_tensors_are_changed_in_place(run_child) -> None:
    run_child(
        """
import torch, torch_infini
x = torch.tensor([0.5, -0.5]).to("infini")
torch._foreach_erfc_([x])
torch.testing.assert_close(x.cpu(), torch.erfc(torch.tensor([0.5, -0.5])))
""",
        environment={VARIABLE: "1"},
    )
