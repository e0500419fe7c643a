"""Times calls in turn and keeps what was measured; the programs beside it share it.

Results have the form that every benchmark of the workspace writes with `--output`:
`{"name": {"value": number, "unit": text, ...}}`.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import torch

from infini import rt

Call: TypeAlias = Callable[[], object]
Clock: TypeAlias = Callable[[], float]
Results: TypeAlias = dict[str, dict[str, Any]]


def options_of(description: str | None) -> argparse.Namespace:
    """Reads `--threads`, `--rounds` and `--output`, and has torch and InfiniOps use the threads."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--threads", type=int, default=rt.get_num_threads())
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--output", type=Path, help="file for the results as JSON")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    rt.set_num_threads(options.threads)
    return options


def least_seconds(
    sides: Sequence[Sequence[Call]],
    rounds: int,
    *,
    clock: Clock = time.perf_counter,
    batch_seconds: float = 0.0,
) -> list[float]:
    """The least seconds of one call of each side; a side's calls are alike and are made in turn.

    The sides are timed in turn as well, `rounds` times, so that what else the machine does hits
    them all. A time is that of as many calls in a row as take `batch_seconds`, at least one.
    """
    counts = []
    for calls in sides:
        for call in calls[:1]:
            call()
        start = clock()
        calls[-1]()
        counts.append(max(1, int(batch_seconds / max(clock() - start, 1e-7))))
    best = [math.inf] * len(sides)
    for _ in range(rounds):
        for index, (calls, count) in enumerate(zip(sides, counts, strict=True)):
            for call in calls:
                start = clock()
                for _ in range(count):
                    call()
                best[index] = min(best[index], (clock() - start) / count)
    return best


def add_ratio(results: Results, name: str, ours: float, peer: float, against: str) -> float:
    """Adds how many times as fast as its peer something is, with the seconds of both."""
    ratio = peer / ours
    results[name] = {
        "value": ratio,
        "unit": f"times as fast as {against}",
        "seconds": ours,
        "peer_seconds": peer,
    }
    return ratio


def write_results(path: Path | None, results: Results) -> None:
    """Writes `results` as JSON, where a file was asked for."""
    if path is not None:
        path.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
