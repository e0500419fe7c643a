from __future__ import annotations

import os
import signal
import subprocess
import sys

from ci.native import ROOT
from ci.processes import descendants_of

# A session whose child has a child; both say that they run, on the pipe that all three share.
SESSION = """
import subprocess, sys
from ci.processes import end_with_descendants_on_termination
end_with_descendants_on_termination()
child = "import subprocess; subprocess.run(['sh', '-c', 'echo ready; exec sleep 600'])"
try:
    subprocess.run([sys.executable, "-c", child])
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_termination_ends_all_descendants_and_the_process_as_an_interrupt_does() -> None:
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
    session.send_signal(signal.SIGTERM)
    # The pipe ends when its last writer has: a descendant that went on would hold it.
    assert session.communicate(timeout=60)[0] == ""
    assert session.returncode == 130
