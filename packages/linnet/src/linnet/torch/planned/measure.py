"""Times two ways to compute the same, so that drift of the machine hits both alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

RUNS = 20
WARM_UP = 3
#: A sample shorter than this is mostly the clock; several calls make one sample then.
SAMPLE_SECONDS = 50e-6
#: At most this many copies of the inputs are rotated, however small they are.
MOST_COPIES = 16

Run = Callable[[Sequence[Tensor]], object]


def time_pair(
    one: Run, other: Run, inputs: Sequence[Tensor], device: torch.device
) -> tuple[float, float]:
    """Median seconds of a call of each, over at least `RUNS` samples taken in turn.

    Both get the same inputs, which rotate through copies that do not fit the last-level cache.
    """
    copies = rotated(inputs)
    repeats = []
    for run in (one, other):
        for _ in range(WARM_UP):
            run(copies[0])
        repeats.append(max(1, int(SAMPLE_SECONDS / max(_sample(run, copies, 1, 0, device), 1e-9))))
    samples: tuple[list[float], list[float]] = ([], [])
    for n in range(RUNS):
        for run, count, kept in zip((one, other), repeats, samples, strict=True):
            kept.append(_sample(run, copies, count, n, device))
    return statistics.median(samples[0]), statistics.median(samples[1])


def rotated(inputs: Sequence[Tensor]) -> list[list[Tensor]]:
    """Copies of the inputs, strides kept, that together exceed the last-level cache twice."""
    size = sum(tensor.numel() * tensor.element_size() for tensor in inputs)
    count = min(MOST_COPIES, 2 * last_level_cache() // size + 1) if size else 1
    extra = [[_copy(tensor) for tensor in inputs] for _ in range(count - 1)]
    return [list(inputs), *extra]


def _copy(tensor: Tensor) -> Tensor:
    copied = torch.empty_strided(
        tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device
    )
    if 0 in tensor.stride():
        return tensor.clone(memory_format=torch.preserve_format)
    return copied.copy_(tensor)


def _sample(
    run: Run, copies: Sequence[Sequence[Tensor]], count: int, first: int, device: torch.device
) -> float:
    """Seconds of one call, the mean of `count` in a row."""
    if device.type == "cuda":
        # torch annotates no constructor of events.
        begin = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        end = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        begin.record()
        for n in range(count):
            run(copies[(first + n) % len(copies)])
        end.record()
        end.synchronize()
        return float(begin.elapsed_time(end)) / 1e3 / count
    start = time.perf_counter()
    for n in range(count):
        run(copies[(first + n) % len(copies)])
    return (time.perf_counter() - start) / count


@cache
def last_level_cache() -> int:
    """Bytes of the processor's largest cache; 32 MiB where it does not say."""
    sizes = []
    for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        text = path.read_text().strip()
        unit = {"K": 2**10, "M": 2**20}.get(text[-1:], 1)
        digits = text.rstrip("KM")
        if digits.isdigit():
            sizes.append(int(digits) * unit)
    return min(max(sizes, default=32 * 2**20), 256 * 2**20)


@cache
def read_bandwidth(device: str) -> float:
    """Bytes per second that the device reads when it sums a buffer larger than its caches."""
    target = torch.device(device)
    count = 2 * max(last_level_cache(), 32 * 2**20) // 4
    buffer = torch.ones(count, dtype=torch.float32, device=target)
    seconds = min(_sample(lambda _: buffer.sum(), [[]], 1, 0, target) for _ in range(7))
    return buffer.numel() * buffer.element_size() / seconds
