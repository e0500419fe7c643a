"""Where the InfiniRT prefix (headers, library, CMake package) lies that this distribution carries.

The runtime itself is `infini.rt`; this module serves builds of C++ code against it::

    cmake -DCMAKE_PREFIX_PATH="$(python -m infinirt --prefix)" ...
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

__all__ = ["prefix"]

__version__ = version("infinirt")


def prefix() -> Path:
    """Returns the folder that holds `include/`, `lib/` and `lib/cmake/InfiniRT`.

    Raises:
        RuntimeError: the distribution was installed without its compiled part.
    """
    # An editable install has two folders: the sources, and the one with what CMake installed.
    for folder in __path__:
        candidate = Path(folder) / "prefix"
        if (candidate / "include" / "infini" / "rt.h").is_file():
            return candidate.resolve()
    raise RuntimeError(
        f"infinirt {__version__} was installed without its prefix (looked for "
        f"prefix/include/infini/rt.h in {', '.join(map(str, __path__))}); "
        "reinstall the distribution infinirt"
    )
