"""How much of each fuzzing count a run does: `LINNET_FUZZ_SHARE`, 1 for all of it."""

from __future__ import annotations

import os

SHARE = float(os.environ.get("LINNET_FUZZ_SHARE", "0.01"))
SEED = int(os.environ.get("LINNET_FUZZ_SEED", "1"))


def seeds(count: int) -> range:
    """The seeds of this run's share of `count` cases."""
    return range(SEED, SEED + max(20, int(count * SHARE)))
