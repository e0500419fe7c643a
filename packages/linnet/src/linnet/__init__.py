"""Linnet: a typed tensor language whose shapes are proved before anything runs.

The front end (`linnet.source`, `linnet.syntax`, `linnet.check`, `linnet.ir`, `linnet.graph`) needs
no tensor framework. `linnet.torch` runs a graph with PyTorch, `linnet.models` and `linnet.generate`
run checkpoints of known families; they are imported only by those who ask for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linnet.generation import generate as generate

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name == "generate":
        from linnet.generation import generate

        return generate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
