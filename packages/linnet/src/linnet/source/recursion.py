"""Room on Python's stack for trees as deep as the language allows."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

from linnet.source.process import ProcessSetting

# A tree is at most 256 levels deep (`linnet.syntax.cursor.DEPTH`) and no stage needs more than
# about 24 Python calls for a level.
_CALLS = 256 * 24 + 2000


def _raise() -> Callable[[], object]:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _CALLS))
    return partial(sys.setrecursionlimit, limit)


_LIMIT = ProcessSetting(_raise)


def deep_recursion() -> AbstractContextManager[None]:
    """Lets the code inside recurse as deep as the deepest allowed tree needs.

    The limit belongs to the whole process, so it is put back only when no thread needs it.
    """
    return _LIMIT.changed()
