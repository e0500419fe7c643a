"""`torch.compile(backend="aot_eager")`, in fresh processes: nothing is patched."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.once


def test_functions_and_gradients_compile(run_child) -> None:
    run_child(
        """
import torch, torch_infini
from torch.nn import functional

@torch.compile(backend="aot_eager", fullgraph=True)
def f(x, w):
    return functional.linear(x + 1, w) * 2

x = torch.randn(3, 8)
w = torch.randn(6, 8)
there = [t.to("infini").requires_grad_() for t in (x, w)]
y = f(*there)
assert y.device.type == "infini"
torch.testing.assert_close(y.detach().cpu(), functional.linear(x + 1, w) * 2)
y.backward(torch.ones(3, 6, device="infini"))
torch.testing.assert_close(there[0].grad.cpu(), torch.ones(3, 6) @ w * 2)
""",
        timeout=300,
    )


def test_dynamo_knows_the_device_whoever_imports_it_first(run_child) -> None:
    code = """
import torch
{}
import torch_infini
from torch._dynamo.device_interface import get_interface_for_device
for name in ("infini", "infini:0", torch.device("infini", 0)):
    interface = get_interface_for_device(name)
    assert interface.is_available() and interface.device_count() >= 1
    assert interface.current_device() == 0
assert interface.Stream is torch.infini.Stream
"""
    for first in ("", "import torch._dynamo.device_interface"):
        run_child(code.format(first), environment={"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"})


def test_importing_does_not_import_the_compiler(run_child) -> None:
    run_child("import sys, torch_infini; assert 'torch._dynamo' not in sys.modules")


def test_inductor_is_refused_by_name(run_child) -> None:
    run_child(
        """
import torch, torch_infini
f = torch.compile(lambda x: x + 1)
try:
    f(torch.ones(3, device="infini"))
except Exception as error:
    assert "infini" in str(error), error
else:
    raise SystemExit("inductor accepted a device that it cannot generate code for")
""",
        timeout=300,
    )
