from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from ci.native import ROOT
from ci.processes import descendants_of

# A session whose child has a child; both say that they run, on the pipe that all three share.
SESSION = """
import signal, subprocess, sys
from ci.processes import end_descendants_too
# A shell starts what runs in the background with SIGINT ignored, and these tests too.
signal.signal(signal.SIGINT, signal.default_int_handler)
end_descendants_too()
child = "import subprocess; subprocess.run(['sh', '-c', 'echo ready; exec sleep 600'])"
try:
    subprocess.run([sys.executable, "-c", child])
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_the_process_alone_interrupts_it_and_ends_all_below(
    number: signal.Signals,
) -> None:
    session = subprocess.Popen(
        [sys.executable, "-c", SESSION],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert session.stdout is not None
    assert session.stdout.readline() == "ready\n"
    below = descendants_of(session.pid)
    assert len(below) == 2
    assert {*below} <= {*descendants_of(os.getpid())}
    session.send_signal(number)
    # The pipe ends when its last writer has: a descendant that went on would hold it.
    assert session.communicate(timeout=60)[0] == ""
    assert session.returncode == 130


def test_an_interrupt_lasts_though_a_wait_for_a_child_swallowed_it() -> None:
    code = """
import os, signal
from ci.processes import end_descendants_too, go_on
end_descendants_too()
go_on()
try:
    os.kill(os.getpid(), signal.SIGTERM)
except KeyboardInterrupt:
    pass
try:
    go_on()
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "interrupted\n"
