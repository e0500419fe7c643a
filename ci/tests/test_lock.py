from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from ci.lock import held
from ci.native import ROOT

HOLD = """
import sys, time
from pathlib import Path
from ci.lock import held
with held(Path(sys.argv[1]), print):
    print("held", flush=True)
    time.sleep(600)
"""


def test_the_body_runs_once_the_holder_is_gone_even_by_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "new/lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    said = []

    def say(line: str) -> None:
        said.append(line)
        os.kill(holder.pid, signal.SIGKILL)

    with held(path, say):
        assert said == [f"process {holder.pid} holds {path}; waiting for its end"]
    holder.communicate()


def test_nothing_is_said_where_nobody_holds_it(tmp_path: Path) -> None:
    said: list[str] = []
    for _ in range(2):
        with held(tmp_path / "lock", said.append):
            pass
    assert said == []
