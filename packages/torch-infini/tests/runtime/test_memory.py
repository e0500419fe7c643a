"""The caching allocator of device memory."""

from __future__ import annotations

import gc
import itertools
import threading
from typing import TYPE_CHECKING

import pytest
import torch

if TYPE_CHECKING:
    from gate import Gate

MIB = 1 << 20


@pytest.fixture(autouse=True)
def _empty_cache() -> None:
    gc.collect()
    torch.infini.synchronize()
    torch.infini.empty_cache()


def test_figures_follow_allocations() -> None:
    before = torch.infini.memory_allocated()
    x = torch.empty(3 * MIB, dtype=torch.uint8, device="infini")
    assert torch.infini.memory_allocated() == before + 3 * MIB
    assert torch.infini.memory_reserved() >= torch.infini.memory_allocated()
    reserved = torch.infini.memory_reserved()
    del x
    assert torch.infini.memory_allocated() == before
    assert torch.infini.memory_reserved() == reserved
    torch.infini.empty_cache()
    assert torch.infini.memory_reserved() < reserved


def test_peaks_and_totals_reset() -> None:
    x = torch.empty(4 * MIB, dtype=torch.uint8, device="infini")
    del x
    torch.infini.reset_peak_memory_stats()
    low = torch.infini.max_memory_allocated()
    y = torch.empty(4 * MIB, dtype=torch.uint8, device="infini")
    assert torch.infini.max_memory_allocated() == low + y.numel()
    assert torch.infini.max_memory_reserved() >= torch.infini.max_memory_allocated()
    torch.infini.reset_accumulated_memory_stats()
    assert torch.infini.memory_stats()["allocated_bytes.all.allocated"] == 0


def test_statistics_have_the_names_of_torch_cuda() -> None:
    stats = torch.infini.memory_stats()
    for name in ("allocation", "segment", "active", "allocated_bytes", "reserved_bytes"):
        for part in ("current", "peak", "allocated", "freed"):
            assert f"{name}.all.{part}" in stats
    assert stats["num_alloc_retries"] >= 0


def test_device_memory_is_told() -> None:
    free, total = torch.infini.mem_get_info()
    assert 0 < free <= total
    assert torch.infini.get_device_properties().total_memory == total


def test_freed_memory_is_reused_on_the_same_stream() -> None:
    x = torch.empty(1000, device="infini")
    address = x.data_ptr()
    del x
    assert torch.empty(1000, device="infini").data_ptr() == address
    allocations = torch.infini.memory_stats()["num_device_alloc"]
    for _ in range(100):
        torch.empty(1000, device="infini")
    assert torch.infini.memory_stats()["num_device_alloc"] == allocations


def test_freed_memory_is_not_given_to_another_stream() -> None:
    stream = torch.infini.Stream()
    x = torch.empty(1000, device="infini")
    address = x.data_ptr()
    del x
    with torch.infini.stream(stream):
        assert torch.empty(1000, device="infini").data_ptr() != address


def test_neighbours_merge_again() -> None:
    parts = [torch.empty(64 * 1024, dtype=torch.uint8, device="infini") for _ in range(16)]
    first = parts[0].data_ptr()
    del parts
    whole = torch.empty(1 * MIB, dtype=torch.uint8, device="infini")
    assert whole.data_ptr() == first


def test_addresses_are_aligned_and_do_not_overlap() -> None:
    tensors = [torch.empty(n, dtype=torch.uint8, device="infini") for n in range(1, 2000, 13)]
    ranges = sorted((t.data_ptr(), t.data_ptr() + t.numel()) for t in tensors)
    assert all(begin % 64 == 0 for begin, _ in ranges)
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(ranges))


