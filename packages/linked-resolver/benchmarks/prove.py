"""How long the symbols of a library take to prove, and how much memory.

    python benchmarks/prove.py [--output results.json] LIBRARY [LIBRARY ...]

Each library is read five times in a process of its own; the median counts. The seconds of the
processor are those of the least busy run: on a busy machine the others say more about it than about
the resolver. Memory is that of the process and of both tools, which run side by side, at their
peaks.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from linked_resolver import find_tools
from linked_resolver.symbols import read_library
from linked_resolver.tools import format_options


def processor_seconds() -> float:
    """What this process and its children have used so far."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


PEAK = """
import os, sys
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=[
    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
_, status, usage = os.wait4(child, 0)
print(usage.ru_maxrss)
sys.exit(status != 0)
"""


def peak(command: Sequence[str | Path]) -> int:
    """KiB of memory that a program held at its peak.

    A new interpreter starts it: what a child held is never less than what the process held that
    started it.
    """
    arguments = [sys.executable, "-S", "-E", "-c", PEAK, *map(str, command)]
    done = subprocess.run(arguments, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} failed on {command[-1]}")
    return int(done.stdout)


def measure(path: Path) -> dict[str, dict[str, object]]:
    tools, problems = find_tools()
    if tools is None:
        raise SystemExit(problems[0].render())
    seconds = []
    worked = []
    exported = kilobytes = 0
    for _ in range(5):
        start, before = time.perf_counter(), processor_seconds()
        exported = len(read_library(path, tools).exported)
        seconds.append(time.perf_counter() - start)
        worked.append(processor_seconds() - before)
        if len(seconds) == 1:  # as the resolver reads it: once
            own = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text("utf-8"))
            kilobytes = int(own[1]) if own else 0
    kilobytes += peak([tools.nm, *format_options(path), "-D", "-C", path])
    kilobytes += peak([tools.readelf, "--dyn-syms", path])
    return {
        f"{path.name}: prove symbols": {"value": statistics.median(seconds), "unit": "s"},
        f"{path.name}: processor, least of five": {"value": min(worked), "unit": "s"},
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
    # A process measures one library, so that its memory is that of no other.
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for measured in pool.imap(measure, options.libraries):
            results.update(measured)
    print("| measured | value | unit |\n|---|---:|---|")
    for name, result in results.items():
        print(f"| {name} | {result['value']:.4g} | {result['unit']} |")
    if options.output is not None:
        options.output.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
