"""Proves the contracts of `src/linked` and writes what CMake needs to link them.

CMake runs it where WITH_LINKED is ON; the arguments are those of `linked-resolver resolve`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from linked_resolver.cli import main

CONTRACTS = Path(__file__).parents[1] / "src" / "linked"

if __name__ == "__main__":
    sys.exit(main(["resolve", "--contracts", str(CONTRACTS), *sys.argv[1:]]))
