"""Room on Python's stack for trees as deep as the language allows."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

# A tree is at most 256 levels deep (`linnet.syntax.cursor.DEPTH`) and no stage needs more than
# about 24 Python calls for a level.
_CALLS = 256 * 24 + 2000
_lock = Lock()
_users = 0
_limit = 0


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Lets the code inside recurse as deep as the deepest allowed tree needs.

    The limit belongs to the whole process, so it is put back only when no thread needs it.
    """
    global _users, _limit
    with _lock:
        if _users == 0:
            _limit = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_limit, _CALLS))
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                sys.setrecursionlimit(_limit)
