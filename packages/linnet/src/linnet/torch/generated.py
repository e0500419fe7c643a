"""Generated source as files that Python imports, so that tracebacks and profilers see it."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Protocol, cast

import torch
from torch import Tensor

from linnet.backends.store import home
from linnet.torch.emit import Source


class Functions(Protocol):
    """The functions that generated source defines."""

    def constants(self, device: torch.device) -> tuple[Tensor, ...]:
        """What depends on literals only."""
        ...

    def prepare(
        self, parameters: Sequence[Tensor], constants: Sequence[Tensor]
    ) -> tuple[Tensor, ...]:
        """What depends on weights only."""
        ...

    def main(
        self,
        inputs: Sequence[Tensor],
        parameters: Sequence[Tensor],
        states: Sequence[Tensor],
        constants: Sequence[Tensor],
        prepared: Sequence[Tensor],
        device: torch.device,
    ) -> tuple[Tensor, ...]:
        """The outputs, then the new content of the states that it writes."""
        ...


def load_functions(source: Source, name: str) -> Functions:
    """Imports generated source from a file of its own; equal text gives the same module.

    The file lies in `$LINNET_HOME/generated`, or in a folder of this process where that cannot be
    written.
    """
    digest = hashlib.sha256(source.text.encode()).hexdigest()[:20]
    module_name = f"linnet_generated_{name}_{digest}"
    # A module is there before its text has run, which another thread must not see.
    with _importing:
        found = sys.modules.get(module_name)
        if found is None:
            found = _import(module_name, _written(f"{name}_{digest}.py", source.text))
    return cast("Functions", found)


def _import(module_name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[module_name]
        raise
    return module


_importing = threading.Lock()
_own_folder: tempfile.TemporaryDirectory[str] | None = None


def _written(file_name: str, text: str) -> Path:
    global _own_folder
    try:
        return _write(home() / "generated" / file_name, text)
    except OSError:
        # A home that cannot be written only costs writing the file again in each process.
        if _own_folder is None:
            _own_folder = tempfile.TemporaryDirectory(prefix="linnet-")
        return _write(Path(_own_folder.name) / file_name, text)


def _write(path: Path, text: str) -> Path:
    if path.is_file() and path.read_bytes() == text.encode():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path
