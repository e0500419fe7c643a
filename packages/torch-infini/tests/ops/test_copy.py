"""Copies between the CPU and infini and on infini: exact, or refused; nothing beside is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
import torch

if TYPE_CHECKING:
    from gate import Gate

pytestmark = pytest.mark.filterwarnings(
    # torch's opinion on `pin_memory("infini")`, which works all the same.
    "ignore:The argument 'device' of:DeprecationWarning"
)

Arrange = Callable[[torch.Tensor], torch.Tensor]

LAYOUTS: dict[str, Arrange] = {
    "contiguous": lambda t: t,
    "transposed": lambda t: t.transpose(0, 1),
    "sliced": lambda t: t[1:5, ::2, 1:],
    "offset": lambda t: t[2:],
    "permuted": lambda t: t.permute(2, 0, 1),
    "inner slice": lambda t: t[:, :, 1],
    "0-d": lambda t: t[1, 2, 3],
}


def base(dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-50, 50, (6, 5, 4), generator=generator).to(dtype)


@pytest.mark.parametrize("source", LAYOUTS)
@pytest.mark.parametrize("target", LAYOUTS)
@pytest.mark.parametrize("way", ["to infini", "from infini", "on infini"])
def test_any_layout_copies_to_any_layout(source: str, target: str, way: str) -> None:
    whole = base()
    from_view = LAYOUTS[source](whole)
    guarded = base(seed=1)
    to_view = LAYOUTS[target](guarded)
    if from_view.shape != to_view.shape:
        from_view = from_view[(0,) * from_view.dim()].expand(to_view.shape)

    expected = base(seed=1)
    LAYOUTS[target](expected).copy_(from_view)
    device_source = whole.to("infini") if way != "to infini" else whole
    device_from = torch.as_strided(
        device_source, from_view.shape, from_view.stride(), from_view.storage_offset()
    )
    device_whole = base(seed=1)
    if way != "from infini":
        device_whole = device_whole.to("infini")
    device_to = LAYOUTS[target](device_whole)

    assert device_to.copy_(device_from) is device_to
    torch.testing.assert_close(device_whole.cpu(), expected, rtol=0, atol=0)


DTYPES = [torch.bool, torch.uint8, torch.int64, torch.float16, torch.bfloat16, torch.float32]
DTYPES += [torch.float64, torch.complex64, torch.float8_e4m3fn]


@pytest.mark.parametrize("source", DTYPES, ids=str)
@pytest.mark.parametrize("target", DTYPES, ids=str)
@pytest.mark.filterwarnings("ignore:Casting complex values to real")
def test_any_type_converts_to_any_type_as_on_cpu(source: torch.dtype, target: torch.dtype) -> None:
    values = base().to(source)
    expected = values.to(target)
    for actual in (
        values.to("infini").to(target),
        values.to("infini", target),
        values.to("infini").to("cpu", target),
    ):
        assert actual.dtype == target
        assert torch.equal(actual.cpu().view(torch.uint8), expected.view(torch.uint8))


@pytest.mark.parametrize(
    ("source", "target"), [((), (2, 3)), ((3,), (2, 3)), ((2, 1), (2, 3)), ((1,), (0,))], ids=str
)
def test_source_broadcasts(source: tuple[int, ...], target: tuple[int, ...]) -> None:
    values = torch.arange(1.0, 1 + torch.Size(source).numel()).reshape(source)
    expected = torch.zeros(target).copy_(values)
    for a, b in (
        (values, torch.zeros(target).to("infini")),
        (values.to("infini"), torch.zeros(target)),
        (values.to("infini"), torch.zeros(target).to("infini")),
    ):
        assert torch.equal(b.copy_(a).cpu(), expected)


def test_shapes_that_do_not_broadcast_are_refused() -> None:
    target = torch.zeros(2, 3, device="infini")
    with pytest.raises(RuntimeError, match=r"must match the size|expanded size"):
        target.copy_(torch.ones(4))
    assert target.cpu().sum() == 0


def test_target_that_overlaps_itself_is_refused() -> None:
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        torch.zeros(1, device="infini").expand(3).copy_(torch.ones(3))


def test_partly_overlapping_copy_is_refused() -> None:
    x = torch.arange(10.0).to("infini")
    with pytest.raises(RuntimeError, match="unsupported operation"):
        x[1:6].copy_(x[:5])
    assert x.tolist() == list(range(10))


def test_copy_to_itself_changes_nothing() -> None:
    x = torch.arange(6.0).to("infini")
    x.copy_(x)
    x[2:].copy_(x[2:])
    assert x.tolist() == list(range(6))


def test_conjugate_and_negative_views_copy_their_values() -> None:
    z = torch.randn(4, 3, dtype=torch.complex64)
    x = z.to("infini")
    for name, view in {
        "conj": lambda t: t.conj(),
        "imag of conj": lambda t: t.conj().imag,
        "conj transposed": lambda t: t.mH,
    }.items():
        expected = view(z).resolve_conj().resolve_neg()
        assert torch.equal(view(x).cpu().resolve_conj().resolve_neg(), expected), name
        assert torch.equal(view(x).clone().cpu().resolve_conj().resolve_neg(), expected), name
        assert torch.equal(view(x).resolve_conj().resolve_neg().cpu(), expected), name
    target = torch.zeros(4, 3, dtype=torch.complex64, device="infini")
    target.conj().copy_(z)
    assert torch.equal(target.cpu(), z.conj().resolve_conj())


def test_empty_tensors_copy() -> None:
    for shape in ((0,), (2, 0, 3)):
        x = torch.empty(shape, device="infini")
        x.copy_(torch.empty(shape))
        assert x.cpu().shape == shape


def test_channels_last_keeps_its_layout() -> None:
    image = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    x = image.to("infini")
    assert x.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(x.cpu(), image)
    assert x.cpu().stride() == image.stride()


def test_item_and_tolist_read_one_value_and_all() -> None:
    x = torch.arange(6).reshape(2, 3).to("infini")
    assert x[1, 2].item() == 5
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert x.t()[2].tolist() == [2, 5]
    assert bool(torch.ones(1, device="infini"))
    with pytest.raises(RuntimeError):
        x.item()


def test_clone_contiguous_and_reshape() -> None:
    values = base()
    x = values.to("infini")
    assert torch.equal(x.clone().cpu(), values)
    assert x.clone().data_ptr() != x.data_ptr()
    assert torch.equal(x.transpose(0, 2).contiguous().cpu(), values.transpose(0, 2))
    assert torch.equal(x.transpose(0, 1).reshape(-1).cpu(), values.transpose(0, 1).reshape(-1))


def test_fill_zero_and_factories() -> None:
    x = torch.empty(3, 4, device="infini")
    assert x.fill_(2.5).tolist() == [[2.5] * 4] * 3
    assert x.zero_().tolist() == [[0.0] * 4] * 3
    x[:, 1].fill_(1)
    assert x[:, 1].tolist() == [1.0] * 3
    assert x.tolist() == [[0.0, 1.0, 0.0, 0.0]] * 3
    x[1:, ::2].zero_()
    assert torch.ones(2, device="infini").tolist() == [1, 1]
    assert torch.zeros(2, dtype=torch.int8, device="infini").tolist() == [0, 0]
    assert torch.full((2,), 7, device="infini").tolist() == [7, 7]
    assert torch.tensor([1, 2], device="infini").tolist() == [1, 2]


def test_zero_of_a_slice_leaves_the_rest_alone() -> None:
    values = base()
    x = values.to("infini")
    x[1:4, :, 1:3].zero_()
    values[1:4, :, 1:3].zero_()
    assert torch.equal(x.cpu(), values)


def test_zero_writes_memory_once_that_an_expanded_tensor_shows_many_times(run_child) -> None:
    # In a process of its own, which is ended: 2**40 writes would take days.
    run_child(
        """
