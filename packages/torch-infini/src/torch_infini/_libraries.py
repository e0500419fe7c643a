"""Finds and loads libinfinirt.so and libinfiniops.so, exactly one copy of each.

A library that the process has already is used. Otherwise the dynamic loader looks for it
(`LD_LIBRARY_PATH`, the system's configuration), and where that finds none, the installed wheel.
Like `_record`, this module imports nothing of the package.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path


@dataclass(frozen=True)
class Library:
    """A shared library of the stack."""

    soname: str
    distribution: str  # whose wheel carries it
    abi_function: str


RUNTIME = Library("libinfinirt.so", "infinirt", "infini_rt_abi_version")
OPERATORS = Library("libinfiniops.so", "infiniops", "infini_ops_abi_version")


def in_wheel(library: Library) -> Path | None:
    """Returns the library's file in the installed wheel; None without wheel or file."""
    try:
        files = metadata.files(library.distribution)
    except metadata.PackageNotFoundError:
        return None
    for file in files or ():
        if file.name == library.soname:
            path = Path(str(file.locate()))
            if path.is_file():
                return path
    return None


def load(library: Library) -> ctypes.CDLL:
    """Loads `library`, or returns the copy that is loaded.

    Raises:
        ImportError: it is nowhere, or it is there but does not load.
    """
    try:
        return ctypes.CDLL(library.soname, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        pass  # not loaded yet
    try:
        return ctypes.CDLL(library.soname)
    except OSError as error:
        # The loader names what it missed: this library, or one that it needs.
        if not str(error).startswith(f"{library.soname}: cannot open shared object file"):
            raise ImportError(
                f"{library.soname} was found through the loader path but does not load: {error}"
            ) from error
    path = in_wheel(library)
    if path is None:
        raise ImportError(
            f"torch_infini needs {library.soname}, which is neither on the loader path nor in an "
            f"installed wheel. Add the folder that holds it to LD_LIBRARY_PATH (or to the system's "
            f"loader configuration, and run ldconfig), or install the wheel {library.distribution}"
        )
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise ImportError(
            f"{library.soname} of the wheel {library.distribution} does not load: {error}"
        ) from error


def abi_version(library: Library, loaded: ctypes.CDLL) -> int:
    """Returns the ABI version that a loaded library reports.

    Raises:
        ImportError: the library does not report one.
    """
    try:
        function = getattr(loaded, library.abi_function)
    except AttributeError:
        raise ImportError(
            f"{library.soname} has no function {library.abi_function}; it is no library of the "
            f"Infini stack, or one too old for this torch_infini"
        ) from None
    function.restype = ctypes.c_int
    function.argtypes = []
    return int(function())
