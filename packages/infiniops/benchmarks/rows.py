"""Measures the operators of rows of the installed InfiniOps on the CPU.

    python benchmarks/rows.py [--threads N] [--rounds N] [--output results.json]

Each is compared with what PyTorch has for it, a composition where it has no function, and with a
plain pass over as many bytes: a copy, a sum of two tensors, or a read. Where the pass takes nearly
as long, memory is the limit. All sides of a line are timed in turn, and allocate their results; a
time is the least of many rounds. With one thread, processor time is measured, which other programs
disturb less.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

import torch
from timing import Call, Results, add_ratio, least_seconds, options_of, write_results
from torch.nn import functional

import infini.ops

ROWS = (16, 256, 2048)
LENGTH = 4096
VOCABULARY = 8000


class Case(NamedTuple):
    """An operator, what PyTorch has for it, and a plain pass over the same bytes."""

    name: str
    ours: Call
    peer: Call
    plain: Call


def cases(rows: int, dtype: torch.dtype) -> Iterator[Case]:
    """The operators of `rows` rows of 4096 elements."""
    f = infini.ops
    x, other, joined = (
        torch.randn(rows, length).to(dtype) for length in (LENGTH, LENGTH, 2 * LENGTH)
    )
    weight, bias = torch.randn(LENGTH).to(dtype), torch.randn(LENGTH).to(dtype)
    gate, factor = joined.chunk(2, -1)
    table, tokens = (
        torch.randn(VOCABULARY, LENGTH).to(dtype),
        torch.randint(0, VOCABULARY, (rows,)),
    )
    size = (LENGTH,)
    yield Case(
        "rms_norm",
        lambda: f.rms_norm(x, weight),
        lambda: functional.rms_norm(x, size, weight),
        x.clone,
    )
    yield Case(
        "add_rms_norm",
        lambda: f.add_rms_norm(x, other, weight),
        lambda: functional.rms_norm(x + other, size, weight),
        lambda: (torch.add(x, other), x.clone()),
    )
    yield Case(
        "layer_norm",
        lambda: f.layer_norm(x, weight, bias),
        lambda: functional.layer_norm(x, size, weight, bias),
        x.clone,
    )
    yield Case("softmax", lambda: f.softmax(x, -1), lambda: torch.softmax(x, -1), x.clone)
    yield Case(
        "silu_and_mul",
        lambda: f.silu_and_mul(joined),
        lambda: functional.silu(gate) * factor,
        lambda: torch.add(gate, factor),
    )
    yield Case(
        "embedding",
        lambda: f.embedding(tokens, table),
        lambda: functional.embedding(tokens, table),
        x.clone,
    )
    yield Case(
        "argmax",
        lambda: f.argmax(x, -1),
        lambda: torch.argmax(x, -1),
        x.view(torch.int32).sum,
    )


def main() -> None:
    options = options_of(__doc__)
    torch.manual_seed(1)
    clock = time.thread_time if options.threads == 1 else time.perf_counter
    results: Results = {}
    print(f"{options.threads} threads\n")
    print("| operator | dtype | rows of 4096 | time | torch | of a plain pass |")
    print("|---" * 6 + "|")
    for dtype in (torch.float32, torch.bfloat16):
        for rows in ROWS:
            for case in cases(rows, dtype):
                sides = [[case.ours], [case.peer], [case.plain]]
                ours, peer, plain = least_seconds(
                    sides, options.rounds, clock=clock, batch_seconds=2e-3
                )
                title = f"{case.name}, {rows} x {LENGTH}, {str(dtype)[6:]}"
                ratio = add_ratio(results, title, ours, peer, "torch")
                share = add_ratio(results, f"{title}, of a plain pass", ours, plain, "a plain pass")
                print(
                    f"| {case.name} | {str(dtype)[6:]} | {rows} | {ours * 1e6:.0f} us "
                    f"| {ratio:.2f} | {share:.2f} |",
                    flush=True,
                )
    write_results(options.output, results)


if __name__ == "__main__":
    main()
