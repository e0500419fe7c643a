"""The distribution carries a prefix for C++ code, and one library serves the process."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import infini.rt as rt
import infinirt

Run = Callable[..., subprocess.CompletedProcess[str]]


CONSUMER = Path(__file__).parents[1] / "consumer"


def test_prefix_holds_headers_library_and_package() -> None:
    prefix = infinirt.prefix()
    for path in (
        "include/infini/rt.h",
        "lib/libinfinirt.so",
        "lib/cmake/InfiniRT/InfiniRTConfig.cmake",
    ):
        assert (prefix / path).is_file()


def test_command_line_prints_the_prefix() -> None:
    printed = subprocess.run(
        [sys.executable, "-m", "infinirt", "--prefix"], capture_output=True, text=True, check=True
    ).stdout
    assert Path(printed.strip()) == infinirt.prefix()
    wrong = subprocess.run(
        [sys.executable, "-m", "infinirt"], capture_output=True, text=True, check=False
    )
    assert wrong.returncode == 2
    assert "--prefix" in wrong.stderr


def test_missing_prefix_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(infinirt, "__path__", [str(tmp_path)])
    with pytest.raises(
        RuntimeError, match=r"without its prefix .* reinstall the distribution infinirt"
    ):
        infinirt.prefix()


def test_library_mentions_no_build_path() -> None:
    library = (infinirt.prefix() / "lib" / "libinfinirt.so").read_bytes()
    assert b"/build/" not in library
    assert str(Path(__file__).parents[2]).encode() not in library


def test_one_library_is_mapped_whoever_loads_it_first(run_python: Run) -> None:
    code = """
        import ctypes, infinirt
        FIRST
        libraries = {line.split()[-1] for line in open("/proc/self/maps") if "libinfinirt" in line}
        assert len(libraries) == 1, libraries
        print(rt.abi_version())
    """
    load = 'ctypes.CDLL(str(infinirt.prefix() / "lib" / "libinfinirt.so"))'
    for first in (f"{load}; import infini.rt as rt", f"import infini.rt as rt; {load}"):
        done = run_python(code.replace("FIRST", first))
        assert done.stdout.strip() == str(rt.abi_version()), done.stderr


@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not on PATH")
@pytest.mark.parametrize("flags", ["-O0", "-O3"])
def test_consumer_builds_against_the_prefix(tmp_path: Path, flags: str) -> None:
    subprocess.run(
        [
            "cmake",
            "-S",
            CONSUMER,
            "-B",
            tmp_path,
            f"-DCMAKE_PREFIX_PATH={infinirt.prefix()}",
            f"-DCMAKE_CXX_FLAGS={flags}",
        ],
        check=True,
        capture_output=True,
    )
    subprocess.run(["cmake", "--build", tmp_path], check=True, capture_output=True)
    done = subprocess.run([tmp_path / "consumer"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "3 values came back" in done.stdout
