"""Measures the matrix operators of the installed InfiniOps on the CPU.

    python benchmarks/matrix.py [--threads N] [--rounds N] [--output results.json]

Few rows are compared with a plain read of the weight (read_probe.cc, compiled by the C++ compiler
of the machine) and with torch, many rows with torch, weights of few bits with bfloat16 ones. All
sides of a line are timed in turn; a time is the least of many rounds. With one thread, processor
time is measured, which other programs disturb less.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import torch
from probe import Probe, read_probe
from timing import Call, Clock, Results, add_ratio, least_seconds, write_results

import infini.ops
from infini import rt

SHAPES = ((4096, 4096), (11008, 4096), (32000, 2048), (49152, 576))
SIZES = (127, 128, 512, 1023, 1024, 2048)


@dataclass(frozen=True)
class Run:
    """How to measure, and what was."""

    rounds: int
    clock: Clock
    results: Results = field(default_factory=dict)

    def least(self, *sides: Call) -> list[float]:
        """The least seconds of each side."""
        return least_seconds([[side] for side in sides], self.rounds, clock=self.clock)


def few_rows(run: Run, dtype: torch.dtype, shape: tuple[int, int], rows: int, probe: Probe) -> str:
    """`linear` of few rows; `probe` reads a tensor."""
    weight, x = torch.randn(shape).to(dtype), torch.randn(rows, shape[1]).to(dtype)
    out = torch.empty(rows, shape[0], dtype=dtype)
    ours, read, peer = run.least(
        lambda: infini.ops.linear(x, weight, out=out),
        lambda: probe(weight),
        lambda: torch.nn.functional.linear(x, weight),
    )
    rate = weight.numel() * weight.element_size() / ours / 1e9
    case = f"linear, {shape[0]} x {shape[1]}, {str(dtype)[6:]}, {rows} rows"
    share = add_ratio(run.results, f"{case}, of a read", ours, read, "a plain read of the weight")
    ratio = add_ratio(run.results, case, ours, peer, "torch")
    return f"| {shape} | {rows} | {str(dtype)[6:]} | {rate:.1f} GB/s | {share:.2f} | {ratio:.2f} |"


def square(run: Run, dtype: torch.dtype, size: int) -> str:
    """`mm` of two square matrices."""
    a, b = torch.randn(size, size).to(dtype), torch.randn(size, size).to(dtype)
    out = torch.empty_like(a)
    ours, peer = run.least(lambda: infini.ops.mm(a, b, out=out), lambda: torch.mm(a, b, out=out))
    name = str(dtype)[6:]
    ratio = add_ratio(run.results, f"mm, {size} x {size}, {name}", ours, peer, "torch")
    return f"| {size} | {name} | {2 * size**3 / ours / 1e9:.0f} | {ratio:.2f} |"


def few_bits(run: Run, shape: tuple[int, int], rows: int, group: int) -> str:
    """`linear_int8` and `linear_int4` against `linear` in bfloat16."""
    columns, inner = shape
    x, wide = torch.randn(rows, inner).bfloat16(), torch.randn(shape).bfloat16()
    out = torch.empty(rows, columns, dtype=torch.bfloat16)
    bytes_ = torch.randint(-128, 128, shape).to(torch.int8)
    pairs = torch.randint(0, 256, (columns, inner // group, group // 2)).to(torch.uint8)
    scale, scales = torch.rand(columns), torch.rand(columns, inner // group)
    f = infini.ops
    sides: dict[str, Call] = {}
    for name in ("native", "dynamic_int8"):
        sides[f"linear_int8, {name}"] = lambda n=name: f.linear_int8(  # type: ignore[misc]  # mypy infers no lambda with defaults
            x, bytes_, scale, out=out, implementation=n
        )
        sides[f"linear_int4, {name}"] = lambda n=name: f.linear_int4(  # type: ignore[misc]  # mypy infers no lambda with defaults
            x, pairs, scales, scales, out=out, implementation=n
        )
    first, *others = run.least(lambda: f.linear(x, wide, out=out), *sides.values())
    case = f"{shape[0]} x {shape[1]}, {rows} rows, groups of {group}"
    ratios = [
        add_ratio(run.results, f"{name}, {case}", ours, first, "linear in bfloat16")
        for name, ours in zip(sides, others, strict=True)
    ]
    return f"| {shape} | {rows} | {group} | {' | '.join(f'{ratio:.2f}' for ratio in ratios)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=0, help="0: as many as there are cores")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--output", type=Path, help="file for the results as JSON")
    options = parser.parse_args()
    if options.threads:
        rt.set_num_threads(options.threads)
        torch.set_num_threads(options.threads)
    run = Run(options.rounds, time.thread_time if options.threads == 1 else time.perf_counter)
    dtypes = (torch.bfloat16, torch.float32)
    with tempfile.TemporaryDirectory() as folder:
        probe = read_probe(Path(folder))
        print("| weight | rows | dtype | rate | share of a plain read | torch |")
        print("|---" * 6 + "|")
        for dtype in dtypes:
            for shape in SHAPES:
                for rows in (1, 4):
                    print(few_rows(run, dtype, shape, rows, probe), flush=True)
    print("\n| size | dtype | GFLOP/s | torch |\n|---|---|---|---|")
    for dtype in dtypes:
        for size in SIZES:
            print(square(run, dtype, size), flush=True)
    print("\n| weight | rows | group | int8 | int4 | dynamic int8 | dynamic int4 |")
    print("|---" * 7 + "|")
    for shape in SHAPES[:2]:  # one that a large last-level cache holds, one that comes from memory
        for rows in (1, 4):
            for group in (32, 128):
                print(few_bits(run, shape, rows, group), flush=True)
    write_results(options.output, run.results)


if __name__ == "__main__":
    main()
