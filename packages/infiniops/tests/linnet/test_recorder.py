"""A replay does all its calls from C++: no Python between them, and no memory."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import torch

import infini.ops
from infini import rt
from infini.linnet.recorder import GraphRecorder
from infini.linnet.recording import recording
from infini.linnet.runtime_device import RuntimeDevice
from infini.rt import testing

CPU = RuntimeDevice("cpu", "cpu", 0)


def stream_number() -> int:
    """The stream that this thread records on."""
    recorder = recording()
    assert recorder is not None
    return recorder.stream.id


def double(value: torch.Tensor) -> None:
    """Records that `value` is doubled in place."""
    infini.ops.add(value, value, out=value, stream=stream_number())


def record(calls: int, value: torch.Tensor) -> Any:
    """A replay that doubles `value` in place `calls` times."""
    recorder = GraphRecorder(CPU)
    with recorder.recording():
        for _ in range(calls):
            double(value)
    return recorder.finish()


def test_recording_does_nothing_and_a_run_does_all() -> None:
    value = torch.ones(5)
    replay = record(3, value)
    assert replay.calls == 3
    assert value.tolist() == [1] * 5
    replay.run()
    replay.run()
    assert value.tolist() == [64] * 5


def test_recording_may_be_entered_more_than_once() -> None:
    value = torch.ones(2)
    recorder = GraphRecorder(CPU)
    for _ in range(2):
        with recorder.recording():
            double(value)
    replay = recorder.finish()
    assert replay.calls == 2
    replay.run()
    assert value.tolist() == [4, 4]


def python_calls(function: Any) -> int:
    """How many Python functions `function` enters."""
    entered = 0

    def profile(frame: FrameType, event: str, argument: object) -> None:
        nonlocal entered
        entered += event == "call"

    gc.collect()  # what earlier tests left must not be freed, and counted, in between
    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(None)
    return entered


@pytest.mark.parametrize("calls", [1, 50])
def test_a_run_enters_one_python_function_however_many_calls_it_makes(calls: int) -> None:
    value = torch.zeros(4)  # outlives the replay, as the protocol asks
    replay = record(calls, value)
    replay.run()
    assert python_calls(replay.run) == 1


COUNTER = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
static atomic_int on; static atomic_long count;
void counter_start(void) { atomic_store(&count, 0); atomic_store(&on, 1); }
long counter_stop(void) { atomic_store(&on, 0); return atomic_load(&count); }
#define SEEN() do { if (atomic_load(&on)) atomic_fetch_add(&count, 1); } while (0)
extern void* __libc_malloc(size_t); extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t); extern void* __libc_memalign(size_t, size_t);
void* malloc(size_t n) { SEEN(); return __libc_malloc(n); }
void* calloc(size_t n, size_t m) { SEEN(); return __libc_calloc(n, m); }
void* realloc(void* p, size_t n) { SEEN(); return __libc_realloc(p, n); }
void* aligned_alloc(size_t a, size_t n) { SEEN(); return __libc_memalign(a, n); }
void* memalign(size_t a, size_t n) { SEEN(); return __libc_memalign(a, n); }
int posix_memalign(void** p, size_t a, size_t n) {
  SEEN(); *p = __libc_memalign(a, n); return *p == NULL ? 12 : 0;
}
"""

USE = """
import ctypes, torch, sys
torch.set_num_threads(1)
from infini import rt
rt.set_num_threads(1)
from infini.linnet import InfiniOps
from linnet.backends.testing import two_layer_graph
from linnet.torch import GraphProgram, load_program
from linnet.torch.planned import Captured
from linnet.torch.planned.recording import Part

graph = two_layer_graph()
weights = {p.path: torch.randn(p.shape) for p in graph.parameters}
model = load_program(GraphProgram([graph]), weights=weights)
x = torch.randn(3, 8)
plan = model.plan_for("forward", [x], backends=[InfiniOps()], measure=False)
step = Captured(plan, model.context_for(plan))
for _ in range(3):
    step([x])
(part,) = step._step.recording.program
counter = ctypes.CDLL(sys.argv[1])
counter.counter_stop.restype = ctypes.c_long
run = part.replay.run
for _ in range(50):
    run()
counter.counter_start()
bytearray(100_000)
seen = counter.counter_stop()
counter.counter_start()
for _ in range(100):
    run()
print(part.replay.calls, seen, counter.counter_stop())
"""


