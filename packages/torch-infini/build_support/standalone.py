"""Loads modules of `torch_infini` that do not need the package itself."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
#: The Python sources.
PACKAGE = ROOT / "src/torch_infini"


def load(name: str) -> ModuleType:
    """Returns `<name>.py` of the Python sources as a module, without importing `torch_infini`."""
    full_name = f"build_support.{name}"
    if full_name in sys.modules:
        return sys.modules[full_name]
    spec = importlib.util.spec_from_file_location(full_name, PACKAGE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[full_name] = module
    spec.loader.exec_module(module)
    return module
