import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from this_build import needs_runtime_prefix, runtime_prefix

import infini.ops

pytestmark = needs_runtime_prefix
SOURCE = Path(__file__).parent / "consumer"
EXPECTED = (
    "3 15 12 33\n"
    "add on cpu:0: `input` of shape [2, 3] and `other` of shape [2, 2] do not broadcast: sizes 3 "
    "and 2 must be equal, or one of them 1\n"
)


def compilers() -> list[str]:
    """The C++20 compilers of this machine."""
    found = []
    for name in ("g++", "clang++", "clang++-19", "clang++-18", "clang++-17", "clang++-16"):
        path = shutil.which(name)
        if path is None:
            continue
        version = subprocess.run([path, "-dumpversion"], capture_output=True, text=True, check=True)
        major = int(version.stdout.split(".")[0])
        if major >= (12 if name == "g++" else 16):
            found.append(name)
    return found


@pytest.fixture(scope="module")
def prefixes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Both prefixes, moved to another place."""
    runtime = runtime_prefix()
    assert runtime is not None
    folder = tmp_path_factory.mktemp("moved prefixes")
    moved = {"ops": folder / "ops", "rt": folder / "infinirt" / "prefix"}
    shutil.copytree(infini.ops.prefix(), moved["ops"])
    shutil.copytree(runtime, moved["rt"])
    return moved


def build(
    compiler: str, options: list[str], source: Path, program: Path, prefixes: dict[str, Path]
) -> None:
    """Compiles and links one file as a careful user would."""
    flags = ["-std=c++20", "-Wall", "-Wextra", "-Werror", "-fvisibility=hidden", *options]
    includes = [f"-I{prefixes[name] / 'include'}" for name in ("ops", "rt")]
    libraries = [f"-L{prefixes[name] / 'lib'}" for name in ("ops", "rt")]
    link: list[Any] = [*libraries, "-linfiniops", "-linfinirt", "-Wl,--no-undefined", "-o", program]
    command: list[Any] = [compiler, *flags, *includes, source, *link]
    subprocess.run(command, check=True)


def execute(program: Path, prefixes: dict[str, Path]) -> "subprocess.CompletedProcess[str]":
    libraries = os.pathsep.join(str(prefixes[name] / "lib") for name in ("ops", "rt"))
    environment = {**os.environ, "LD_LIBRARY_PATH": libraries}
    return subprocess.run([program], env=environment, capture_output=True, text=True, check=False)


def run(program: Path, prefixes: dict[str, Path]) -> None:
    result = execute(program, prefixes)
    assert (result.returncode, result.stdout, result.stderr) == (0, EXPECTED, "")


@pytest.mark.parametrize("level", ["-O0", "-O2", "-O3"])
@pytest.mark.parametrize("compiler", compilers())
def test_programs_link_at_every_optimisation_level(
    compiler: Any, level: Any, prefixes: dict[str, Path], tmp_path: Path
) -> None:
    program = tmp_path / "consumer"
    build(compiler, [level], SOURCE / "main.cc", program, prefixes)
    run(program, prefixes)


@pytest.mark.parametrize("compiler", compilers())
def test_every_entry_of_every_operator_links(
    compiler: Any, prefixes: dict[str, Path], tmp_path: Path
) -> None:
    """From the headers, hidden, without optimisation; the addresses are real."""
    document = json.loads((prefixes["ops"] / "share/infiniops/operators.json").read_text())
    operators = document["operators"].values()
    entries = [
        f"&infini::ops::{operator['class']}::{entry}"
        for operator in operators
        for entry in ("Call", "Infer", "Explain", "Make")
    ]
    assert len(entries) == 4 * len(infini.ops.operators()) > 0
    lines = [f"#include <{operator['header']}>" for operator in operators]
    lines += [
        "#include <cstdio>",
        "template <class Function>",
        "int Present(Function function) {",
        "  return function != nullptr ? 1 : 0;",
        "}",
        "int main() {",
        "  int count = 0;",
        *(f"  count += Present({entry});" for entry in entries),
        '  std::printf("%d\\n", count);',
        "}",
    ]
    source, program = tmp_path / "every.cc", tmp_path / "every"
    source.write_text("\n".join(lines) + "\n")
    build(compiler, ["-O0"], source, program, prefixes)
    result = execute(program, prefixes)
    assert (result.returncode, result.stdout) == (0, f"{len(entries)}\n"), result.stderr


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake: pip install cmake")
def test_find_package_works_from_a_moved_prefix(prefixes: dict[str, Path], tmp_path: Path) -> None:
    roots = ";".join(str(prefixes[name]) for name in ("ops", "rt"))
    configured = subprocess.run(
        ["cmake", "-S", SOURCE, "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={roots}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert configured.returncode == 0, configured.stderr
    subprocess.run(["cmake", "--build", tmp_path], capture_output=True, check=True)
    run(tmp_path / "consumer", prefixes)


@pytest.mark.skipif(
    shutil.which("pkg-config") is None, reason="needs pkg-config: apt-get install pkg-config"
)
def test_pkg_config_gives_the_moved_paths(prefixes: dict[str, Path]) -> None:
    search = os.pathsep.join(str(prefixes[name] / "lib" / "pkgconfig") for name in ("ops", "rt"))
    result = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "infiniops"],
        env={**os.environ, "PKG_CONFIG_PATH": search},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "-linfiniops" in result.stdout
    assert "-linfinirt" in result.stdout


def test_an_operator_outside_the_build_does_not_compile(
    prefixes: dict[str, Path], tmp_path: Path
) -> None:
    source = tmp_path / "absent.cc"
    source.write_text("#include <infini/ops.h>\nauto* f = &infini::ops::Frobnicate::Call;\n")
    includes = [f"-I{prefixes[name] / 'include'}" for name in ("ops", "rt")]
    result = subprocess.run(
        ["g++", "-std=c++20", "-fsyntax-only", *includes, source],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode != 0
    assert "Frobnicate" in result.stderr


def test_headers_need_no_other_library(prefixes: dict[str, Path], tmp_path: Path) -> None:
    """The public headers include InfiniRT and the standard library alone."""
    source = tmp_path / "list.cc"
    source.write_text("#include <infini/ops.h>\n")
    includes = [f"-I{prefixes[name] / 'include'}" for name in ("ops", "rt")]
    listing = subprocess.run(
        ["g++", "-std=c++20", "-M", *includes, source], capture_output=True, text=True, check=True
    ).stdout.replace("\\ ", "?")
    for path in listing.split():
        assert not any(word in path.lower() for word in ("torch", "cuda", "python", "nanobind"))
