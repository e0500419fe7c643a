"""Values that are alive together never share memory; others do."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from linnet.torch.planned.arena import ALIGNMENT, Lifetime, make_arena, place_values

lifetimes = st.lists(
    st.tuples(st.integers(0, 300), st.integers(0, 12), st.integers(0, 6)), max_size=24
).map(
    lambda rows: [
        Lifetime(n, (size,), torch.float32, first, first + length)
        for n, (size, first, length) in enumerate(rows)
    ]
)


@given(lifetimes)
def test_values_alive_together_do_not_overlap(values: list[Lifetime]) -> None:
    offsets, size = place_values(values)
    for a in values:
        assert offsets[a.number] % ALIGNMENT == 0
        assert offsets[a.number] + a.size <= size
        for b in values:
            together = a.first <= b.last and b.first <= a.last
            if a.number < b.number and together and a.size and b.size:
                apart = (
                    offsets[a.number] + a.size <= offsets[b.number]
                    or offsets[b.number] + b.size <= offsets[a.number]
                )
                assert apart, (a, b)


def test_a_chain_needs_room_for_two() -> None:
    values = [Lifetime(n, (16,), torch.float32, n, n + 1) for n in range(10)]
    assert place_values(values)[1] == 2 * 64


def test_tensors_are_aligned_and_of_their_shape_and_dtype() -> None:
    values = [
        Lifetime(0, (3, 5), torch.bfloat16, 0, 2),
        Lifetime(1, (), torch.int64, 0, 2),
        Lifetime(2, (0, 4), torch.float32, 0, 2),
        Lifetime(3, (7,), torch.bool, 1, 2),
    ]
    arena = make_arena(values, torch.device("cpu"))
    for value in values:
        tensor = arena.tensors[value.number]
        assert (tuple(tensor.shape), tensor.dtype) == (value.shape, value.dtype)
        assert tensor.is_contiguous()
        if tensor.numel():
            assert tensor.data_ptr() % ALIGNMENT == 0
    assert arena.size == 3 * 64
