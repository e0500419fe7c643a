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


@pytest.mark.parametrize(
    ("public", "operator"),
    [
        ("torch.linalg.det", "aten::_linalg_det.result"),
        ("torch.linalg.inv", "aten::linalg_inv_ex.inverse"),
        ("torch.linalg.qr", "aten::linalg_qr.out"),
        ("torch.unique", "aten::_unique2"),
    ],
)
def test_an_internal_operator_is_told_with_what_calls_it(public: str, operator: str) -> None:
    function = torch
    for part in public.split(".")[1:]:
        function = getattr(function, part)
    with pytest.raises(NotImplementedError) as caught:
        function(torch.eye(2, device="infini"))
    text = str(caught.value)
    assert text.startswith(f"{operator} is not implemented on infini (got float32")
    assert f" has no operator for it, needed by {public}. Move the tensors" in text


@pytest.mark.parametrize("function", ["conv1d", "conv2d", "conv3d", "conv_transpose2d"])
def test_convolutions_are_refused_as_every_missing_operator(function: str) -> None:
    size = [3] * int(function[-2])
    x, weight = (torch.ones(1, 1, *size, device="infini") for _ in range(2))
    with pytest.raises(NotImplementedError) as caught:
        getattr(torch, function)(x, weight)
    text = str(caught.value)
    assert text.startswith("aten::convolution is not implemented on infini (got float32 on infini")
    assert "needed by torch.conv1d, conv2d, conv3d and their transposes. Move" in text


@pytest.mark.parametrize("value", ["1", "aten::convolution,convolution_backward"])
@pytest.mark.parametrize("bias", [True, False])
def test_allowed_convolutions_run_on_the_cpu_with_their_gradients(
    run_child, value: str, bias: bool
) -> None:
    run_child(
        f"""
import torch, torch_infini
from torch_infini import _native
torch.manual_seed(0)
layer = torch.nn.Conv2d(2, 4, 3, stride=2, padding=1, groups=2, bias={bias})
x = torch.randn(3, 2, 7, 5, requires_grad=True)
there = torch.nn.Conv2d(2, 4, 3, stride=2, padding=1, groups=2, bias={bias}).to("infini")
there.load_state_dict(layer.state_dict())
y = x.detach().to("infini").requires_grad_()
one, other = layer(x), there(y)
assert other.device.type == "infini"
torch.testing.assert_close(other.cpu(), one)
upstream = torch.randn_like(one)
one.backward(upstream)
other.backward(upstream.to("infini"))
torch.testing.assert_close(y.grad.cpu(), x.grad)
for mine, its in zip(layer.parameters(), there.parameters(), strict=True):
    torch.testing.assert_close(its.grad.cpu(), mine.grad)
assert _native.fallback_counts()["aten::convolution"] == 1
assert _native.fallback_counts()["aten::convolution_backward"] == 1
""",
        environment={VARIABLE: value},
    )


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
