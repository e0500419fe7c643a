"""Keeps the trees in which installers compile packages those of the present compiler and flags."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

from ci.stamp import Stamp


def renew(root: Path, facts: Mapping[str, str]) -> list[str]:
    """Removes what was not configured with `facts`, or not to the end, below packages/*/build of
    the tree `root`; returns the packages that lost something.

    CMake takes compiler and flags from the environment once and keeps them in a tree; what it left
    of a first configuring that was killed, it takes for found out.
    """
    removed = []
    for folder in sorted(root.glob("packages/*/build")):
        stamp = Stamp(folder / "configured")
        key = json.dumps(dict(facts), sort_keys=True)
        # Without a stamp, an installer outside a session made it; sessions share its objects.
        stale = stamp.path.exists() and not stamp.matches(key)
        trees = [*folder.iterdir()] if stale else [*filter(_half_configured, folder.iterdir())]
        for tree in trees:
            shutil.rmtree(tree) if tree.is_dir() else tree.unlink()
        if trees:
            removed.append(folder.parent.name)
        stamp.write(key)
    return removed


def _half_configured(tree: Path) -> bool:
    """Whether CMake began in `tree` and never came to its last step, which writes build.ninja."""
    return (tree / "CMakeFiles").exists() and not (tree / "build.ninja").is_file()
