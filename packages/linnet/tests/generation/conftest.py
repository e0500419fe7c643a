"""Skips this folder where the packages of the extra `models` are missing."""

from __future__ import annotations

from linnet_helpers.fixtures import MODELS, ignored_without, linnet_home, one_thread

__all__ = ["linnet_home", "one_thread"]

collect_ignore_glob = ignored_without(*MODELS)
