"""Weights that a plan reads in place lie in large pages, as the same parameters."""

from __future__ import annotations

import mmap
from collections.abc import Iterable
from copy import deepcopy
from typing import Any

import pytest
import torch
from linnet_helpers.runtime import Reference, batch, captured, model_of
from torch import nn

from linnet.backends.testing import two_layer_graph
from linnet.torch import LinnetModule
from linnet.torch.planned import large_pages
from linnet.torch.planned.large_pages import LargePages, is_in_large_pages

pytestmark = pytest.mark.skipif(
    not hasattr(mmap, "MADV_HUGEPAGE"), reason="the system gives no large pages"
)

UP, DOWN = "layers.0.up.weight", "layers.0.down.weight"


@pytest.fixture(autouse=True)
def of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small weights are moved as well."""
    monkeypatch.setattr(large_pages, "LEAST_BYTES", 1)


def lay_out(model: LinnetModule, paths: Iterable[str]) -> bool:
    paths = list(paths)
    pages = LargePages.for_weights(model, paths)
    return pages is not None and pages.move(model, paths)


def is_moved(model: LinnetModule, path: str) -> bool:
    return is_in_large_pages(model, model.tensor(path))


def test_weights_are_moved_once_and_stay_the_same_parameters() -> None:
    model = model_of(two_layer_graph(), trainable=False)
    before = {path: (tensor, tensor.clone()) for path, tensor in model.named_parameters()}
    assert lay_out(model, before)
    for path, (tensor, values) in before.items():
        assert model.get_parameter(path) is tensor
        assert torch.equal(tensor, values)
        assert is_moved(model, path)
        assert tensor.data_ptr() % tensor.element_size() == 0
    addresses = [tensor.data_ptr() for tensor, _ in before.values()]
    assert not lay_out(model, before)
    assert addresses == [tensor.data_ptr() for tensor, _ in before.values()]


def test_neighbours_stay_neighbours() -> None:
    model = model_of(two_layer_graph(joined=True), trainable=False)
    paths = ("layers.0.up.weight", "layers.0.gate.weight")
    joined = model.join(paths)
    assert joined is not None
    values = joined.clone()
    assert lay_out(model, dict(model.named_parameters()))
    again = model.join(paths)
    assert again is not None
    assert again.data_ptr() == model.get_parameter(paths[0]).data_ptr() != joined.data_ptr()
    assert all(is_moved(model, path) for path in paths)
    assert torch.equal(again, values)


def test_weights_of_a_file_are_aligned_as_kernels_want_them() -> None:
    model = model_of(two_layer_graph(), trainable=False)
    up, down = model.get_parameter(UP), model.get_parameter(DOWN)
    file = torch.zeros(4 + up.nbytes + down.nbytes, dtype=torch.uint8)[4:]
    for tensor, part in ((up, file[: up.nbytes]), (down, file[up.nbytes :])):
        tensor.data = part.view(torch.float32).view(tensor.shape).copy_(tensor)
    assert up.data_ptr() % 64 == 4
    assert lay_out(model, [UP, DOWN])
    assert up.data_ptr() % 64 == 0
    assert down.data_ptr() == up.data_ptr() + up.nbytes


def test_tied_weights_stay_tied() -> None:
    model = model_of(two_layer_graph(), trainable=False)
    up, other = model.get_parameter(UP), model.get_parameter("layers.1.up.weight")
    other.data = up.data
    assert lay_out(model, [UP])
    assert is_moved(model, UP)
    assert up.data_ptr() == other.data_ptr()


def train(model: LinnetModule) -> None:
    model.get_parameter(UP).requires_grad_(True)


def turn(model: LinnetModule) -> None:
    up = model.get_parameter(UP)
    up.data = up.data.t().contiguous().t()


def overlap(model: LinnetModule) -> None:
    whole = torch.ones(20, 8)
    model.get_parameter("layers.1.up.weight").data = whole[:16]
    model.get_parameter(UP).data = whole[4:]


@pytest.mark.parametrize("change", [train, turn, overlap])
def test_what_cannot_be_moved_stays(change: Any) -> None:
    model = model_of(two_layer_graph(), trainable=False)
    change(model)
    up = model.get_parameter(UP)
    address, stride = up.data_ptr(), up.stride()
    assert lay_out(model, [UP, DOWN])
    assert (up.data_ptr(), up.stride()) == (address, stride)
    assert is_moved(model, DOWN)


def test_few_bytes_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_pages, "LEAST_BYTES", 1 << 20)
    model = model_of(two_layer_graph(), trainable=False)
    assert not lay_out(model, dict(model.named_parameters()))
    assert not is_moved(model, UP)


def test_where_there_are_no_large_pages_weights_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    class Small(mmap.mmap):
        def madvise(self, *advice: int) -> None:
            raise OSError(22, "Invalid argument")

    monkeypatch.setattr(mmap, "mmap", Small)
    model = model_of(two_layer_graph(), trainable=False)
    assert not lay_out(model, dict(model.named_parameters()))


def test_a_plan_moves_what_it_reads_in_place_and_a_copy_moves_its_own() -> None:
    backend = Reference()
    backend.reads_in_place = True
    model = model_of(two_layer_graph(), trainable=False)
    step = captured(model, [batch(0)], backend)
    assert is_moved(model, UP)
    for seed in range(3):
        expected = model.run_entry("forward", [batch(seed)], compile=False)
        assert torch.allclose(step([batch(seed)])[0], expected, rtol=1e-5, atol=1e-5)
    copied = deepcopy(model)
    assert not is_moved(copied, UP)
    captured(copied, [batch(0)], backend)
    assert is_moved(copied, UP)
    assert copied.get_parameter(UP).data_ptr() != model.get_parameter(UP).data_ptr()


def test_a_plan_leaves_weights_that_a_back_end_keeps_something_of() -> None:
    model = model_of(two_layer_graph(), trainable=False)
    captured(model, [batch(0)], Reference())
    assert not is_moved(model, UP)


def test_a_weight_that_replaces_one_is_moved_as_well() -> None:
    backend = Reference()
    backend.reads_in_place = True
    model = model_of(two_layer_graph(), trainable=False)
    step = captured(model, [batch(0)], backend)
    step([batch(0)])
    up = model.get_submodule("layers.0.up")
    up.weight = nn.Parameter(torch.ones(16, 8), requires_grad=False)
    (made,) = step([batch(1)])
    assert is_moved(model, UP)
    expected = model.run_entry("forward", [batch(1)], compile=False)
    assert torch.allclose(made, expected, rtol=1e-5, atol=1e-5)
