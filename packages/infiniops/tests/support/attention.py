"""Attention in float64, and how close an operator must come to it."""

from __future__ import annotations

import math
from typing import Any

import torch

DTYPES = [torch.float32, torch.bfloat16, torch.float16]

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
