"""The sessions of the workspace; `nox -l` lists them.

Each makes its environment with `uv sync` and hands over to `python -m ci <session>`, which prints
the seconds of every step.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path

import nox

ROOT = Path(__file__).parent
# nox executes this file without putting its folder on the path.
sys.path.insert(0, str(ROOT))

from ci import toolchain  # noqa: E402 - needs the line above
from ci.packages import install_options  # noqa: E402 - likewise

nox.needs_version = ">=2025.5.1"
nox.options.default_venv_backend = "uv"
nox.options.reuse_venv = "yes"  # `uv sync` makes a reused environment exact
nox.options.sessions = ["tests", "lint"]


def work(session: nox.Session, *groups: str, workspace: bool = True) -> None:
    """Installs `groups`, and with `workspace` the packages, then runs the session's steps."""
    start = time.perf_counter()
    if toolchain.lacks_build_tools():
        groups = (*groups, "build-tools")
    environment = {
        "UV_PROJECT_ENVIRONMENT": session.virtualenv.location,
        "UV_PYTHON_DOWNLOADS": os.environ.get("UV_PYTHON_DOWNLOADS", "never"),
    }
    # uv does not read pip's settings; wheels that this machine offers should be found all the same.
    if "UV_FIND_LINKS" not in os.environ and (links := os.environ.get("PIP_FIND_LINKS")):
        environment["UV_FIND_LINKS"] = ",".join(links.split())
    # CMake reads this variable, so builds inside `uv sync` use ccache too.
    if shutil.which("ccache"):
        environment["CMAKE_CXX_COMPILER_LAUNCHER"] = "ccache"
    session.env.update(environment)
    session.run_install(
        "uv",
        "sync",
        "--quiet",
        f"--python={session.virtualenv.location}",
        "--no-default-groups",
        *(f"--group={group}" for group in ("ci", *groups)),
        *(install_options(ROOT) if workspace else ["--no-install-workspace"]),
        external=True,
    )
    seconds = f"--setup-seconds={time.perf_counter() - start:.1f}"
    session.run("python", "-m", "ci", seconds, session.name, *session.posargs)


@nox.session
def smoke(session: nox.Session) -> None:
    """Builds the stack and shows it at work; the shortest way to see that it runs here."""
    work(session, "torch", "torch-infini")


@nox.session
def tests(session: nox.Session) -> None:
    """Builds the stack and runs every test; arguments go to pytest, which then runs alone."""
    work(session, "test", "torch", "torch-infini")


@nox.session
def build(session: nox.Session) -> None:
    """Builds prefixes into `build/`, sdists and wheels into `dist/`, and tries each wheel alone;
    arguments name packages."""
    work(session, "wheels", workspace=False)


@nox.session
def cuda_compile(session: nox.Session) -> None:
    """Compiles and links what needs NVIDIA's toolkit and runs its tests; needs no GPU."""
    work(session, workspace=False)


@nox.session
def vendors(session: nox.Session) -> None:
    """Builds and tests InfiniRT with each CUDA-like vendor's back end on a stand-in for its SDK."""
    work(session, workspace=False)


@nox.session
def sanitize(session: nox.Session) -> None:
    """Runs the C++ tests under AddressSanitizer with UBSan, and under ThreadSanitizer."""
    work(session, workspace=False)


@nox.session
def lint(session: nox.Session) -> None:
    """Checks format, types, spelling and the repository's own rules; `--all` runs clang-tidy on
    every C++ file instead of the changed ones."""
    work(session, "test", "lint", "clang-tidy", "torch", "torch-infini")


@nox.session
def docs(session: nox.Session) -> None:
    """Builds the documentation site into `build/site`; `--write` renews the generated pages."""
    work(session, "docs")


@nox.session
def bench(session: nox.Session) -> None:
    """Runs every benchmark; results go to `build/bench/` as JSON and as a table."""
    work(session, workspace=False)
