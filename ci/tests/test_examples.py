"""docs/examples/prove_library.py proves what it says, and stops where a contract does not hold."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "prove_library.py"

pytest.importorskip("linked_resolver")
pytest.importorskip("torch")


def run(example: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, example], capture_output=True, text=True, check=False, timeout=300
    )


def test_the_installed_pytorch_is_proved_and_a_wrong_contract_is_refused() -> None:
    done = run(EXAMPLE)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "proved: torch/cpu/rms_norm/pytorch, slot 18",
        "proved: torch/cpu/silu/pytorch, slot 16",
        f"by: libtorch_cpu.so of torch {version('torch')}",
        "refused: `libc10.so` does not export `at::_ops::silu::call(at::Tensor const&)`",
    ]


def test_a_contract_that_does_not_hold_stops_the_example(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE.with_name("linked"), tmp_path / "linked")
    example = Path(shutil.copy(EXAMPLE, tmp_path))
    library = tmp_path / "linked" / "torch" / "cpu" / "pytorch.yaml"
    library.write_text(library.read_text().replace("libtorch_cpu.so", "libtorch_global_deps.so"))
    done = run(example)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "error[symbol-missing]: `libtorch_global_deps.so` does not export" in done.stderr
