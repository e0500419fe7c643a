"""Nothing that a call leaves behind grows with the number of different calls."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import infini.ops

np = pytest.importorskip("numpy")

CALLS = 100_000
GREATEST_GROWTH = 8 * 1024  # KiB; one kept entry of 100 bytes a call would be more


def resident() -> int:
    """KiB of memory that the process holds."""
    text = Path("/proc/self/status").read_text(encoding="ascii")
    return int(text.split("VmRSS:")[1].split()[0])


def growth(call: Callable[[int], None]) -> int:
    """KiB by which the process grows in CALLS calls, after some to warm up."""
    for number in range(2000):
        call(number)
    before = resident()
    for number in range(CALLS):
        call(number)
    return resident() - before


def test_different_shapes_leave_memory_as_it_was() -> None:
    data = np.random.default_rng().standard_normal(5000, dtype=np.float32)
    out = np.empty_like(data)

    def call(number: int) -> None:
        rows, columns = number % 61 + 1, number // 61 % 64 + 1
        size = rows * columns
        begin = number % 100
        a = data[:size].reshape(rows, columns)
        infini.ops.add(a, a, out=out[begin : begin + size].reshape(rows, columns))

    assert growth(call) < GREATEST_GROWTH


def test_different_numbers_leave_memory_as_it_was() -> None:
    x, out = np.ones((2, 8), np.float32), np.empty((2, 8), np.float32)

    def call(number: int) -> None:
        infini.ops.rms_norm(x, eps=1e-6 * (1 + number), out=out)
        infini.ops.add(x, x, alpha=number, out=out)

    assert growth(call) < GREATEST_GROWTH


def test_selections_leave_memory_as_it_was() -> None:
    x, out = np.ones(4, np.float32), np.empty(4, np.float32)

    def call(number: int) -> None:
        with infini.ops.use({"add": number % 1}, fallback=bool(number % 2)):
            infini.ops.add(x, x, out=out)

    assert growth(call) < GREATEST_GROWTH


def test_a_hundred_thousand_choices_leave_bounded_caches() -> None:
    """As many shapes, seeds and names at once: no number of a call is a key of a cache."""
    logits = np.random.default_rng().standard_normal((1, 7), dtype=np.float32)
    infini.ops.clear_cache()

    def call(number: int) -> None:
        with infini.ops.use({"top_k_top_p_sampling_from_logits": "native"}):
            infini.ops.top_k_top_p_sampling_from_logits(logits, seed=number, top_k=1 + number % 7)

    assert growth(call) < GREATEST_GROWTH
    assert infini.ops.cache_info()["selection"].size == 1
    assert all(info.size <= info.capacity for info in infini.ops.cache_info().values())


def test_threads_that_end_leave_memory_as_it_was() -> None:
    x = np.ones((4, 64), np.float32)

    def run() -> None:
        infini.ops.rms_norm(x)
        infini.ops.linear(x, x)

    def threads(count: int) -> None:
        for _ in range(count):
            thread = threading.Thread(target=run)
            thread.start()
            thread.join()

    threads(50)
    before = resident()
    threads(1000)
    assert resident() - before < GREATEST_GROWTH
