"""How long the symbols of a library take to prove, and how much memory.

    python benchmarks/prove.py [--output results.json] LIBRARY [LIBRARY ...]

Each library is read five times in this process; the
median counts. Memory is that of this process and of both tools at their peaks.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import statistics
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", nargs="+", type=Path)
    parser.add_argument("--output", type=Path, help="file for the results as JSON")
    options = parser.parse_args()
    results = {}
    for path in options.libraries:
        results.update(measure(path))
    print("| measured | value | unit |\n|---|---:|---|")
    for name, result in results.items():
        print(f"| {name} | {result['value']:.4g} | {result['unit']} |")
    if options.output is not None:
        options.output.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
