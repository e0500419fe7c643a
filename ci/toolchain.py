"""Finds the tools of this machine, and says what to install where one is missing or too old."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ci.steps import Skip, StepError

CMAKE_MINIMUM = (3, 25)
GCC_MINIMUM = (12,)
CLANG_MINIMUM = (16,)


@dataclass(frozen=True)
class Tool:
    """A program and the version it reports."""

    path: Path
    version: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.path.name} {'.'.join(map(str, self.version))}"


def parse_version(text: str) -> tuple[int, ...]:
    """The first dotted number in `text`, as integers.

    Raises:
        StepError: There is none.
    """
    found = re.search(r"\d+(?:\.\d+)+", text)
    if found is None:
        raise StepError(f"no version number in {text.strip()!r}")
    return tuple(int(part) for part in found.group().split("."))


def find(name: str) -> Tool | None:
    """The program `name` of `PATH`, or None where there is none that runs."""
    path = shutil.which(name)
    if path is None:
        return None
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None
    return Tool(Path(path), parse_version(done.stdout))


def lacks_build_tools() -> bool:
    """Whether cmake or ninja has to come from the group `build-tools`."""
    cmake = find("cmake")
    return cmake is None or cmake.version < CMAKE_MINIMUM or find("ninja") is None


def require_cmake() -> Tool:
    """The cmake of `PATH`.

    Raises:
        StepError: It is missing or older than 3.25.
    """
    cmake = find("cmake")
    if cmake is None or cmake.version < CMAKE_MINIMUM:
        found = "none" if cmake is None else str(cmake)
        raise StepError(
            f"cmake >= 3.25 is needed, found {found}; run through nox, or install the dependency "
            "group `build-tools`"
        )
    return cmake


def compiler(environment: Mapping[str, str] = os.environ) -> Tool:
    """The C++ compiler: `CXX`, or else c++, g++ or clang++ of `PATH`.

    Raises:
        StepError: There is none, or it is older than GCC 12 or Clang 16.
    """
    wanted = environment.get("CXX")
    names = [wanted] if wanted else ["c++", "g++", "clang++"]
    path = next((found for name in names if (found := shutil.which(name))), None)
    if path is None and wanted:
        raise StepError(
            f"CXX: expected a program, got {wanted!r}; set it to GCC >= {GCC_MINIMUM[0]} or Clang "
            f">= {CLANG_MINIMUM[0]}, without arguments, or unset it (ccache is used where it is)"
        )
    if path is None:
        raise StepError(
            f"no C++ compiler among {', '.join(names)}; install one: apt-get install g++"
        )
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    if done.returncode != 0 or not done.stdout:
        raise StepError(
            f"`{path} --version` fails (exit {done.returncode}): {done.stderr.strip()}; set CXX to "
            "a compiler that runs"
        )
    banner = done.stdout.splitlines()[0]
    is_clang = "clang" in banner
    tool = Tool(Path(path), parse_version(banner))
    minimum = CLANG_MINIMUM if is_clang else GCC_MINIMUM
    if tool.version < minimum:
        name = "Clang" if is_clang else "GCC"
        raise StepError(
            f"C++20 needs {name} >= {minimum[0]}, found {banner!r}; set CXX to a newer compiler"
        )
    return tool


#: Variables that decide about compiled code: CMake's, setuptools' and scikit-build-core's.
_FLAGS = (
    "CXXFLAGS",
    "CFLAGS",
    "CPPFLAGS",
    "LDFLAGS",
    "CMAKE_ARGS",
    "CMAKE_BUILD_TYPE",
    "CMAKE_PREFIX_PATH",
    "CMAKE_TOOLCHAIN_FILE",
    "SKBUILD_CMAKE_ARGS",
    "SKBUILD_CMAKE_DEFINE",
)


def require_programs_of(compiler: Tool, environment: Mapping[str, str] = os.environ) -> None:
    """Makes a program with `compiler` and the flags of the environment, and runs it.

    Raises:
        StepError: One of the two fails; the text has the first error and the flags.
    """
    set_here = {
        name: environment[name] for name in ("CXX", "CXXFLAGS", "LDFLAGS") if environment.get(name)
    }
    try:
        flags = [w for name in ("CXXFLAGS", "LDFLAGS") for w in shlex.split(set_here.get(name, ""))]
    except ValueError as error:
        raise StepError(f"CXXFLAGS or LDFLAGS are no words of a shell: {error}") from error
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "empty.cc"), Path(folder, "empty")
        source.write_text("#include <span>\nint main() { return 0; }\n", encoding="utf-8")
        make = [str(compiler.path), "-std=c++20", str(source), "-o", str(program), *flags]
        problem = _problem_of(make, environment) or _problem_of([str(program)], environment)
    if problem:
        given = ", ".join(f"{name}={value!r}" for name, value in set_here.items())
        raise StepError(
            f"{compiler} makes no C++20 program that runs: {problem}; "
            + (f"correct or unset {given}" if given else "install its library: apt-get install g++")
        )


def _problem_of(command: list[str], environment: Mapping[str, str]) -> str:
    """The first error of `command`, or "" where it succeeds."""
    try:
        done = subprocess.run(
            command, env=dict(environment), capture_output=True, text=True, check=False
        )
    except OSError as error:
        return f"{command[0]}: {error.strerror}"
    if done.returncode == 0:
        return ""
    lines = [line.strip() for line in done.stderr.splitlines()]
    errors = [line for line in lines if "error" in line or "cannot" in line]
    return next(iter([*errors, *filter(None, lines)]), f"exit {done.returncode}")


def compiler_facts(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """What of the compiler decides about the compiled code."""
    tool = compiler(environment)
    banner = subprocess.run(
        [tool.path, "--version"], capture_output=True, text=True, check=True
    ).stdout.splitlines()[0]
    flags = {name: environment.get(name, "") for name in _FLAGS}
    return {"compiler": f"{tool.path} {banner}", **flags}


def working_ccache(compiler: Tool, environment: Mapping[str, str] = os.environ) -> Path | None:
    """ccache of `PATH`, or None where there is none or it fails with `compiler`: one that cannot
    write its cache folder fails every compilation.
    """
    path = shutil.which("ccache")
    if path is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "empty.cc")
        source.touch()
        output = Path(folder, "empty.o")
        command = [path, str(compiler.path), "-c", str(source), "-o", str(output)]
        done = subprocess.run(command, env=dict(environment), capture_output=True, check=False)
    return Path(path) if done.returncode == 0 else None


def locale_for(root: Path, codeset: str) -> dict[str, str]:
    """The variables of the environment with which every Python reads the name of `root`, where the
    locale has `codeset`: the files that make a package editable hold it in UTF-8, and an isolated
    Python reads them in the codeset of the locale, or does not start.
    """
    understood = str(root).isascii() or codeset.upper().replace("-", "") == "UTF8"
    return {} if understood else {"LC_ALL": "C.UTF-8"}


def jobs(environment: Mapping[str, str] = os.environ) -> int:
    """How many compilers run at once: `CMAKE_BUILD_PARALLEL_LEVEL`, or one for each core.

    Raises:
        StepError: The variable is no number above 0.
    """
    given = environment.get("CMAKE_BUILD_PARALLEL_LEVEL", "")
    if not given:
        return len(os.sched_getaffinity(0))
    if not given.isdecimal() or int(given) == 0:
        raise StepError(
            f"CMAKE_BUILD_PARALLEL_LEVEL: expected a number above 0, got {given!r}; correct or "
            "unset it"
        )
    return int(given)


def require_nvcc(environment: Mapping[str, str] = os.environ) -> Tool:
    """The CUDA compiler: `CUDACXX`, nvcc of `PATH`, or that of the default toolkit folder.

    Raises:
        Skip: There is none.
    """
    candidates = [environment.get("CUDACXX"), "nvcc", "/usr/local/cuda/bin/nvcc"]
    for name in candidates:
        if name and (tool := find(name)):
            return tool
    raise Skip("no nvcc in CUDACXX, PATH or /usr/local/cuda; install NVIDIA's CUDA toolkit >= 12")


def require_program(name: str, package: str) -> Path:
    """The optional program `name` of `PATH`.

    Raises:
        Skip: It is missing; the reason names the Debian `package`.
    """
    path = shutil.which(name)
    if path is None:
        raise Skip(f"no {name}; apt-get install {package}")
    return Path(path)
