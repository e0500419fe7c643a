"""Fails when an object of one instruction set defines shared code that another may link.

Usage: check_kernel_symbols.py NM SET OBJECT...

The linker keeps one copy of a weak function. If an object compiled for AVX-512 defines one outside
its own namespace, a machine without AVX-512 may run that copy.
"""

from __future__ import annotations

import subprocess
import sys


def shared_code(nm: str, kernel_set: str, objects: list[str]) -> list[str]:
    """Weak functions of `objects` that are not marked by the namespace of `kernel_set`."""
    namespace = f"{len(kernel_set)}{kernel_set}"
    found: list[str] = []
    for path in objects:
        listing = subprocess.run([nm, path], capture_output=True, text=True, check=True).stdout
        for line in listing.splitlines():
            *_, kind, name = line.split()
            if kind in "WwVvu" and line.split()[0] != kind and namespace not in name:
                found.append(f"{path}: {name}")
    return found


if __name__ == "__main__":
    problems = shared_code(sys.argv[1], sys.argv[2], sys.argv[3:])
    print("\n".join(problems))
    sys.exit(1 if problems else 0)
