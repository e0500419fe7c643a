from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ci.steps import Outcome, Skip, Step, StepError, output_of, refused, run, run_steps, table


def _raise(error: BaseException) -> Callable[[], str | None]:
    def action() -> str | None:
        raise error

    return action


def _exit_with(status: int) -> list[str]:
    return [sys.executable, "-c", f"print('heard'); raise SystemExit({status})"]


def test_all_passed_gives_status_zero() -> None:
    assert (
        run_steps("t", [Step("a", lambda: None), Step("b", lambda: "note")], keep_going=True) == 0
    )


def test_a_failure_stops_the_steps_after_it_and_gives_status_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ran = []
    steps = [Step("a", _raise(StepError("broken"))), Step("b", lambda: ran.append("b"))]
    assert run_steps("t", steps, keep_going=False) == 1
    assert ran == []
    assert "failed: broken" in capsys.readouterr().out


def test_with_keep_going_the_steps_after_a_failure_run_and_the_status_stays_one() -> None:
    ran = []
    steps = [Step("a", _raise(ValueError("broken"))), Step("b", lambda: ran.append("b"))]
    assert run_steps("t", steps, keep_going=True) == 1
    assert ran == ["b"]


def test_a_skip_is_no_failure_and_shows_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_steps("t", [Step("a", _raise(Skip("no tool")))], keep_going=False) == 0
    assert "skipped: no tool" in capsys.readouterr().out


def test_an_unforeseen_exception_is_a_failure_with_its_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_steps("t", [Step("a", _raise(KeyError("name")))], keep_going=False) == 1
    captured = capsys.readouterr()
    assert "Traceback" in captured.err
    assert "failed: KeyError: 'name'" in captured.out


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (errno.ENOSPC, "/build/a: No space left on device; make room on its disk"),
        (errno.EROFS, "/build/a: Read-only file system; use a checkout"),
        (errno.EACCES, "/build/a: Permission denied; give this user the right"),
        (errno.ENOTDIR, "/build/a: Not a directory; move away what is there"),
    ],
)
def test_what_the_machine_refuses_is_one_line_with_what_to_do(
    capsys: pytest.CaptureFixture[str], code: int, says: str
) -> None:
    error = OSError(code, os.strerror(code), "/build/a")
    assert run_steps("t", [Step("a", _raise(error))], keep_going=False) == 1
    captured = capsys.readouterr()
    assert f"failed: {says}" in captured.out
    assert "Traceback" not in captured.err


def test_a_copy_of_a_folder_that_found_no_room_says_so(tmp_path: Path) -> None:
    def no_room(_source: str, target: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), target)

    (tmp_path / "from").mkdir()
    (tmp_path / "from/a").touch()
    with pytest.raises(shutil.Error) as caught:
        shutil.copytree(tmp_path / "from", tmp_path / "to", copy_function=no_room)
    said = refused(caught.value)
    assert said is not None
    assert said.endswith("make room on its disk, or set TMPDIR to a folder with room")
    assert str(tmp_path / "to/a") in said


def test_an_error_of_the_program_is_not_the_machines() -> None:
    assert refused(ValueError("x")) is None
    assert refused(FileNotFoundError(errno.ENOENT, "x", "y")) is None


def test_an_interrupt_ends_the_session_with_its_table_and_status_130(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ran = []
    steps = [Step("a", _raise(KeyboardInterrupt())), Step("b", lambda: ran.append("b"))]
    assert run_steps("t", steps, keep_going=True) == 130
    assert ran == []
    rows = capsys.readouterr().out.splitlines()
    assert rows[-1].endswith("1 interrupted, 1 not run")


def test_setup_time_is_the_first_row(capsys: pytest.CaptureFixture[str]) -> None:
    run_steps("t", [Step("a", lambda: None)], keep_going=False, setup_seconds=2.5)
    rows = capsys.readouterr().out.splitlines()
    assert "environment       2.5  passed" in rows


def test_table_ends_with_total_and_counts() -> None:
    outcomes = [
        Outcome("one", 1.25, "passed", "unchanged"),
        Outcome("second", 2.5, "skipped", "no tool"),
        Outcome("third", 0.0, "not run"),
    ]
    assert table("name", outcomes).splitlines() == [
        "",
        "== name",
        "step     seconds  result",
        "one          1.2  passed: unchanged",
        "second       2.5  skipped: no tool",
        "third        0.0  not run",
        "total        3.8  1 passed, 1 skipped, 1 not run",
    ]


def test_run_names_status_and_command_of_a_failure() -> None:
    with pytest.raises(StepError, match=r"^exit 3: .*SystemExit\(3\)"):
        run(*_exit_with(3))


def test_run_names_the_signal_that_killed_a_command() -> None:
    with pytest.raises(StepError, match=r"^signal 9: "):
        run(sys.executable, "-c", "import os; os.kill(os.getpid(), 9)")


def test_run_names_a_command_that_cannot_start(tmp_path: Path) -> None:
    with pytest.raises(StepError, match=r"cannot start .*absent"):
        run(tmp_path / "absent")


def test_output_of_returns_the_output_and_adds_to_the_environment() -> None:
    code = "import os; print(os.environ['ADDED'], 'PATH' in os.environ)"
    assert output_of(sys.executable, "-c", code, env={"ADDED": "x"}) == "x True\n"


def test_output_of_shows_what_a_failed_command_printed() -> None:
    with pytest.raises(StepError, match="heard"):
        output_of(*_exit_with(1))
