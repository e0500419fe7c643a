"""Adapters for devices that are not here compile against the headers of PyTorch, CUDA and TVM FFI.

Takes minutes, so it runs in `nox -s linked` alone, which sets INFINI_OPS_LINKED_TESTS.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ADAPTERS = sorted((ROOT / "src" / "linked").glob("*/nvidia/ops/*/*.cc"))
CUDA = [Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")), *Path("/usr/local").glob("cuda-*")]

torch = pytest.importorskip("torch")
infinirt = pytest.importorskip("infinirt")
tvm_ffi = pytest.importorskip("tvm_ffi")
pytestmark = pytest.mark.skipif(
    "INFINI_OPS_LINKED_TESTS" not in os.environ, reason="`nox -s linked` runs it"
)


@pytest.fixture(scope="module")
def includes(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Folders of headers: ours, generated for every operator, then those of others."""
    toolkits = [folder / "include" for folder in CUDA]
    found = [folder for folder in toolkits if (folder / "cuda_runtime_api.h").is_file()]
    if not found:
        pytest.skip("needs the headers of NVIDIA's CUDA toolkit; install it or set CUDA_HOME")
    folder = tmp_path_factory.mktemp("headers")
    command = [sys.executable, "-m", "codegen", "--root", str(ROOT), "--output", str(folder)]
    options = ["--version", "0", "--rt-abi-version", "1", "--architecture", "x86_64"]
    subprocess.run(
        [*command, *options, "--device", "cpu", "--ops=", "--torch-ops="], cwd=ROOT, check=True
    )
    # A torch for the CPU lacks the one header that its build writes for CUDA.
    written = folder / "c10" / "cuda" / "impl" / "cuda_cmake_macros.h"
    written.parent.mkdir(parents=True)
    written.write_text("#define C10_CUDA_BUILD_SHARED_LIBS\n")
    others = Path(torch.__file__).parent / "include"
    own = [folder / "include", ROOT / "include", ROOT / "src", infinirt.prefix() / "include"]
    system = [others, others / "torch" / "csrc" / "api" / "include", found[0], folder]
    system.append(Path(tvm_ffi.__file__).parent / "include")
    return [f"-I{path}" for path in own] + [f"-isystem{path}" for path in system]


@pytest.mark.parametrize("source", ADAPTERS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_an_adapter_compiles(source: Path, includes: list[str]) -> None:
    flags = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
    subprocess.run(["g++", *flags, *includes, source], check=True)
