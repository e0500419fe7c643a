"""The session `lint`: formatters, linters, types, spelling and the repository's own checks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from ci import checks, infinirt, native, toolchain
from ci.native import ROOT
from ci.packages import PACKAGES
from ci.stamp import files_of
from ci.steps import Skip, Step, output_of, run

CPP_SUFFIXES = {".h", ".cc", ".cu", ".cuh", ".hpp", ".cpp"}


def steps(arguments: Sequence[str]) -> list[Step]:
    """The steps of the session; `--all` runs clang-tidy on every C++ file."""
    return [
        Step("ruff check", partial(_module, "ruff", "check", ".")),
        Step("ruff format", partial(_module, "ruff", "format", "--check", ".")),
        *type_steps(),
        Step("clang-format", check_cpp_format),
        Step("clang-tidy", partial(run_clang_tidy, every_file="--all" in arguments)),
        Step("codespell", partial(_module, "codespell_lib", ".")),
        *checks.steps(),
    ]


def _module(name: str, *arguments: str) -> None:
    run(sys.executable, "-m", name, *arguments, cwd=ROOT)


def type_steps() -> list[Step]:
    """One mypy run for `ci` and one for each package: two may have test modules of one name."""
    return [
        Step("mypy: ci", partial(_module, "mypy", "ci", "noxfile.py")),
        *(
            Step(f"mypy: {package.name}", partial(_module, "mypy", f"packages/{package.name}"))
            for package in PACKAGES
        ),
    ]


def cpp_files() -> list[Path]:
    """The C++ and CUDA files of the tree, relative to the root."""
    return [path for path in files_of(ROOT, ["packages"]) if path.suffix in CPP_SUFFIXES]


def check_cpp_format() -> str:
    """Compares every C++ file with what clang-format makes of it."""
    files = cpp_files()
    if not files:
        raise Skip("no C++ file")
    run("clang-format", "--dry-run", "--Werror", *files, cwd=ROOT)
    return f"{len(files)} files"


def changed_files(base: str) -> set[Path]:
    """The files that differ from the commit where this branch left `base`, and untracked ones."""
    fork = output_of("git", "merge-base", "HEAD", base, cwd=ROOT).strip()
    names = output_of("git", "diff", "--name-only", "-z", fork, cwd=ROOT).split("\0")
    names += output_of("git", "ls-files", "-z", "--others", "--exclude-standard", cwd=ROOT).split(
        "\0"
    )
    return {Path(name) for name in names if name}


def base_branch() -> str:
    """The branch to compare with: `LINT_BASE`, or else origin/main, or else main."""
    if given := os.environ.get("LINT_BASE"):
        return given
    known = subprocess.run(
        ["git", "rev-parse", "--verify", "--quiet", "origin/main"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    return "origin/main" if known.returncode == 0 else "main"


def run_clang_tidy(*, every_file: bool) -> str:
    """Runs clang-tidy on the compiled files that differ from the main branch, or on all.

    Raises:
        Skip: clang-tidy is not installed, or no compiled file differs.
    """
    if shutil.which("clang-tidy") is None:
        raise Skip("no clang-tidy; install the dependency group `clang-tidy`")
    compiled = [path for path in files_of(ROOT, [infinirt.PACKAGE]) if path.suffix == ".cc"]
    if not every_file:
        base = base_branch()
        compiled = sorted(set(compiled) & changed_files(base))
        if not compiled:
            raise Skip(f"no C++ source differs from {base}; `nox -s lint -- --all` checks them all")
    native.build(infinirt.TESTS)
    database = infinirt.TESTS.tree / "compile_commands.json"
    listed = database.read_text(encoding="utf-8")
    # A source of another back end is in no compile command here.
    files = [path for path in compiled if str(ROOT / path) in listed]
    if not files:
        raise Skip("the sources that differ belong to back ends which this build leaves out")
    # The compile commands may be GCC's, which has warnings that Clang does not know.
    tolerant = "--extra-arg=-Wno-unknown-warning-option"
    command = ["clang-tidy", "-p", str(database.parent), "--quiet", tolerant]
    parts = [files[start :: toolchain.jobs()] for start in range(toolchain.jobs())]
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda part: run(*command, *part, cwd=ROOT), filter(None, parts)))
    return f"{len(files)} of {len(compiled)} files"
