"""Settings of the whole process, changed while some thread needs them changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock


class ProcessSetting:
    """A setting that the first who enters `changed` changes and the last who leaves puts back.

    `change` changes it and returns what puts it back.
    """

    def __init__(self, change: Callable[[], Callable[[], object]]) -> None:
        self._change = change
        self._put_back: Callable[[], object] | None = None
        self._lock = Lock()
        self._users = 0

    @contextmanager
    def changed(self) -> Iterator[None]:
        """The setting is changed inside."""
        with self._lock:
            if self._users == 0:
                self._put_back = self._change()
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if self._users == 0 and self._put_back is not None:
                    self._put_back()
