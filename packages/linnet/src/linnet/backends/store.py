"""Measured times, kept in `$LINNET_HOME/benchmarks.json` between processes.

The file is shared: every write takes a lock, reads what others wrote, and replaces the file as a
whole. A file that cannot be read is set aside; a folder that cannot be written leaves the times in
this process. Neither is an error, since every time can be measured again.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import stat
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from filelock import FileLock, Timeout

VERSION = 1
#: A file past this size was not written by Linnet (a million entries take less).
MAX_BYTES = 64 * 1024 * 1024
LOCK_SECONDS = 10.0


class BenchmarkWarning(UserWarning):
    """The file of measured times could not be used as it is."""


class _UnreadableError(Exception):
    """The file's content is no file of measured times; the text says why."""


@dataclass(frozen=True)
class Timing:
    """Seconds of one region on its back end and on the generated source."""

    backend: float
    generated: float


def home() -> Path:
    """`$LINNET_HOME`, or `~/.linnet`."""
    return Path(os.environ.get("LINNET_HOME") or Path.home() / ".linnet")


class BenchmarkStore:
    """Key -> `Timing`, in one file. Keys are texts that the planner makes."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = home() / "benchmarks.json" if path is None else path
        self._writable = True
        self._warned = False
        self._lock = threading.Lock()
        # Reading needs no lock, since a write replaces the file as a whole.
        try:
            self._times = self._read()
        except _UnreadableError:
            with self._locked() as held:
                self._times = self._read_or_set_aside() if held else {}

    def __len__(self) -> int:
        return len(self._times)

    def get(self, key: str) -> Timing | None:
        """The time kept under `key`, or None."""
        return self._times.get(key)

    def put(self, times: Mapping[str, Timing]) -> None:
        """Keeps `times`, in memory and, where the file can be written, there too. Entries that
        other processes wrote meanwhile stay, and become visible here.
        """
        if not times:
            return
        for key, timing in times.items():
            if not (_is_time(timing.backend) and _is_time(timing.generated)):
                raise ValueError(f"benchmarks: {key}: not a time in seconds: {timing}")
        with self._lock:
            self._times.update(times)
            if self._writable:
                with self._locked() as held:
                    if held:
                        self._merge(times)

    def _merge(self, times: Mapping[str, Timing]) -> None:
        known = {**self._read_or_set_aside(), **times}
        self._times.update(known)
        if not self._writable:
            return
        try:
            self._write(known)
        except OSError as error:
            self._memory_only(f"cannot be written ({error.strerror or error})")

    @contextlib.contextmanager
    def _locked(self) -> Iterator[bool]:
        """Holds the file's lock; gives False, and no lock, where the folder has no room for one."""
        lock = self.path.with_name(self.path.name + ".lock")
        try:
            lock.parent.mkdir(parents=True, exist_ok=True)
            held = FileLock(lock, timeout=LOCK_SECONDS)
            held.acquire()
        except Timeout:
            self._memory_only("is locked by another process")
            yield False
            return
        except OSError as error:
            self._memory_only(f"cannot be written ({error.strerror or error})")
            yield False
            return
        try:
            yield True
        finally:
            held.release()

    def _read_or_set_aside(self) -> dict[str, Timing]:
        """What the file holds; called with the lock held."""
        try:
            return self._read()
        except _UnreadableError as error:
            self._set_aside(str(error))
            return {}

    def _read(self) -> dict[str, Timing]:
        try:
            found = self.path.stat()
            if not stat.S_ISREG(found.st_mode):
                # A pipe would not end, and what stands there has another owner.
                self._memory_only("is no regular file")
                return {}
            if found.st_size > MAX_BYTES:
                raise _UnreadableError(f"is larger than {MAX_BYTES // 2**20} MiB")
            text = self.path.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as error:
            self._memory_only(f"cannot be read ({error.strerror or error})")
            return {}
        try:
            document = json.loads(text.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise _UnreadableError(f"is not JSON ({error})") from error
        if not isinstance(document, dict) or not isinstance(document.get("entries"), dict):
            raise _UnreadableError("is no file of measured times")
        version = document.get("version")
        if isinstance(version, int) and version > VERSION:
            self._memory_only(f"has the later version {version}, of another Linnet, and is kept")
            return {}
        if version != VERSION:
            raise _UnreadableError(f"has the unknown version {version!r}")
        return self._entries(document["entries"])

    def _entries(self, entries: Mapping[str, Any]) -> dict[str, Timing]:
        found: dict[str, Timing] = {}
        bad = 0
        for key, entry in entries.items():
            times = entry if isinstance(entry, dict) else {}
            backend, generated = times.get("backend"), times.get("generated")
            if _is_time(backend) and _is_time(generated):
                found[key] = Timing(backend, generated)
            else:
                bad += 1
        if bad:
            self._warn(f"has {bad} entries that are no times; they are measured anew")
        return found

    def _write(self, times: Mapping[str, Timing]) -> None:
        """Replaces the file; through a symbolic link, the file that it names."""
        target = Path(os.path.realpath(self.path))
        entries = {
            key: {"backend": timing.backend, "generated": timing.generated}
            for key, timing in sorted(times.items())
        }
        text = json.dumps({"version": VERSION, "entries": entries}, indent=1, allow_nan=False)
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError(13, "the file is read-only")
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=target.name + ".")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text + "\n")
            Path(temporary).replace(target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise

    def _set_aside(self, reason: str) -> None:
        if self.path.is_symlink():
            # What it names need not be Linnet's.
            self._memory_only(f"is a link to a file that {reason}, which is left alone")
            return
        aside = self.path.with_name(self.path.name + ".corrupt")
        try:
            self.path.replace(aside)
        except OSError:
            self._memory_only(f"{reason} and cannot be moved away")
            return
        self._warn(f"{reason}; it is now {aside.name} beside it, and times are measured anew")

    def _memory_only(self, reason: str) -> None:
        self._writable = False
        self._warn(f"{reason}; times are kept in this process only")

    def _warn(self, what: str) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(f"{self.path} {what}", BenchmarkWarning, stacklevel=2)


def _is_time(value: Any) -> TypeGuard[float]:
    return (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and math.isfinite(value)
        and value >= 0
    )
