from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from ci import toolchain
from ci.steps import Skip, StepError


def _program(folder: Path, name: str, prints: str, status: int = 0) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{prints}'\nexit {status}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the whole PATH."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_version_is_the_first_dotted_number() -> None:
    assert toolchain.parse_version("cmake version 3.25.1 (x 9.9)") == (3, 25, 1)
    with pytest.raises(StepError, match="no version number"):
        toolchain.parse_version("unknown")


def test_build_tools_are_lacking_when_one_is_absent_old_or_does_not_run(programs: Path) -> None:
    assert toolchain.lacks_build_tools()
    _program(programs, "cmake", "cmake version 3.24.9")
    _program(programs, "ninja", "1.11.1")
    assert toolchain.lacks_build_tools()
    _program(programs, "cmake", "cmake version 4.0.1", status=1)
    assert toolchain.lacks_build_tools()
    _program(programs, "cmake", "cmake version 4.0.1")
    assert not toolchain.lacks_build_tools()
    (programs / "ninja").unlink()
    assert toolchain.lacks_build_tools()


def test_an_old_cmake_is_refused_with_the_version_found(programs: Path) -> None:
    _program(programs, "cmake", "cmake version 3.24.9")
    with pytest.raises(StepError, match=r"cmake >= 3.25 is needed, found cmake 3.24.9"):
        toolchain.require_cmake()


def test_a_missing_compiler_names_the_package(programs: Path) -> None:
    with pytest.raises(StepError, match=r"apt-get install g\+\+"):
        toolchain.compiler({})


@pytest.mark.parametrize(
    ("banner", "needed"),
    [("g++ (Distribution) 11.4.0", "GCC >= 12"), ("clang version 15.0.7", "Clang >= 16")],
)
def test_an_old_compiler_is_refused(programs: Path, banner: str, needed: str) -> None:
    _program(programs, "c++", banner)
    with pytest.raises(StepError, match=needed):
        toolchain.compiler({})


def test_the_variable_cxx_wins_over_the_path(programs: Path) -> None:
    _program(programs, "c++", "g++ 12.2.0")
    chosen = _program(programs, "my-compiler", "clang version 18.1.0")
    assert toolchain.compiler({"CXX": "my-compiler"}).path == chosen


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("CXXFLAGS", "-fnonsense", "unrecognized command-line option|unknown argument"),
        ("CXXFLAGS", "-nostdinc++", "span"),
        ("LDFLAGS", "-lnosuch", "nosuch"),
        ("CXXFLAGS", "'", "no words of a shell"),
    ],
)
def test_flags_with_which_no_program_can_be_made_are_named(
    variable: str, value: str, says: str
) -> None:
    environment = {"PATH": os.environ["PATH"], variable: value}
    with pytest.raises(StepError, match=says) as caught:
        toolchain.require_programs_of(toolchain.compiler({}), environment)
    assert variable in str(caught.value)


def test_a_compiler_whose_programs_do_not_run_is_named(programs: Path) -> None:
    _program(programs, "c++", "g++ 12.2.0")
    with pytest.raises(StepError, match="makes no C\\+\\+20 program that runs"):
        toolchain.require_programs_of(toolchain.compiler({}), {})


def test_usual_flags_are_taken() -> None:
    environment = {"PATH": os.environ["PATH"], "CXXFLAGS": "-O2  -g", "LDFLAGS": "-Wl,-O1"}
    toolchain.require_programs_of(toolchain.compiler({}), environment)


@pytest.mark.parametrize("value", ["nothing", "ccache g++"])
def test_a_variable_cxx_that_is_no_program_is_named(programs: Path, value: str) -> None:
    _program(programs, "c++", "g++ 12.2.0")
    with pytest.raises(StepError, match=f"CXX: expected a program, got '{re.escape(value)}'; set"):
        toolchain.compiler({"CXX": value})


def test_a_compiler_that_does_not_run_is_named(programs: Path) -> None:
    broken = _program(programs, "c++", "g++ 12.2.0", status=3)
    with pytest.raises(StepError, match=re.escape(f"`{broken} --version` fails (exit 3)")):
        toolchain.compiler({})


@pytest.mark.parametrize("status", [0, 1])
def test_ccache_is_taken_where_it_compiles(programs: Path, status: int) -> None:
    _program(programs, "c++", "g++ 12.2.0")
    compiler = toolchain.compiler({})
    assert toolchain.working_ccache(compiler, {}) is None
    path = _program(programs, "ccache", "", status=status)
    assert toolchain.working_ccache(compiler, {}) == (None if status else path)


@pytest.mark.parametrize(
    ("root", "codeset", "expected"),
    [
        ("/a b/infini", "ANSI_X3.4-1968", {}),
        ("/spaçe/infini", "UTF-8", {}),
        ("/spaçe/infini", "ANSI_X3.4-1968", {"LC_ALL": "C.UTF-8"}),
        ("/spaçe/infini", "ISO-8859-1", {"LC_ALL": "C.UTF-8"}),
    ],
)
def test_a_folder_that_the_locale_cannot_name_gets_another_locale(
    root: str, codeset: str, expected: dict[str, str]
) -> None:
    assert toolchain.locale_for(Path(root), codeset) == expected


def test_flags_of_the_environment_are_facts_of_a_build(programs: Path) -> None:
    _program(programs, "c++", "g++ 12.2.0")
    assert toolchain.compiler_facts({"CXXFLAGS": "-O1"}) != toolchain.compiler_facts({})


def test_jobs_follow_the_variable_that_cmake_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CMAKE_BUILD_PARALLEL_LEVEL", "7")
    assert toolchain.jobs() == 7
    monkeypatch.setenv("CMAKE_BUILD_PARALLEL_LEVEL", "")
    assert toolchain.jobs() >= 1


@pytest.mark.parametrize("value", ["0", "-1", "all", "1.5"])
def test_a_number_of_jobs_that_is_none_is_named(value: str) -> None:
    with pytest.raises(StepError, match=rf"above 0, got '{re.escape(value)}'; correct or unset"):
        toolchain.jobs({"CMAKE_BUILD_PARALLEL_LEVEL": value})


def test_a_missing_optional_program_is_a_skip_with_the_package(programs: Path) -> None:
    with pytest.raises(Skip, match="no doxygen; apt-get install doxygen"):
        toolchain.require_program("doxygen", "doxygen")


def test_nvcc_is_taken_from_its_variable_first(programs: Path) -> None:
    _program(programs, "nvcc", "release 12.1, V12.1.0")
    chosen = _program(programs, "other", "release 13.0, V13.0.88")
    assert toolchain.require_nvcc({"CUDACXX": str(chosen)}).version == (13, 0)
    assert toolchain.require_nvcc({}).version == (12, 1)
