"""Ways to run a program with PyTorch: interpreted, and as generated source of each numerics."""

from __future__ import annotations

from typing import Any

from linnet.torch import LinnetModule, load

WAYS: dict[str, dict[str, Any]] = {
    "interpreted": {"compile": False},
    "exact": {"numerics": "exact"},
    "equivalent": {"numerics": "equivalent"},
    "fast": {},
}


def make(source: str, way: str, **options: Any) -> LinnetModule:
    """A model of a source, which runs one of `WAYS`."""
    return load(source, **WAYS[way], **options)
