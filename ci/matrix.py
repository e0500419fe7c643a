"""The session `matrix`: torch-infini built from source and tried on each Python and torch.

Each cell gets an environment of its own, builds against the installed prefixes of InfiniRT and
InfiniOps, and runs the conformance suite on the CPU backend and on two simulated devices, and the
tests of the import guard. A cell that cannot run has failed.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

from ci import infiniops, infinirt, native
from ci.local_wheels import find_links, places_of
from ci.native import BUILD, ROOT
from ci.steps import Step, StepError, output_of, run

PYTHONS = ("3.10", "3.11", "3.12")
TORCHES = ("2.12", "2.13")
PACKAGE = ROOT / "packages/torch-infini"
# Besides torch: what building and testing need. numpy is what torch's own tests of copies use.
REQUIREMENTS = ("setuptools>=77", "ninja>=1.11", "numpy>=1.26", "pytest>=8.3,<10")
GUARD_TESTS = ("tests/test_record.py", "tests/test_import.py", "tests/test_libraries.py")


@dataclass(frozen=True)
class Cell:
    """One interpreter and one minor version of torch."""

    python: str
    torch: str

    def __str__(self) -> str:
        return f"{self.python}x{self.torch}"

    @property
    def requirements(self) -> tuple[str, ...]:
        """What its environment holds."""
        return (f"torch=={self.torch}.*", *REQUIREMENTS)


CELLS = tuple(Cell(python, torch) for python, torch in product(PYTHONS, TORCHES))


def chosen(arguments: Sequence[str]) -> list[Cell]:
    """The cells that `arguments` name, such as `3.10x2.12`; all of them without arguments.

    Raises:
        SystemExit: A name is that of no cell.
    """
    names = {str(cell): cell for cell in CELLS}
    unknown = [name for name in arguments if name not in names]
    if unknown:
        raise SystemExit(
            f"no cell {', '.join(unknown)} in ci/matrix.py; there are {', '.join(names)}"
        )
    return [names[name] for name in arguments] or list(CELLS)


def steps(arguments: Sequence[str]) -> list[Step]:
    """The prefixes, then every chosen cell."""
    cells = chosen(arguments)
    return [
        Step("infinirt: build the prefix", partial(native.build, infinirt.TESTS)),
        Step("infiniops: build the prefix", partial(native.build, infiniops.TESTS)),
        *(
            Step(f"Python {cell.python}, torch {cell.torch}", partial(try_cell, cell))
            for cell in cells
        ),
    ]


def try_cell(cell: Cell) -> str:
    """Builds and tests `cell`; returns the versions that it ran with.

    Raises:
        StepError: It cannot run, or something in it failed.
    """
    prefixes = (infinirt.TESTS.prefix, infiniops.TESTS.prefix)
    for prefix in prefixes:
        if not prefix.is_dir():
            raise StepError(f"no prefix {prefix}: its step has failed")
    with environment(cell) as python:
        versions = versions_of(python, cell)
        install(python, prefixes)
        suites = [("tests/conformance",), GUARD_TESTS]
        for tests in suites:
            run_tests(python, tests, prefixes, {})
        run_tests(python, suites[0], prefixes, {"INFINI_RT_SIM_DEVICES": "2"})
    return versions


@contextmanager
def environment(cell: Cell) -> Iterator[Path]:
    """A new environment with the torch of `cell`, removed at the end; yields its python."""
    folder = BUILD / "matrix" / str(cell)
    shutil.rmtree(folder, ignore_errors=True)
    try:
        # Without `--no-project`, the workspace's own interpreter would be asked for.
        run("uv", "venv", "--quiet", "--no-project", "--python", cell.python, folder)
        python = folder / "bin/python"
        options = ["--quiet", "--no-config", "--python", str(python)]
        options += [f"--find-links={place}" for place in places_of(find_links())]
        run("uv", "pip", "install", *options, *cell.requirements)
        yield python
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def versions_of(python: Path, cell: Cell) -> str:
    """The versions in an environment, which must be those of `cell`.

    Raises:
        StepError: They are not.
    """
    code = "import platform, torch; print(platform.python_version(), torch.__version__)"
    found = output_of(python, "-I", "-c", code).strip()
    version, torch = found.split()
    if not (version.startswith(f"{cell.python}.") and torch.startswith(f"{cell.torch}.")):
        raise StepError(f"expected Python {cell.python} and torch {cell.torch}, found {found}")
    return f"Python {version}, torch {torch}"


def install(python: Path, prefixes: tuple[Path, Path]) -> None:
    """Builds torch-infini's wheel from source as its README says, and installs it."""
    runtime, operators = prefixes
    with tempfile.TemporaryDirectory(prefix="infini-matrix-") as folder:
        # uv's cache of builds does not know of the torch that a build is for; `uv build` has none.
        run(
            *("uv", "build", "--wheel", "--no-config", "--no-build-isolation"),
            *("--python", python, "--out-dir", folder, PACKAGE),
            env={
                "INFINI_RT_PREFIX": str(runtime),
                "INFINI_OPS_PREFIX": str(operators),
                "PATH": os.pathsep.join([str(python.parent), os.environ["PATH"]]),
            },
        )
        (wheel,) = Path(folder).glob("*.whl")
        run(
            "uv", "pip", "install", "--quiet", "--no-config", "--no-deps", "--python", python, wheel
        )


def run_tests(
    python: Path, tests: Sequence[str], prefixes: tuple[Path, Path], variables: Mapping[str, str]
) -> None:
    """Runs tests of torch-infini on the installed wheel, in the folder of its sources, as its
    README says; no test at all is a failure.
    """
    libraries = [str(prefix / "lib") for prefix in reversed(prefixes)]
    if present := os.environ.get("LD_LIBRARY_PATH"):
        libraries.append(present)
    run(
        *(python, "-m", "pytest", "-q"),
        *tests,
        cwd=PACKAGE,
        env={"LD_LIBRARY_PATH": os.pathsep.join(libraries), **variables},
    )
