"""Which masks are taken for prefix masks."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from linnet.backends.testing import GraphBuilder
from linnet.torch.flashinfer.prefix import is_prefix_mask

Make = Callable[[GraphBuilder], int]
KEYS, ROWS = 8, 3


def positions(builder: GraphBuilder) -> int:
    return builder.step("reshape", builder.input("at", (ROWS,), "i64"), shape=(ROWS, 1))


def iota(builder: GraphBuilder, dtype: str = "i64") -> int:
    return builder.step("iota", shape=(KEYS,), dtype=dtype)


def compared(comparison: str, keys_first: bool = True) -> Make:
    def make(builder: GraphBuilder) -> int:
        pair = (iota(builder), positions(builder))
        return builder.step("compare", *(pair if keys_first else pair[::-1]), comparison=comparison)

    return make


def shifted(builder: GraphBuilder) -> int:
    """iota + 1 - row <= position."""
    one, row = builder.constant(1, "i64"), builder.input("row", (), "i64")
    keys = builder.step("sub", builder.step("add", one, iota(builder)), row)
    return builder.step("compare", keys, positions(builder), comparison="le")


def viewed(builder: GraphBuilder) -> int:
    """[B, K] as [B, 1, K], its axes turned, turned back and repeated."""
    mask = builder.step("reshape", compared("lt")(builder), shape=(ROWS, 1, KEYS))
    turned = builder.step("permute", mask, shape=(KEYS, ROWS, 1), axes=(2, 0, 1))
    back = builder.step("permute", turned, shape=(ROWS, 1, KEYS), axes=(1, 2, 0))
    return builder.step("broadcast", back, shape=(ROWS, 2, KEYS))


def both(builder: GraphBuilder) -> int:
    return builder.step("and", compared("le")(builder), shifted(builder))


def reversed_keys(builder: GraphBuilder) -> int:
    """position - iota <= 3: sees the later keys."""
    keys = builder.step("sub", positions(builder), iota(builder))
    return builder.step("compare", keys, builder.constant(3, "i64"), comparison="le")


def window(builder: GraphBuilder) -> int:
    first = builder.step("compare", iota(builder), positions(builder), comparison="le")
    return builder.step("and", first, compared("gt")(builder))


def given(builder: GraphBuilder) -> int:
    return builder.input("mask", (ROWS, KEYS), "bool")


def unknown_keys(builder: GraphBuilder) -> int:
    keys = builder.input("keys", (KEYS,), "i64")
    return builder.step("compare", keys, positions(builder), comparison="le")


def row_of_keys(builder: GraphBuilder) -> int:
    """Each row compares its own number, not the key's."""
    rows = builder.step(
        "reshape", builder.step("iota", shape=(ROWS,), dtype="i64"), shape=(ROWS, 1)
    )
    wide = builder.step("broadcast", rows, shape=(ROWS, KEYS))
    return builder.step("compare", wide, positions(builder), comparison="le")


def folded(builder: GraphBuilder) -> int:
    """The keys of two rows in one: 0 .. 7, 0 .. 7."""
    return builder.step("reshape", compared("le")(builder), shape=(1, ROWS * KEYS))


def turned_round(builder: GraphBuilder) -> int:
    return builder.step("not", compared("le")(builder))


@pytest.mark.parametrize(
    "make",
    [
        compared("le"),
        compared("lt"),
        compared("ge", False),
        compared("gt", False),
        shifted,
        viewed,
        both,
    ],
)
def test_masks_that_show_the_first_keys(make: Make) -> None:
    builder = GraphBuilder()
    mask = make(builder)
    assert is_prefix_mask(builder.graph(mask), mask)


@pytest.mark.parametrize(
    "make",
    [
        compared("ge"),
        compared("eq"),
        compared("ne"),
        compared("le", False),
        reversed_keys,
        window,
        given,
        unknown_keys,
        row_of_keys,
        folded,
        turned_round,
    ],
)
def test_masks_that_may_show_others(make: Make) -> None:
    builder = GraphBuilder()
    mask = make(builder)
    assert not is_prefix_mask(builder.graph(mask), mask)
