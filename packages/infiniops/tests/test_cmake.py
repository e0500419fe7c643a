import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = [
    pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake: pip install cmake"),
    pytest.mark.skipif(
        importlib.util.find_spec("infinirt") is None, reason="needs the Python package infinirt"
    ),
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
    assert text.startswith("INFINI_OPS_OPS: `frobnicate` is no operator; there are add, ")


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


def test_the_smoke_subset_gives_way_to_an_explicit_selection(tmp_path: Path) -> None:
    result = configure(
        tmp_path, "-DWITH_CPU=ON", "-DINFINI_OPS_SMOKE_BUILD=ON", "-DINFINI_OPS_OPS=add"
    )
    assert "INFINI_OPS_OPS is given, so INFINI_OPS_SMOKE_BUILD has no effect" in result.stdout
    assert "1 operators (INFINI_OPS_OPS)" in result.stdout
