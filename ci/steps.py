"""Runs a session's steps in order and prints what each took."""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import subprocess
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ci.processes import go_on


class Skip(Exception):  # noqa: N818 - it is no error
    """Raised by a step that cannot run here; its text is the reason and what would change it."""


class StepError(Exception):
    """Raised by a step that failed for a reason which one line states."""


@dataclass(frozen=True)
class Step:
    """One named piece of work.

    `action` returns a short note for the table, or None. It raises `Skip` where it cannot run;
    any other exception means that it failed.
    """

    name: str
    action: Callable[[], str | None]


@dataclass(frozen=True)
class Outcome:
    """What became of one step: `passed`, `skipped`, `failed`, `interrupted` or `not run`."""

    name: str
    seconds: float
    result: str
    note: str = ""


def run(
    *command: str | Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> None:
    """Runs `command` with its output on the terminal; `env` is added to the environment.

    Raises:
        StepError: The command cannot be started or exits with another status than 0.
    """
    _start(command, cwd, env, capture=False)


def output_of(
    *command: str | Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> str:
    """Runs `command` and returns its standard output.

    Raises:
        StepError: As `run`; the text then ends with what the command printed.
    """
    return _start(command, cwd, env, capture=True)


def _start(
    command: Sequence[str | Path],
    cwd: Path | None,
    env: Mapping[str, str] | None,
    *,
    capture: bool,
) -> str:
    words = [str(word) for word in command]
    line = shlex.join(words)
    if not capture:
        print(f"+ {line}", flush=True)
    try:
        done = subprocess.run(
            words,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            capture_output=capture,
            text=True,
            check=False,
        )
    except OSError as error:
        raise StepError(f"cannot start `{line}`: {error.strerror or error}") from error
    go_on()
    if done.returncode != 0:
        how = f"exit {done.returncode}" if done.returncode > 0 else f"signal {-done.returncode}"
        printed = f"\n{done.stdout}{done.stderr}".rstrip() if capture else ""
        raise StepError(f"{how}: {line}{printed}")
    return done.stdout if capture else ""


def run_steps(
    title: str,
    steps: Iterable[Step],
    *,
    keep_going: bool,
    setup_seconds: float | None = None,
) -> int:
    """Runs `steps`, prints the table of `title`, and returns the exit status: 0 or 1, or 130 where
    Ctrl-C ended it.

    With `keep_going` a failure does not stop the steps after it; without, they count as not run.
    `setup_seconds` is the time that the environment took before.
    """
    outcomes = []
    if setup_seconds is not None:
        outcomes.append(Outcome("environment", setup_seconds, "passed"))
    failed = interrupted = False
    for step in steps:
        if interrupted or (failed and not keep_going):
            outcomes.append(Outcome(step.name, 0.0, "not run"))
            continue
        print(f"\n== {title}: {step.name}", flush=True)
        outcomes.append(_outcome_of(step))
        failed = failed or outcomes[-1].result == "failed"
        interrupted = outcomes[-1].result == "interrupted"
    print(table(title, outcomes), flush=True)
    return 130 if interrupted else int(failed)


def _outcome_of(step: Step) -> Outcome:
    start = time.perf_counter()
    result, note = "passed", ""
    try:
        note = step.action() or ""
    except Skip as reason:
        result, note = "skipped", str(reason)
    except StepError as error:
        result, note = "failed", str(error)
        print(note, flush=True)
    except KeyboardInterrupt:
        result = "interrupted"
    # Whatever a step raises is that step's failure, and the other steps still have to be reported.
    except Exception as error:
        result, note = "failed", refused(error) or f"{type(error).__name__}: {error}"
        if refused(error):
            print(note, flush=True)
        else:
            traceback.print_exc()
    return Outcome(step.name, time.perf_counter() - start, result, _first_line(note))


#: What to do where the system refuses a file.
_REMEDIES = {
    errno.ENOSPC: "make room on its disk, or set TMPDIR to a folder with room",
    errno.EDQUOT: "make room in its quota, or set TMPDIR to a folder with room",
    errno.EROFS: "use a checkout, or a TMPDIR, that can be written",
    errno.EACCES: "give this user the right to it, or use a checkout of this user",
    errno.EPERM: "give this user the right to it, or use a checkout of this user",
    errno.EEXIST: "move away what is there: a folder was expected",
    errno.ENOTDIR: "move away what is there: a folder was expected",
}


def refused(error: Exception) -> str | None:
    """What the machine refused, such as room or a right, where, and what to do, in one line; None
    for an error of another kind.
    """
    if not isinstance(error, OSError):
        return None
    if isinstance(error, shutil.Error):  # Copying a folder gives a list of the errors as text.
        text = str(error.args[0][0][-1]) if isinstance(error.args[0], list) else str(error)
        codes = [code for code in _REMEDIES if os.strerror(code) in text]
        return f"{text}; {_REMEDIES[codes[0]]}" if codes else None
    remedy = _REMEDIES.get(error.errno or 0)
    where = f"{error.filename}: " if error.filename is not None else ""
    return f"{where}{error.strerror}; {remedy}" if remedy else None


def table(title: str, outcomes: Sequence[Outcome]) -> str:
    """The table of step, seconds, result and note, with the total as its last line."""
    width = max(len("total"), len("step"), *(len(outcome.name) for outcome in outcomes))
    lines = [
        "",
        f"== {title}",
        f"{'step':{width}}  {'seconds':>8}  result",
    ]
    for outcome in outcomes:
        note = f": {outcome.note}" if outcome.note else ""
        lines.append(f"{outcome.name:{width}}  {outcome.seconds:8.1f}  {outcome.result}{note}")
    total = sum(outcome.seconds for outcome in outcomes)
    counts = [
        f"{sum(outcome.result == kind for outcome in outcomes)} {kind}"
        for kind in ("passed", "skipped", "failed", "interrupted", "not run")
        if any(outcome.result == kind for outcome in outcomes)
    ]
    lines.append(f"{'total':{width}}  {total:8.1f}  {', '.join(counts)}")
    return "\n".join(lines)


def _first_line(text: str) -> str:
    return text.splitlines()[0][:200] if text else ""
