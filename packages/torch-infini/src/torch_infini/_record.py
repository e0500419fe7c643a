"""The build record: what a build of torch-infini was compiled against.

`setup.py` writes it beside the extension in every kind of build (wheel, editable, in-place), and
`torch_infini` compares it with the process at import, before anything is registered. This module
imports neither torch nor the rest of the package, so that `setup.py` can load it by its path.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

FILE_NAME = "_build_record.json"
SCHEMA = 1

_REBUILD = (
    "Rebuild it against the installed versions: "
    "pip install --no-build-isolation --no-deps --force-reinstall torch-infini"
)


def major_minor(version: str) -> str:
    """Returns the leading `major.minor` of a version ("2.13.0a0+git1" gives "2.13").

    Raises:
        ValueError: `version` does not start with two numbers.
    """
    match = re.match(r"(\d+)\.(\d+)(?!\d)", version)
    if match is None:
        raise ValueError(f"expected a version that starts like '2.13', got {version!r}")
    return f"{match[1]}.{match[2]}"


@dataclass(frozen=True)
class BuildRecord:
    """Versions and binary interfaces that the extension was compiled against."""

    version: str  # of torch-infini
    torch: str
    torch_major_minor: str
    cxx11_abi: bool
    infinirt_abi: int
    infiniops_abi: int
    infiniops: str

    def to_json(self) -> str:
        """Returns the record as the text of its file."""
        return json.dumps({"schema": SCHEMA, **asdict(self)}, indent=2) + "\n"


_TYPES: Mapping[str, type] = {
    "version": str,
    "torch": str,
    "torch_major_minor": str,
    "cxx11_abi": bool,
    "infinirt_abi": int,
    "infiniops_abi": int,
    "infiniops": str,
}


def read(path: Path) -> BuildRecord:
    """Reads the record at `path`.

    Raises:
        ImportError: the file is missing, is not JSON, has another schema, or lacks a field.
    """
    try:
        document: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ImportError(
            f"torch_infini has no build record ({path.name} is missing beside its extension), so "
            f"it cannot tell which torch it was built for. {_REBUILD}"
        ) from None
    except (OSError, ValueError) as error:
        raise ImportError(
            f"torch_infini's build record {path.name} cannot be read: {error}. {_REBUILD}"
        ) from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise ImportError(
            f"torch_infini's build record {path.name} is not of schema {SCHEMA}. {_REBUILD}"
        )
    for name, kind in _TYPES.items():
        if type(document.get(name)) is not kind:
            raise ImportError(
                f"torch_infini's build record {path.name}: expected `{name}` to be a "
                f"{kind.__name__}, got {document.get(name)!r}. {_REBUILD}"
            )
    return BuildRecord(**{name: document[name] for name in _TYPES})


def check_torch(record: BuildRecord, version: str, cxx11_abi: bool) -> None:
    """Compares `record` with the torch of this process.

    Patch versions and suffixes (local, development, alpha, beta, release candidate) may differ.

    Raises:
        ImportError: major.minor or the CXX11 ABI mode differs.
    """
    if record.torch_major_minor != major_minor(version):
        raise ImportError(
            f"torch_infini was built for torch {record.torch_major_minor} (with {record.torch}), "
            f"but this is torch {version}. {_REBUILD}, or install torch "
            f"{record.torch_major_minor}"
        )
    if record.cxx11_abi != cxx11_abi:
        raise ImportError(
            f"torch_infini was built with the CXX11 ABI mode {record.cxx11_abi}, but this torch "
            f"({version}) was built with {cxx11_abi}. {_REBUILD}"
        )


def check_library(library: str, built: int, found: int) -> None:
    """Compares the ABI version of a loaded library with the one at build.

    Raises:
        ImportError: they differ.
    """
    if built != found:
        raise ImportError(
            f"torch_infini was built for ABI version {built} of {library}, but the one that is "
            f"loaded has ABI version {found}. {_REBUILD}, or supply the {library} it was built for"
        )
