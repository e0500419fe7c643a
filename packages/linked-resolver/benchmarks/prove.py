"""How long the symbols of a library take to prove, and how much memory.

    python benchmarks/prove.py LIBRARY [LIBRARY ...]

Prints one JSON object: name -> value and unit. Each library is read five times in this process; the
median counts. Memory is that of this process and of both tools at their peaks.
"""

from __future__ import annotations

import json
import re
import resource
import statistics
import sys
import time
from pathlib import Path

from linked_resolver import find_tools
from linked_resolver.symbols import read_library


def measure(path: Path) -> dict[str, dict[str, object]]:
    tools, problems = find_tools()
    if tools is None:
        raise SystemExit(problems[0].render())
    seconds = []
    exported = 0
    for _ in range(5):
        start = time.perf_counter()
        exported = len(read_library(path, tools).exported)
        seconds.append(time.perf_counter() - start)
    own = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text(encoding="utf-8"))
    kilobytes = int(own[1]) if own else 0
    kilobytes += 2 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return {
        f"{path.name}: prove symbols": {"value": statistics.median(seconds), "unit": "s"},
        f"{path.name}: slowest of five": {"value": max(seconds), "unit": "s"},
        f"{path.name}: exported symbols": {"value": exported, "unit": "symbols"},
        f"{path.name}: size": {"value": path.stat().st_size / 1e6, "unit": "MB"},
        f"{path.name}: memory": {"value": kilobytes / 1024, "unit": "MiB"},
    }


if __name__ == "__main__":
    results = {}
    for argument in sys.argv[1:]:
        results.update(measure(Path(argument)))
    print(json.dumps(results, indent=2))
