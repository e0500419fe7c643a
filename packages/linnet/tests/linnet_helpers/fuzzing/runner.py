"""Runs campaigns over several processes and prints a table: `python -m linnet_helpers.fuzzing`."""

from __future__ import annotations

import argparse
import os
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from linnet_helpers.fuzzing.campaigns import CAMPAIGNS, Campaign
from linnet_helpers.fuzzing.share import seeds

CHUNK = 50
SHOWN = 5


@dataclass
class Found:
    """What a campaign met: counts, and the seed and traceback of each failure."""

    name: str
    cases: int = 0
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)


def run_chunk(campaign: Campaign, chunk: range) -> tuple[Counter[str], list[tuple[int, str]]]:
    """Some seeds of a campaign."""
    counts: Counter[str] = Counter()
    failures = []
    for seed in chunk:
        try:
            counts.update(campaign.case(seed))
        # Whatever a case raises is what the campaign looks for.
        except Exception:
            failures.append((seed, traceback.format_exc()))
    return counts, failures


def run_numbered(number: int, chunk: range) -> tuple[Counter[str], list[tuple[int, str]]]:
    """The same for a campaign by its place, which another process can be sent."""
    return run_chunk(CAMPAIGNS[number], chunk)


def run_campaign(campaign: Campaign, chosen: range, jobs: int) -> Found:
    """All chosen seeds, with a line of progress every few seconds."""
    found = Found(campaign.name)
    start = shown = time.perf_counter()
    chunks = [chosen[at : at + CHUNK] for at in range(0, len(chosen), CHUNK)]
    results: Iterable[tuple[Counter[str], list[tuple[int, str]]]]
    pool = None
    if jobs > 1:
        pool = ProcessPoolExecutor(jobs)
        results = pool.map(partial(run_numbered, CAMPAIGNS.index(campaign)), chunks)
    else:
        results = (run_chunk(campaign, chunk) for chunk in chunks)
    try:
        for chunk, (counts, failures) in zip(chunks, results, strict=True):
            found.cases += len(chunk)
            found.counts.update(counts)
            found.failures += failures
            now = time.perf_counter()
            if now - shown > 5:
                shown = now
                print(f"{campaign.name}: {found.cases} of {len(chosen)}", flush=True)
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)
    found.seconds = time.perf_counter() - start
    return found


def table(results: Sequence[tuple[Campaign, Found]]) -> str:
    """A Markdown table of all campaigns."""
    lines = ["| campaign | cases | failures | seconds | |", "|---|---:|---:|---:|---|"]
    for campaign, found in results:
        notes = "; ".join(note(found.counts) for note in campaign.notes)
        row = f"| {found.name} | {found.cases} | {len(found.failures)} | {found.seconds:.1f} |"
        lines.append(f"{row} {notes} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """1 if a case failed; its seed and traceback are printed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="which part of the cases to run")
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many processes")
    parser.add_argument("--only", default="", help="campaigns whose name holds this")
    options = parser.parse_args(arguments)
    chosen = [campaign for campaign in CAMPAIGNS if options.only in campaign.name]
    if not chosen:
        parser.error("no such campaign: " + ", ".join(campaign.name for campaign in CAMPAIGNS))
    results = []
    for campaign in chosen:
        found = run_campaign(
            campaign, seeds(campaign.count, options.share, options.seed), options.jobs
        )
        results.append((campaign, found))
        for seed, text in found.failures[:SHOWN]:
            print(f"{campaign.name}, seed {seed}:\n{text}", flush=True)
    print(table(results), flush=True)
    return 1 if any(found.failures for _, found in results) else 0