import torch, torch_infini
x = torch.ones(3, device="infini")
x[1:2].expand(2**40).zero_()
assert x.tolist() == [1.0, 0.0, 1.0]
y = torch.ones(2, 3, device="infini")
y[:, 1:].unsqueeze(1).expand(2, 2**40, 2).zero_()
assert y.tolist() == [[1.0, 0.0, 0.0]] * 2
""",
        timeout=60,
    )


def test_other_device_types_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="meta"):
        torch.zeros(2, device="infini").copy_(torch.empty(2, device="meta"))


@pytest.mark.usefixtures("two_devices")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_copies_between_devices(layout: str) -> None:
    values = base()
    x = LAYOUTS[layout](values.to("infini:0"))
    y = x.to("infini:1")
    assert y.device == torch.device("infini:1")
    assert torch.equal(y.cpu(), LAYOUTS[layout](values))
    assert torch.equal(y.to("infini:0").cpu(), LAYOUTS[layout](values))
    assert torch.infini.current_device() == 0


def test_blocking_copy_from_infini_has_arrived_when_it_returns() -> None:
    x = torch.zeros(1 << 16, dtype=torch.int32, device="infini")
    for step in range(20):
        x = x + 1
        assert int(x.cpu()[-1]) == step + 1
        target = torch.empty(1 << 16, dtype=torch.int32)
        target.copy_(x, non_blocking=True)  # ordinary memory: complete on return
        assert int(target[-1]) == step + 1


def test_pinned_target_is_right_after_an_event_or_stream_synchronisation() -> None:
    x = torch.zeros(1 << 16, dtype=torch.int32, device="infini")
    target = torch.empty(1 << 16, dtype=torch.int32).pin_memory("infini")
    for step in range(10):
        x = x + 1
        target.copy_(x, non_blocking=True)
        if step % 2:
            torch.infini.current_stream().synchronize()
        else:
            torch.infini.current_stream().record_event().synchronize()
        assert int(target[-1]) == step + 1


def test_pinned_sources_may_be_dropped_at_once() -> None:
    copies = []
    for step in range(1000):
        source = torch.full((64,), step, dtype=torch.int32).pin_memory("infini")
        copies.append(source.to("infini", non_blocking=True))
        del source
    assert [int(copy[-1]) for copy in copies[::37]] == list(range(0, 1000, 37))


def test_slices_of_pinned_memory_may_be_dropped_at_once() -> None:
    copies = []
    for step in range(200):
        whole = torch.full((128,), step, dtype=torch.int32).pin_memory("infini")
        copies.append(whole[17:81].to("infini", non_blocking=True))
        del whole
    assert [int(copy[0]) for copy in copies] == list(range(200))


@pytest.mark.parametrize("device", LAYOUTS)
@pytest.mark.parametrize("host", LAYOUTS)
def test_pinned_memory_of_any_layout_may_be_dropped_at_once(host: str, device: str) -> None:
    whole = base()
    there_whole = base(seed=1).to("infini")
    there = LAYOUTS[device](there_whole)
    expected = base(seed=1)
    pinned = LAYOUTS[host](whole.pin_memory())
    if pinned.shape != there.shape:
        pinned = pinned[(0,) * pinned.dim()].expand(there.shape)
    LAYOUTS[device](expected).copy_(pinned)
    there.copy_(pinned, non_blocking=True)
    del pinned
    torch.full((6, 5, 4), -99.0).pin_memory()  # takes the memory, if it is free
    assert torch.equal(there_whole.cpu(), expected)

    back_whole = base(seed=2).pin_memory()
    back = LAYOUTS[host](back_whole)
    shown = there if there.shape == back.shape else there[(0,) * there.dim()].expand(back.shape)
    expected = base(seed=2)
    LAYOUTS[host](expected).copy_(shown.cpu())
    back.copy_(shown, non_blocking=True)
    del shown, there, there_whole
    torch.full((6, 5, 4), -99.0, device="infini")
    torch.infini.synchronize()
    assert torch.equal(back_whole, expected)


def test_copies_of_one_stream_are_read_on_another_that_waits_for_it() -> None:
    first, second = torch.infini.Stream(), torch.infini.Stream()
    for step in range(20):
        with torch.infini.stream(first):
            x = torch.full((1000,), step, dtype=torch.int32).pin_memory()
            there = x.to("infini", non_blocking=True)
        second.wait_stream(first)
        with torch.infini.stream(second):
            read = there + 1
        there.record_stream(second)
        del x, there
        second.synchronize()
        assert read.cpu().tolist() == [step + 1] * 1000


@pytest.mark.sim
def test_pinned_copies_return_before_they_are_done(gate: Gate) -> None:
    stream = torch.infini.Stream()
    source = torch.ones(1 << 20).pin_memory("infini")
    back = torch.zeros(1 << 20).pin_memory("infini")
    gate.hold(stream)
    with torch.infini.stream(stream):
        x = source.to("infini", non_blocking=True)
        back.copy_(x + 1, non_blocking=True)
    assert not stream.query()
    assert back[-1] == 0
    gate.open()
    stream.synchronize()
    assert stream.query()
    assert back[-1] == 2


@pytest.mark.sim
def test_a_thousand_pending_copies_keep_what_they_read(gate: Gate) -> None:
    # All are pending when the last source is gone, and its memory asked for again.
    gate.hold(torch.infini.current_stream())
    copies = []
    for step in range(1000):
        source = torch.full((64,), step, dtype=torch.int32).pin_memory("infini")
        copies.append(source.to("infini", non_blocking=True))
        del source
        torch.full((64,), -1, dtype=torch.int32).pin_memory("infini")
    assert not torch.infini.current_stream().query()
    gate.open()
    assert [copy.unique().tolist() for copy in map(torch.Tensor.cpu, copies)] == [
        [step] for step in range(1000)
    ]


def test_elements_that_lie_among_one_anothers_copy() -> None:
    def shift(x: torch.Tensor) -> torch.Tensor:
        x[:, 300:600].copy_(x[:, :300])
        x[:, 1::2].copy_(x[:, ::2])
        return x

    base = torch.randn(3, 602)
    found = shift(base.to("infini"))
    assert torch.equal(found.cpu(), shift(base.clone()))
