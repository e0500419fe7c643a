import subprocess
import sys
import time
from pathlib import Path

import pytest

from linked_resolver import process


def python(code: str, **options: object) -> process.Finished:
    options.setdefault("seconds", 60.0)
    return process.run([sys.executable, "-c", code], **options)  # type: ignore[arg-type]  # options


def test_output_and_status_come_back() -> None:
    code = "import sys; print(sys.stdin.read()); print('b', file=sys.stderr); sys.exit(3)"
    finished = python(code, stdin=b"a")
    assert (finished.status, finished.stdout, finished.stderr) == (3, b"a\n", b"b\n")
    assert finished.how() == "exited with status 3"


def test_a_signal_is_named() -> None:
    assert python("import os; os.abort()").how() == "was ended by SIGABRT"


def test_an_answer_goes_beside_the_output() -> None:
    code = "import os; print('noise'); os.write(int(os.environ['ANSWER']), b'42')"
    assert python(code, answer_variable="ANSWER").answer == b"42"


def test_a_hang_ends_at_the_limit() -> None:
    finished = python("import time; time.sleep(600)", seconds=0.5)
    assert finished.timed_out
    assert finished.how() == "did not finish in time"


def test_a_program_that_ignores_signals_ends_too() -> None:
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    assert python(code, seconds=0.5).timed_out


def test_what_it_started_is_ended_and_not_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    code = (
        "import subprocess\n"
        "child = subprocess.Popen(['sleep', '600'])\n"
        f"open({str(file)!r}, 'w').write(str(child.pid))"
    )
    assert not python(code).timed_out
    pid = file.read_text()
    # Its new parent may take a moment to see its end.
    for _ in range(500):
        state = subprocess.run(["ps", "-o", "stat=", pid], capture_output=True, text=True)
        if state.stdout.strip() in ("", "Z"):
            break
        time.sleep(0.01)
    else:
        pytest.fail(f"process {pid} still runs: {state.stdout}")


def test_endless_output_is_cut_off() -> None:
    code = "import os\nwhile True: os.write(1, b'x' * 65536)"
    finished = python(code, greatest_output=1 << 20)
    assert len(finished.stdout) == 1 << 20
    assert finished.status != 0


def test_what_cannot_be_started_raises() -> None:
    with pytest.raises(FileNotFoundError):
        process.run(["/no/such/program"], seconds=1)


def test_an_excerpt_keeps_the_first_and_the_last_lines() -> None:
    output = "\n".join(f"line {number}" for number in range(100)).encode()
    lines = process.excerpt(output, 4).splitlines()
    assert lines == ["line 0", "line 1", "...", "line 98", "line 99"]
    assert process.excerpt(b"a\n\n\xff\n") == "a\n\\xff"
    assert process.excerpt(b"x" * 1000, width=10) == "x" * 10
    assert process.excerpt(b"y\n" * 200_000, 4) == "y\ny\n...\ny\ny"
