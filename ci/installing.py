"""Makes the environment of a nox session; only `noxfile.py` imports this, since it needs nox."""

from __future__ import annotations

import locale
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import nox

from ci import environment, lock, processes, progress, toolchain, trees
from ci.__main__ import SESSIONS
from ci.local_wheels import find_links, local_torch
from ci.native import ROOT
from ci.packages import install_options
from ci.steps import StepError, refused

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


def refuse_unknown_arguments(session: nox.Session) -> None:
    """Stops for an argument that the session's steps refuse, before minutes of set-up."""
    steps, _ = SESSIONS[session.name]
    try:
        steps(session.posargs)
    except SystemExit as refusal:
        session.error(refusal.code if isinstance(refusal.code, str) else "its arguments; see above")


@contextmanager
def told(session: nox.Session) -> Iterator[None]:
    """Ends the session with the one line of a step that cannot be done."""
    try:
        yield
    except StepError as error:
        session.error(str(error))
    except OSError as error:
        session.error(refused(error) or f"{type(error).__name__}: {error}")


def mend(session: nox.Session) -> None:
    """Makes the session's environment anew where files of its packages are missing."""
    location = Path(session.virtualenv.location)
    if problem := environment.damage(location):
        session.warn(f"the environment is damaged and made anew ({problem})")
        shutil.rmtree(location)
        session.virtualenv.create()


def work(
    session: nox.Session,
    groups: Sequence[str],
    workspace: bool,
    without: Sequence[str],
    then: Callable[[nox.Session], None] | None,
) -> None:
    """Makes the session's environment exact and runs its steps there; one process at a time."""
    processes.end_descendants_too()
    refuse_unknown_arguments(session)
    with told(session), lock.held(Path(f"{session.virtualenv.location}.lock"), session.warn):
        mend(session)
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


def leave_out_foreign_parts(session: nox.Session) -> None:
    """Unsets what would put other packages in place of those that the session installs."""
    for name in sorted({*FOREIGN} & {*os.environ}):
        session.warn(f"{name}={os.environ[name]!r} is left out of the session")
        session.env[name] = None


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
