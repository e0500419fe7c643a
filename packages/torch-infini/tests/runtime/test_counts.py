"""What a call costs apart from time: heap allocations, memory that stays, the GIL."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import torch

COUNTER = """
#define _GNU_SOURCE
#include <stddef.h>
#include <errno.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static __thread long count __attribute__((tls_model("initial-exec")));

long allocations_of_thread(void) { return count; }
void *malloc(size_t n) { ++count; return __libc_malloc(n); }
void *calloc(size_t n, size_t m) { ++count; return __libc_calloc(n, m); }
void *realloc(void *p, size_t n) { ++count; return __libc_realloc(p, n); }
void *memalign(size_t a, size_t n) { ++count; return __libc_memalign(a, n); }
void *aligned_alloc(size_t a, size_t n) { ++count; return __libc_memalign(a, n); }
int posix_memalign(void **p, size_t a, size_t n) {
  ++count;
  *p = __libc_memalign(a, n);
  return *p ? 0 : ENOMEM;
}
"""

MEASURE = """
import ctypes, torch, torch_infini
from torch.nn import functional
count = ctypes.CDLL(None).allocations_of_thread
count.restype = ctypes.c_long
x, y, out = (torch.ones(4, 4, device="infini") for _ in range(3))
before = count()
torch.empty(1000)
assert count() > before, "the counter does not count"
calls = {
    "add": lambda: torch.add(x, y),
    "add out": lambda: torch.add(x, y, out=out),
    "add in place": lambda: x.add_(y),
    "linear": lambda: functional.linear(x, y),
    "empty": lambda: torch.empty(16, device="infini"),
    "view": lambda: x.t(),
}
for name, call in calls.items():
    for _ in range(100):
        call()
    rounds = []
    for _ in range(10):
        before = count()
        for _ in range(100):
            call()
        rounds.append((count() - before) / 100)
    # The interpreter takes memory for itself now and then, which is no call's.
    each = min(rounds)
    assert each <= 4, f"{name}: {each} heap allocations per call"
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's names; set an interposer for others")
def test_a_call_makes_at_most_four_heap_allocations(run_child, tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler is not None, "the package was built with a compiler, which has to be on PATH"
    source, library = tmp_path / "count.c", tmp_path / "count.so"
    source.write_text(COUNTER, encoding="utf-8")
    # Without builtins: the compiler may take malloc's caller for dead code.
    command = [compiler, "-O1", "-fno-builtin", "-shared", "-fPIC", "-o", str(library), str(source)]
    subprocess.run(command, check=True)
    run_child(MEASURE, environment={"LD_PRELOAD": str(library)})


FLAT = """
import gc, torch, torch_infini

def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 2**20

def shapes(i):
    x = torch.empty(i % 317 + 1, i // 317 % 317 + 1, device="infini")
    if i % 10 == 0:
        x + x

def streams(i):
    torch.infini.Stream()

def events(i):
    torch.infini.current_stream().record_event()

source = torch.ones(64)

def pinned(i):
    source.pin_memory().to("infini", non_blocking=True)

def repeat(work, count):
    for i in range(count):
        work(i)
        if i % 1000 == 0:
            torch.infini.synchronize()  # so that no more than this is ever pending
    torch.infini.synchronize()

for work, count in ((shapes, 100_489), (streams, 100_000), (events, 100_000), (pinned, 10_000)):
    repeat(work, count)
    before = resident()
    reserved = torch.infini.memory_reserved()
    repeat(work, count)
    grown = resident() - before
    assert grown < 8, f"{work.__name__}: {grown:.1f} MiB more after {count} further ones"
    assert torch.infini.memory_reserved() == reserved, work.__name__
"""


def test_memory_is_flat_over_many_shapes_streams_events_and_pinned_copies(run_child) -> None:
    # On sim its tasks take no longer than they must: there are several hundred thousand.
    run_child(FLAT, environment={"INFINI_RT_SIM_DELAY": "0"}, timeout=600)


# Once: sim computes on threads of its own, so a call is over before another thread could run.
@pytest.mark.once
def test_operators_run_outside_the_gil() -> None:
    x = torch.ones(1024, 1024, device="infini")  # milliseconds, enough to wake a thread in
    turns: list[int] = []
    stop = threading.Event()

    def take_turns() -> None:
        while not stop.is_set():
            turns.append(1)
            time.sleep(0)

    interval = sys.getswitchinterval()
    thread = threading.Thread(target=take_turns)
    # No thread has to give way now; it does where it releases the GIL by itself.
    sys.setswitchinterval(1000)
    try:
        thread.start()
        before = len(turns)
        deadline = time.monotonic() + 60
        while len(turns) <= before + 10 and time.monotonic() < deadline:
            torch.nn.functional.linear(x, x)
        during = len(turns) - before
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        thread.join()
    assert during > 10
