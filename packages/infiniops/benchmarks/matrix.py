"""Measures the matrix operators of the installed InfiniOps on the CPU.

    python benchmarks/matrix.py [--threads N] [--rounds N]

Few rows are compared with a plain read of the weight (read_probe.cc, compiled by the C++ compiler
of the machine) and with torch, many rows with torch, weights of few bits with bfloat16 ones. All
sides of a line are timed in turn; a time is the least of many rounds. With one thread, processor
time is measured, which other programs disturb less.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

import infini.ops
import infinirt
from infini import rt

Call = Callable[[], object]
Probe = Callable[[torch.Tensor], object]
Clock = Callable[[], float]

SHAPES = ((4096, 4096), (11008, 4096), (32000, 2048), (49152, 576))
SIZES = (127, 128, 512, 1023, 1024, 2048)


def least_seconds(sides: Sequence[Call], rounds: int, clock: Clock) -> list[float]:
    """The least seconds of a call of each side, timed in turn."""
    best = [math.inf] * len(sides)
    for call in sides:
        call()
    for _ in range(rounds):
        for index, call in enumerate(sides):
            start = clock()
            call()
            best[index] = min(best[index], clock() - start)
    return best


def read_probe(folder: Path) -> Probe:
    """Compile the probe; the result reads all bytes of a contiguous tensor."""
    prefix = infinirt.prefix()
    library = folder / "read_probe.so"
    source = Path(__file__).with_name("read_probe.cc")
    options = ["-O3", "-march=native", "-std=c++20", "-shared", "-fPIC", "-Wno-psabi"]
    runtime = [f"-I{prefix}/include", f"-L{prefix}/lib", "-l:libinfinirt.so"]
    command = ["c++", *options, str(source), "-o", str(library), *runtime]
    subprocess.run(command, check=True)
    function = ctypes.CDLL(str(library)).infini_read_probe
    function.argtypes = [ctypes.c_void_p, ctypes.c_int64]
    return lambda tensor: function(tensor.data_ptr(), tensor.numel() * tensor.element_size())


def few_rows(
    dtype: torch.dtype, shape: tuple[int, int], rows: int, rounds: int, clock: Clock, probe: Probe
) -> str:
    """`linear` of few rows; `probe` reads a tensor."""
    weight, x = torch.randn(shape).to(dtype), torch.randn(rows, shape[1]).to(dtype)
    out = torch.empty(rows, shape[0], dtype=dtype)
    sides = (
        lambda: infini.ops.linear(x, weight, out=out),
        lambda: probe(weight),
        lambda: torch.nn.functional.linear(x, weight),
    )
    ours, read, peer = least_seconds(sides, rounds, clock)
    rate = weight.numel() * weight.element_size() / ours / 1e9
    return (
        f"| {shape} | {rows} | {str(dtype)[6:]} | {rate:.1f} GB/s | {read / ours:.2f} | "
        f"{peer / ours:.2f} |"
    )


def square(dtype: torch.dtype, size: int, rounds: int, clock: Clock) -> str:
    """`mm` of two square matrices."""
    a, b = torch.randn(size, size).to(dtype), torch.randn(size, size).to(dtype)
    out = torch.empty_like(a)
    sides = (lambda: infini.ops.mm(a, b, out=out), lambda: torch.mm(a, b, out=out))
    ours, peer = least_seconds(sides, rounds, clock)
    return f"| {size} | {str(dtype)[6:]} | {2 * size**3 / ours / 1e9:.0f} | {peer / ours:.2f} |"


def few_bits(shape: tuple[int, int], rows: int, group: int, rounds: int, clock: Clock) -> str:
    """`linear_int8` and `linear_int4` against `linear` in bfloat16."""
    columns, inner = shape
    x, wide = torch.randn(rows, inner).bfloat16(), torch.randn(shape).bfloat16()
    out = torch.empty(rows, columns, dtype=torch.bfloat16)
    bytes_ = torch.randint(-128, 128, shape).to(torch.int8)
    pairs = torch.randint(0, 256, (columns, inner // group, group // 2)).to(torch.uint8)
    scale, scales = torch.rand(columns), torch.rand(columns, inner // group)
    f = infini.ops
    sides: list[Call] = [lambda: f.linear(x, wide, out=out)]
    for name in ("native", "dynamic_int8"):
        sides += [
            lambda n=name: f.linear_int8(x, bytes_, scale, out=out, implementation=n),  # type: ignore[misc]  # mypy infers no lambda with defaults
            lambda n=name: f.linear_int4(x, pairs, scales, scales, out=out, implementation=n),  # type: ignore[misc]  # mypy infers no lambda with defaults
        ]
    first, *others = least_seconds(sides, rounds, clock)
    ratios = " | ".join(f"{first / other:.2f}" for other in others)
    return f"| {shape} | {rows} | {group} | {ratios} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=0, help="0: as many as there are cores")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    clock: Clock = time.perf_counter
    if options.threads:
        rt.set_num_threads(options.threads)
        torch.set_num_threads(options.threads)
    if options.threads == 1:
        clock = time.thread_time
    dtypes = (torch.bfloat16, torch.float32)
    with tempfile.TemporaryDirectory() as folder:
        probe = read_probe(Path(folder))
        print("| weight | rows | dtype | rate | share of a plain read | torch |")
        print("|---" * 6 + "|")
        for dtype in dtypes:
            for shape in SHAPES:
                for rows in (1, 4):
                    print(few_rows(dtype, shape, rows, options.rounds, clock, probe))
    print("\n| size | dtype | GFLOP/s | torch |\n|---|---|---|---|")
    for dtype in dtypes:
        for size in SIZES:
            print(square(dtype, size, options.rounds, clock))
    print("\n| weight | rows | group | int8 | int4 | dynamic int8 | dynamic int4 |")
    print("|---" * 7 + "|")
    for rows in (1, 4):
        for group in (32, 128):
            print(few_bits((4096, 4096), rows, group, options.rounds, clock))


if __name__ == "__main__":
    main()