def test_memory_that_another_stream_uses_is_reused_only_when_that_is_done() -> None:
    side = torch.infini.Stream()
    for step in range(50):
        x = torch.full((256,), step, dtype=torch.int32, device="infini")
        side.wait_stream(torch.infini.current_stream())
        with torch.infini.stream(side):
            y = x + 0
        x.record_stream(side)
        del x  # the block may be handed out below while `side` still reads it
        for _ in range(3):
            torch.full((256,), -1, dtype=torch.int32, device="infini")
        side.synchronize()
        assert y.cpu().tolist() == [step] * 256


@pytest.mark.sim
def test_recorded_memory_is_not_handed_out_while_the_other_stream_reads_it(gate: Gate) -> None:
    side = torch.infini.Stream()
    x = torch.full((256,), 7, dtype=torch.int32, device="infini")
    address = x.data_ptr()
    side.wait_stream(torch.infini.current_stream())
    gate.hold(side)
    with torch.infini.stream(side):
        y = x + 0
    x.record_stream(side)
    del x
    kept = [torch.full((256,), -1, dtype=torch.int32, device="infini") for _ in range(4)]
    assert address not in [t.data_ptr() for t in kept]
    torch.infini.current_stream().synchronize()
    gate.open()
    side.synchronize()
    assert y.cpu().tolist() == [7] * 256
    del kept
    again = [torch.empty(256, device="infini") for _ in range(8)]
    assert address in [t.data_ptr() for t in again]


@pytest.mark.sim
def test_without_record_stream_the_block_is_handed_out_at_once(gate: Gate) -> None:
    # The counterpart of the test above: it shows that the block is really waited for there.
    side = torch.infini.Stream()
    x = torch.ones(256, device="infini")
    address = x.data_ptr()
    side.wait_stream(torch.infini.current_stream())
    gate.hold(side)
    with torch.infini.stream(side):
        x + 0
    del x
    assert torch.empty(256, device="infini").data_ptr() == address


def test_too_much_memory_is_an_error_with_the_figures() -> None:
    with pytest.raises(torch.OutOfMemoryError) as caught:
        torch.empty(1 << 60, dtype=torch.uint8, device="infini")
    text = str(caught.value)
    assert text.startswith("infini out of memory: tried to allocate 1073741824.00 GiB")
    assert "on infini:0" in text
    assert "reserved by torch-infini but unused" in text
    assert torch.infini.memory_stats()["num_ooms"] >= 1
    assert torch.ones(2, device="infini").tolist() == [1, 1]


def test_many_shapes_leave_memory_flat() -> None:
    for size in range(1, 2000, 7):
        torch.empty(size * 64, dtype=torch.uint8, device="infini")
    reserved = torch.infini.memory_reserved()
    for _ in range(3):
        for size in range(1, 2000, 7):
            torch.empty(size * 64, dtype=torch.uint8, device="infini")
    assert torch.infini.memory_reserved() == reserved


def test_tensors_may_die_in_another_thread() -> None:
    before = torch.infini.memory_allocated()
    tensors = [torch.ones(100, device="infini") for _ in range(100)]
    assert torch.infini.memory_allocated() > before
    thread = threading.Thread(target=tensors.clear)
    thread.start()
    thread.join()
    assert torch.infini.memory_allocated() == before


def test_generic_memory_functions_agree() -> None:
    x = torch.empty(MIB, dtype=torch.uint8, device="infini")
    assert torch.accelerator.memory_allocated() == torch.infini.memory_allocated() >= x.numel()
    assert torch.accelerator.memory_reserved() == torch.infini.memory_reserved()
    torch.accelerator.empty_cache()


@pytest.mark.usefixtures("two_devices")
def test_devices_have_their_own_memory() -> None:
    before = torch.infini.memory_allocated(0)
    x = torch.empty(MIB, dtype=torch.uint8, device="infini:1")
    assert torch.infini.memory_allocated(0) == before
    assert torch.infini.memory_allocated(1) >= x.numel()
    with pytest.raises(RuntimeError, match="record_stream: the memory is on infini:1"):
        x.record_stream(torch.infini.default_stream(0))