def test_a_replayed_step_allocates_nothing(tmp_path: Path) -> None:
    source, library = tmp_path / "counter.c", tmp_path / "counter.so"
    source.write_text(COUNTER)
    compiler = os.environ.get("CC", "cc")
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source)], check=True
    )
    done = subprocess.run(
        [sys.executable, "-c", USE, str(library)],
        env={**os.environ, "LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
        check=True,
    )
    calls, seen, allocations = map(int, done.stdout.split())
    assert calls == 7
    assert seen == 1  # the counter counts
    assert allocations == 0


def test_an_error_while_recording_drops_it_and_the_recorder_goes_on() -> None:
    value = torch.ones(2)
    recorder = GraphRecorder(CPU)

    def fail() -> None:
        with recorder.recording():
            double(value)
            infini.ops.linear(torch.ones(2, 3), torch.ones(4, 5), stream=stream_number())

    with pytest.raises(ValueError, match="linear on cpu"):
        fail()
    assert recording() is None
    with recorder.recording():
        double(value)
    replay = recorder.finish()
    assert replay.calls == 1
    replay.run()
    assert value.tolist() == [2, 2]


def test_a_call_that_may_not_be_captured_is_an_error_and_drops_the_recording() -> None:
    recorder = GraphRecorder(CPU)
    with pytest.raises(RuntimeError, match="capture"), recorder.recording():
        rt.device_synchronize()
    assert recorder.finish().calls == 0


def test_a_call_that_fails_ends_the_run_with_its_error() -> None:
    value = torch.ones(2)
    recorder = GraphRecorder(CPU)
    with recorder.recording():
        double(value)
        rt.launch_host(recorder.stream, testing.FAIL)
        double(value)
    replay = recorder.finish()
    with pytest.raises(RuntimeError):
        replay.run()
    assert value.tolist() == [2, 2]


def test_recording_inside_recording_is_refused() -> None:
    one, other = GraphRecorder(CPU), GraphRecorder(CPU)
    again = pytest.raises(RuntimeError, match="recording already")
    with one.recording(), again, other.recording():
        pytest.fail("entered")


def test_the_threads_runtime_back_end_is_put_back() -> None:
    before = rt.selected_backend()
    rt.select_backend("sim")
    try:
        value = torch.ones(2)
        replay = record(1, value)
        replay.run()
        assert rt.selected_backend() == "sim"
        assert value.tolist() == [2, 2]
    finally:
        rt.select_backend(before)


def test_dropped_replays_and_recorders_free_what_they_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gc.collect()
    released: list[str] = []
    for name in ("graph_exec_destroy", "stream_destroy"):
        function = getattr(rt, name)

        def destroy(handle: Any, name: str = name, function: Any = function) -> None:
            released.append(name)
            function(handle)

        monkeypatch.setattr(rt, name, destroy)
    value = torch.ones(2)
    replay = record(1, value)
    del replay
    gc.collect()
    assert released == ["graph_exec_destroy", "stream_destroy"]
    released.clear()
    unused = GraphRecorder(CPU)
    with unused.recording():
        double(value)
    del unused
    gc.collect()
    assert released == ["graph_exec_destroy", "stream_destroy"]


WITHOUT_THE_RUNTIMES_PACKAGE = """
import sys
sys.modules["infini.rt"] = None  # what it is to an import where it is not installed
import torch
from infini.linnet import InfiniOps
from linnet.torch import load
from linnet.torch.planned import Captured

torch.manual_seed(0)
weights = {}
for layer in range(2):
    weights[f"layers.{layer}.norm.weight"] = torch.randn(64)
    weights[f"layers.{layer}.proj.weight"] = torch.randn(64, 64) / 8
model = load(sys.argv[1], generics={"H": 64, "T": "f32"}, weights=weights)
x = torch.randn(3, 64)
plan = model.plan_for("forward", [x], backends=[InfiniOps()], measure=False)
assert plan.regions
(planned,) = plan.run([x], model.context_for(plan))
torch.testing.assert_close(planned, model(x))
step = Captured(plan, model.context_for(plan))
for _ in range(3):
    (result,) = step([x])
assert torch.equal(result, planned)
print(step.report())
"""


def test_without_the_runtimes_package_regions_run_and_the_report_says_why_none_is_recorded() -> (
    None
):
    source = Path(__file__).parents[3] / "linnet/examples/two_layer.linnet"
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_THE_RUNTIMES_PACKAGE, source],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "pip install infinirt" in " ".join(done.stdout.split())
