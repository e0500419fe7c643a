"""Says how far the compiled packages are while an installer that builds them says nothing."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

#: Seconds between two lines.
EVERY = 15.0

_OBJECT = re.compile(r"\.o(?:bj)?$")
# Ninja writes a space or colon of a name after a dollar sign.
_BUILT_OBJECT = re.compile(r"^build (?:\$.|[^\s:$])+\.o(?:bj)?: ", re.MULTILINE)


class Builds:
    """The builds by Ninja below packages/*/build of the tree `root`, since this was made."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._before = {log: _objects(log) for log in self._logs()}

    def compiled(self) -> str:
        """What has been compiled since, such as `infiniops 57 of 132 files`; "" if nothing."""
        parts = []
        for log in self._logs():
            before = self._before.get(log, frozenset())
            count = len(_objects(log) - before)
            if count == 0:
                continue
            # How many files a build will compile is known where it compiles all.
            of = "" if before else f" of {_all_objects(log.with_name('build.ninja'))}"
            files = "file" if count == 1 and not of else "files"
            parts.append(f"{log.relative_to(self._root / 'packages').parts[0]} {count}{of} {files}")
        return ", ".join(parts)

    def _logs(self) -> list[Path]:
        return sorted(self._root.glob("packages/*/build/*/.ninja_log"))


@contextmanager
def reported(root: Path, say: Callable[[str], None], every: float = EVERY) -> Iterator[None]:
    """Calls `say` every `every` seconds while the body runs, with the seconds so far and what the
    packages of `root` have compiled in them.
    """
    builds = Builds(root)
    start = time.perf_counter()
    over = threading.Event()

    def report() -> None:
        while not over.wait(every):
            compiled = builds.compiled()
            say(
                f"{time.perf_counter() - start:.0f} s"
                + (f": compiled {compiled}" if compiled else "")
            )

    thread = threading.Thread(target=report, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _objects(log: Path) -> frozenset[str]:
    """The entries of Ninja's log, of tab-separated fields with the output as fourth, that are of
    object files; none where a build has just removed the log."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return frozenset()
    fields = (line.split("\t") for line in lines)
    return frozenset("\t".join(of) for of in fields if len(of) > 3 and _OBJECT.search(of[3]))


def _all_objects(manifest: Path) -> int:
    """The object files that Ninja's `manifest` builds."""
    return len(_BUILT_OBJECT.findall(manifest.read_text(encoding="utf-8", errors="replace")))
