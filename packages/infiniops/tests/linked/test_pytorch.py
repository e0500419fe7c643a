"""The contracts of docs/examples/linked: PyTorch's own functions as linked operators.

Takes minutes, so it runs in `nox -s linked` alone, which sets INFINI_OPS_LINKED_TESTS.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from overlay import install_with

CONTRACTS = Path(__file__).parents[4] / "docs" / "examples" / "linked"

pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(
    "INFINI_OPS_LINKED_TESTS" not in os.environ, reason="`nox -s linked` runs it"
)

PROGRAM = """
import torch, infini.ops as ops
from torch.nn import functional
for dtype in (torch.float32, torch.bfloat16):
    x, w = torch.randn(5, 48, dtype=dtype), torch.randn(48, dtype=dtype)
    for layout in (x, torch.randn(48, 5, dtype=dtype).t()):
        out = torch.full((48, 5), torch.nan, dtype=dtype).t()
        ops.silu(layout, out=out, implementation="pytorch")
        # PyTorch's own, to the bit: nothing but its function has run.
        assert torch.equal(out, functional.silu(layout.contiguous()))
        for weight in (w, None):
            out = torch.full((48, 5), torch.nan, dtype=dtype).t()
            ops.rms_norm(layout, weight, eps=1e-5, out=out, implementation="pytorch")
            expected = functional.rms_norm(layout.contiguous(), (48,), weight, 1e-5)
            assert torch.equal(out, expected)
(provider,) = ops.linked_providers()
print(provider.distribution, provider.library.name)
print(*provider.implementations)
"""


def test_pytorchs_functions_are_proved_linked_and_called(tmp_path: Path) -> None:
    target = install_with(CONTRACTS, {"silu": [0, 16], "rms_norm": [0, 18]}, tmp_path)
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": str(target)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stderr == ""
    assert result.stdout == (
        "torch libtorch_cpu.so\n('rms_norm', 'cpu', 18, 'pytorch') ('silu', 'cpu', 16, 'pytorch')\n"
    )
