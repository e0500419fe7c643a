"""Pinned host memory."""

from __future__ import annotations

import gc
import threading

import pytest
import torch

pytestmark = pytest.mark.filterwarnings(
    # torch's opinion on `pin_memory("infini")`, which works all the same.
    "ignore:The argument 'device' of:DeprecationWarning"
)


def test_pinned_copy_has_the_values() -> None:
    x = torch.arange(10)
    pinned = x.pin_memory("infini")
    assert pinned.is_pinned()
    assert not x.is_pinned()
    assert pinned.device.type == "cpu"
    assert torch.equal(pinned, x)


def test_without_argument_the_accelerator_is_meant() -> None:
    assert torch.arange(3).pin_memory().is_pinned()
    assert torch.empty(3, pin_memory=True).is_pinned()


def test_slices_are_pinned_too() -> None:
    pinned = torch.arange(100).pin_memory("infini")
    part = pinned[50:60]
    assert part.is_pinned()
    del pinned
    gc.collect()
    assert part.is_pinned()
    assert part.tolist() == list(range(50, 60))


def test_pinning_twice_gives_the_same_tensor() -> None:
    pinned = torch.arange(3).pin_memory("infini")
    assert pinned.pin_memory("infini").data_ptr() == pinned.data_ptr()


def test_storages_are_pinned() -> None:
    storage = torch.arange(4, dtype=torch.uint8).untyped_storage()
    pinned = storage.pin_memory("infini")
    assert pinned.is_pinned("infini")
    assert not storage.is_pinned("infini")
    assert list(pinned) == [0, 1, 2, 3]


def test_empty_tensors_pin() -> None:
    assert torch.empty(0).pin_memory("infini").numel() == 0


def test_infini_tensors_cannot_be_pinned() -> None:
    with pytest.raises(RuntimeError, match=r"[Pp]in"):
        torch.ones(3, device="infini").pin_memory("infini")


def test_blocks_are_reused() -> None:
    x = torch.empty(1000, pin_memory=True)
    address = x.data_ptr()
    del x
    assert torch.empty(1000, pin_memory=True).data_ptr() == address


def test_blocks_in_use_by_a_copy_are_not_reused() -> None:
    copies = []
    for step in range(100):
        source = torch.full((256,), step, dtype=torch.int32).pin_memory("infini")
        copies.append(source.to("infini", non_blocking=True))
        del source
        torch.full((256,), -1, dtype=torch.int32).pin_memory("infini")
    assert [int(copy[0]) for copy in copies] == list(range(100))


def test_memory_may_be_freed_in_another_thread() -> None:
    tensors = [torch.empty(100, pin_memory=True) for _ in range(10)]
    thread = threading.Thread(target=tensors.clear)
    thread.start()
    thread.join()
    assert not tensors


def test_data_loader_pins_in_its_thread() -> None:
    data = torch.utils.data.TensorDataset(torch.arange(12.0))
    loader = torch.utils.data.DataLoader(data, batch_size=4, pin_memory=True)
    batches = [batch for (batch,) in loader]
    assert all(batch.is_pinned() for batch in batches)
    assert torch.cat(batches).tolist() == list(range(12))


class Batch:
    """A batch of a class that PyTorch does not know, with a way to pin it."""

    def __init__(self, rows: list[tuple[torch.Tensor]]) -> None:
        self.values = torch.stack([values for (values,) in rows])

    def pin_memory(self) -> Batch:
        self.values = self.values.pin_memory()
        return self


def test_data_loader_pins_batches_of_other_classes() -> None:
    data = torch.utils.data.TensorDataset(torch.arange(12.0))
    loader = torch.utils.data.DataLoader(data, 4, pin_memory=True, collate_fn=Batch)
    batches = [batch.values for batch in loader]
    assert all(values.is_pinned() for values in batches)
    assert torch.cat(batches).tolist() == list(range(12))


def test_pinned_for_another_device_is_not_pinned_for_infini() -> None:
    x = torch.ones(4)
    assert not x.is_pinned()
    assert x.pin_memory().is_pinned()
    assert not x.is_pinned()
    if not torch.cuda.is_available():
        # Its message is PyTorch's own; infini's memory is no answer for it.
        with pytest.raises((RuntimeError, AssertionError)):
            x.pin_memory("cuda")


def test_slices_stay_pinned_when_the_tensor_is_gone() -> None:
    x = torch.arange(10.0).pin_memory()
    part = x[3:]
    del x
    assert part.is_pinned()
    assert part.to("infini", non_blocking=True).tolist() == list(range(3, 10))
