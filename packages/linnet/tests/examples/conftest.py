"""Examples run with PyTorch, each in a home of its own."""

from __future__ import annotations

from linnet_helpers.fixtures import ignored_without, linnet_home, one_thread

__all__ = ["linnet_home", "one_thread"]

collect_ignore_glob = ignored_without("torch")
