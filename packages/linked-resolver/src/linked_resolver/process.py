"""Runs another program within bounds of time and output, and leaves nothing of it behind."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

GREATEST_OUTPUT = 256 * 1024 * 1024
"""Bytes; the dynamic symbols of the largest libraries print about 50 MB."""


@dataclass(frozen=True)
class Finished:
    """What a program left: `status` as in subprocess, negative for a signal."""

    status: int
    stdout: bytes
    stderr: bytes
    answer: bytes
    timed_out: bool

    def how(self) -> str:
        """How it ended, in words."""
        if self.timed_out:
            return "did not finish in time"
        if self.status >= 0:
            return f"exited with status {self.status}"
        try:
            return f"was ended by {signal.Signals(-self.status).name}"
        except ValueError:
            return f"was ended by signal {-self.status}"


def run(
    command: Sequence[str | Path],
    *,
    seconds: float,
    stdin: bytes = b"",
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    answer_variable: str | None = None,
    greatest_output: int = GREATEST_OUTPUT,
) -> Finished:
    """Runs `command` to its end, or kills it and all that it started after `seconds`.

    Its output goes to files without names, so that neither a full pipe nor a grandchild that keeps
    one open can make this wait. `answer_variable` names an environment variable that tells the
    program the number of a file descriptor whose content comes back as `answer`.

    Raises:
        OSError: The program cannot be started.
    """
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(4)]
        given, out, err, answer = files
        given.write(stdin)
        given.seek(0)
        variables = dict(os.environ if environment is None else environment)
        if answer_variable is not None:
            variables[answer_variable] = str(answer.fileno())
        process = subprocess.Popen(
            [str(part) for part in command],
            stdin=given,
            stdout=out,
            stderr=err,
            env=variables,
            cwd=folder,
            pass_fds=[answer.fileno()] if answer_variable is not None else [],
            start_new_session=True,
        )
        with contextlib.suppress(ProcessLookupError, PermissionError):
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (greatest_output, greatest_output))
        late = threading.Event()

        def kill() -> None:
            late.set()
            _kill_group(process.pid)

        timer = threading.Timer(seconds, kill)
        timer.start()
        try:
            # Its group is ended before its number is free to be another's.
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        finally:
            timer.cancel()
            timer.join()
            _kill_group(process.pid)
            process.wait()
        for file in (out, err, answer):
            file.seek(0)
        return Finished(
            process.returncode,
            out.read(greatest_output),
            err.read(greatest_output),
            answer.read(greatest_output),
            late.is_set(),
        )


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def excerpt(output: bytes, lines: int = 12, width: int = 300) -> str:
    """The first and the last lines of an output, for a message."""
    text = output[: 64 * 1024].decode("utf-8", "backslashreplace")
    if len(output) > 64 * 1024:
        text += "\n" + output[-64 * 1024 :].decode("utf-8", "backslashreplace")
    kept = [line.rstrip()[:width] for line in text.splitlines() if line.strip()]
    if len(kept) > lines:
        half = lines // 2
        kept = [*kept[:half], "...", *kept[-half:]]
    return "\n".join(kept)
