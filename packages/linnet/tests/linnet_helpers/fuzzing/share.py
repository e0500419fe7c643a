"""How much of each campaign a test run does: `LINNET_FUZZ_SHARE`, 1 for all of it."""

from __future__ import annotations

import os

SHARE = float(os.environ.get("LINNET_FUZZ_SHARE", "0.01"))
SEED = int(os.environ.get("LINNET_FUZZ_SEED", "1"))


def seeds(count: int, share: float = SHARE, first: int = SEED) -> range:
    """The seeds of a share of `count` cases."""
    return range(first, first + max(20, int(count * share)))
