"""Attention in float64, and how close an operator must come to it."""

from __future__ import annotations

import ctypes
import itertools
import math
import mmap
from typing import Any

import pytest
import torch

DTYPES = [torch.float32, torch.bfloat16, torch.float16]

SIZES = {"batch": 2, "queries": 3, "heads": 4, "key_heads": 2, "size": 8, "value_size": 6}
"""Sizes of a call of attention, of which one at a time is 0."""

_BOUNDS = {torch.float32: (2e-5, 2e-5), torch.bfloat16: (1.6e-2, 1e-2), torch.float16: (2e-3, 1e-3)}
"""Relative and absolute tolerance, as the declarations say."""


def attention(
    query: Any,
    key: Any,
    value: Any,
    mask: Any = None,
    scale: float | None = None,
    left: int = -1,
    right: int = -1,
    shift: int = 0,
) -> Any:
    """Mixed values `[..., H, Q, V]` in float64; query i stands at key i + `shift`, and sees from
    `left` keys before it to `right` after it (-1: all). A query that sees no key gives zeros.
    """
    query, key, value = (tensor.double() for tensor in (query, key, value))
    group = query.shape[-3] // max(key.shape[-3], 1)
    key, value = key.repeat_interleave(group, -3), value.repeat_interleave(group, -3)
    if scale is None:
        scale = 1 / math.sqrt(max(query.shape[-1], 1))
    scores = query @ key.transpose(-1, -2) * scale
    place = torch.arange(query.shape[-2])[:, None] + shift
    keys = torch.arange(key.shape[-2])
    seen = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool)
    if left >= 0:
        seen &= keys >= place - left
    if right >= 0:
        seen &= keys <= place + right
    scores = scores.masked_fill(~seen, -torch.inf)
    if mask is not None and mask.dtype == torch.bool:
        scores = scores.masked_fill(~mask, -torch.inf)
    elif mask is not None:
        scores = scores + mask.double()
    hidden = (scores == -torch.inf).all(-1, keepdim=True)
    return torch.softmax(scores, -1).masked_fill(hidden, 0.0) @ value


def assert_close(actual: Any, expected: Any, case: object = "") -> None:
    """`actual` is within its dtype's tolerance; the message names the worst element."""
    assert actual.shape == expected.shape, case
    if actual.numel() == 0:
        return
    relative, absolute = _BOUNDS[actual.dtype]
    share = (actual.double() - expected).abs() / (absolute + relative * expected.abs())
    share = share.nan_to_num(nan=torch.inf)
    worst = int(share.argmax())
    at = tuple(int(i) for i in torch.unravel_index(torch.tensor(worst), share.shape))
    assert share.max() <= 1, (
        f"{case} {actual.dtype} at {at}: expected {expected[at].item()}, got {actual[at].item()}"
    )


def poisoned(shape: Any, dtype: Any) -> Any:
    """An output in which what is not written shows."""
    return torch.full(shape, float("nan"), dtype=dtype)


def guarded(tensor: Any) -> Any:
    """A copy of a contiguous `tensor` that ends where memory begins that cannot be read."""
    page = mmap.PAGESIZE
    size = tensor.numel() * tensor.element_size()
    whole = (size + page - 1) // page * page
    memory = mmap.mmap(-1, whole + page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    no_access = 0  # PROT_NONE, which mmap does not name
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    if protect(ctypes.c_void_p(address + whole), ctypes.c_size_t(page), no_access) != 0:
        raise OSError(ctypes.get_errno(), "mprotect")
    copy = torch.frombuffer(memory, dtype=torch.uint8, count=size, offset=whole - size)
    copy = copy.view(tensor.dtype).view(tensor.shape)
    return copy.copy_(tensor)


def starts(lengths: Any) -> Any:
    """Where each of several sequences starts, packed one after another, and where the last ends."""
    return torch.tensor([0, *itertools.accumulate(lengths)], dtype=torch.int32)


def one(q: Any, k: Any, v: Any, left: int = -1, right: int = -1, scale: Any = None) -> Any:
    """One sequence, `[tokens, heads, size]`, whose last query stands at its last key."""
    q, k, v = (t.transpose(-3, -2) for t in (q, k, v))
    shift = k.shape[-2] - q.shape[-2]
    mixed = attention(q, k, v, left=left, right=right, shift=shift, scale=scale)
    return mixed.transpose(-3, -2)


def pages_of(rows: Any, lengths: Any, size: int, spare: int = 2) -> Any:
    """`rows` of a cache in pages of `size` tokens, in shuffled order, poisoned behind each length;
    and the table of the pages.
    """
    counts = [(length + size - 1) // size for length in lengths]
    total = sum(counts) + spare
    order = torch.randperm(total)
    cache = poisoned((total, size, *rows.shape[2:]), rows.dtype)
    table = torch.full((len(lengths), max([*counts, 1])), -7, dtype=torch.int32)
    used = 0
    for b, length in enumerate(lengths):
        for p in range(counts[b]):
            page = int(order[used])
            used += 1
            table[b, p] = page
            part = rows[b, p * size : min((p + 1) * size, length)]
            cache[page, : len(part)] = part
    return cache, table


def vllm_cache(rows: Any, size: int, split: int) -> Any:
    """Keys `[Pages, P, H, D]` as `[Pages, H, D / X, P, X]`."""
    pages, _, heads, width = rows.shape
    return (
        rows.reshape(pages, size, heads, width // split, split).permute(0, 2, 3, 1, 4).contiguous()
    )


def untouched(call: Any, tensors: Any, message: str) -> None:
    """`call` fails with `message` and leaves `tensors` as they are."""
    before = [tensor.clone() for tensor in tensors]
    with pytest.raises(ValueError) as error:
        call()
    assert message in str(error.value)
    for tensor, copy in zip(tensors, before, strict=True):
        assert torch.equal(tensor, copy)


def sizes_without(empty: str) -> list[int]:
    """`SIZES` with 0 for `empty`; without key heads there are no query heads."""
    gone = {empty, "heads"} if empty == "key_heads" else {empty}
    return [0 if name in gone else size for name, size in SIZES.items()]
