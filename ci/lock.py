"""Lets one process at a time work in a folder; another one waits."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def held(path: Path, say: Callable[[str], object]) -> Iterator[None]:
    """Holds the lock of the file `path`, which is made where it is missing, during the body.

    Where another process holds it, `say` gets one line that names the process, and the body waits.
    The system releases the lock of a process that was killed. A file system without locks gives
    none.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            say(f"process {file.read().strip() or '?'} holds {path}; waiting for its end")
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError:
            pass  # Such a file system leaves it to the user to start one at a time.
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
