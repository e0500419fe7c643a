"""Paths that may name anything: looked at without errors, and opened without waiting."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

# pathlib raises for a name that is too long or has a character that no path has (until Python
# 3.14); os.path says that nothing is there.


def is_file(path: Path) -> bool:
    """Whether a regular file is there."""
    return os.path.isfile(path)  # noqa: PTH113 - see above


def is_folder(path: Path) -> bool:
    """Whether a folder is there."""
    return os.path.isdir(path)  # noqa: PTH112 - see above


def exists(path: Path) -> bool:
    """Whether anything is there."""
    return os.path.exists(path)  # noqa: PTH110 - see above


def open_file(path: Path) -> BinaryIO:
    """Opens a regular file for reading. A pipe would make that wait for a writer, perhaps for ever.

    Raises:
        OSError: It cannot be opened, or is a folder, a pipe or a device.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        code = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
        text = os.strerror(code) if stat.S_ISDIR(mode) else "Not a regular file"
        raise OSError(code, text, str(path))
    return os.fdopen(handle, "rb")
