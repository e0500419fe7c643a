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

Run = Callable[[], object]


def time_pair(
    one: Sequence[Run], other: Sequence[Run], device: torch.device
) -> tuple[float, float]:
    """Median seconds of a call of each side, over at least `RUNS` samples taken in turn.

    A side is a list of calls that do the same on different memory; they take turns.
    """
    sides = (one, other)
    repeats = []
    for runs in sides:
        for _ in range(WARM_UP):
            runs[0]()
        repeats.append(max(1, int(SAMPLE_SECONDS / max(_sample(runs, 1, 0, device), 1e-9))))
    samples: tuple[list[float], list[float]] = ([], [])
    for n in range(RUNS):
        for runs, count, kept in zip(sides, repeats, samples, strict=True):
            kept.append(_sample(runs, count, n, device))
    return statistics.median(samples[0]), statistics.median(samples[1])


def rotated(inputs: Sequence[Tensor]) -> list[list[Tensor]]:
    """Copies of the inputs, strides kept, that together exceed the last-level cache twice; a back
    end that writes to its inputs spoils no other's.
    """
    size = sum(tensor.numel() * tensor.element_size() for tensor in inputs)
    count = min(MOST_COPIES, 2 * last_level_cache() // size + 1) if size else 1
    return [[_copy(tensor) for tensor in inputs] for _ in range(count)]


def _copy(tensor: Tensor) -> Tensor:
    copied = torch.empty_strided(
        tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device
    )
    if 0 in tensor.stride():
        return tensor.clone(memory_format=torch.preserve_format)
    return copied.copy_(tensor)


def _sample(runs: Sequence[Run], count: int, first: int, device: torch.device) -> float:
    """Seconds of one call, the mean of `count` in a row."""
    if device.type == "cuda":
        begin = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]  # torch's is not
        end = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]  # torch's is not
        begin.record()
        for n in range(count):
            runs[(first + n) % len(runs)]()
        end.record()
        end.synchronize()
        return float(begin.elapsed_time(end)) / 1e3 / count
    start = time.perf_counter()
    for n in range(count):
        runs[(first + n) % len(runs)]()
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
    seconds = min(_sample([buffer.sum], 1, 0, target) for _ in range(7))
    return buffer.numel() * buffer.element_size() / seconds
