"""Proves that an installed third-party library has what a linked operator needs.

This release holds no resolver yet; it reserves the name and the version that InfiniOps' build
checks.
"""

from importlib.metadata import version

__all__ = ["__version__"]

__version__: str = version("linked-resolver")
