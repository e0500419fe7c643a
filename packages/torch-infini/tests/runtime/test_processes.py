"""Other processes, other threads' work, and programs that only look at the device."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

SPAWN = """
import torch, torch_infini

def work(rank, queue):
    queue.put(torch.full((2,), rank, device="infini").add(1).tolist())

if __name__ == "__main__":
    torch.ones(2, device="infini")
    context = torch.multiprocessing.get_context("spawn")
    queue = context.Queue()
    children = [context.Process(target=work, args=(rank, queue)) for rank in range(2)]
    for child in children:
        child.start()
    results = sorted(queue.get(timeout=120) for _ in children)
    for child in children:
        child.join(120)
        assert child.exitcode == 0
    assert results == [[1, 1], [2, 2]], results
"""


def test_spawned_children_use_the_device(tmp_path: Path) -> None:
    script = tmp_path / "spawn.py"
    script.write_text(SPAWN, encoding="utf-8")
    subprocess.run([sys.executable, str(script)], check=True, timeout=300)


def test_backward_works_after_import_alone(run_child) -> None:
    run_child(
        """
import torch, torch_infini
x = torch.ones(3, device="infini", requires_grad=True)
(x + x).backward(torch.ones(3, device="infini"))
assert x.grad.tolist() == [2.0, 2.0, 2.0]
"""
    )


def test_fake_tensors_start_no_device(run_child) -> None:
    run_child(
        """
import torch, torch_infini
from torch._subclasses.fake_tensor import FakeTensorMode
with FakeTensorMode():
    x = torch.empty(2, 3, device="infini")
    y = x + x
    assert y.device.type == "infini" and y.shape == (2, 3)
assert not torch.infini.is_initialized()
"""
    )


def test_constants_of_fake_mode_stay_on_infini() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        fake = mode.from_tensor(torch.ones(2, device="infini"))
        assert fake.device == torch.device("infini:0")
        assert (fake + 1).device == torch.device("infini:0")


def test_pinning_copying_and_waiting_from_many_threads_ends(run_child) -> None:
    run_child(
        """
import gc, threading, torch, torch_infini

def copy():
    for i in range(200):
        source = torch.full((256,), float(i)).pin_memory()
        there = source.to("infini", non_blocking=True)
        del source
        assert there[-1].item() == i

def wait():
    for _ in range(200):
        torch.infini.synchronize()
        gc.collect(0)

threads = [threading.Thread(target=work) for work in (copy, copy, copy, wait)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
""",
        timeout=300,
    )


@pytest.mark.sim
def test_pinned_memory_of_another_owner_is_copied_before_the_call_returns() -> None:
    # Nothing would keep such memory until a copy is done.
    source = torch.utils.dlpack.from_dlpack(torch.ones(1 << 16).pin_memory())
    there = source.to("infini", non_blocking=True)
    assert torch.infini.current_stream().query()
    assert there[-1].item() == 1


def test_no_distributed_backend_is_taken_over(run_child) -> None:
    run_child(
        """
import torch, torch.distributed as dist
if dist.is_available():
    before = dict(dist.Backend.default_device_backend_map)
    import torch_infini
    assert dist.Backend.default_device_backend_map == before
""",
        environment={"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
    )
