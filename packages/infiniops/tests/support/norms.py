"""A row whose norm tells by its bits where it was rounded."""

from __future__ import annotations

from typing import Any

import torch


def rounding_orders(dtype: Any) -> tuple[Any, Any, Any, Any]:
    """A row of 4096 numbers and a weight; the norm rounded once, after the weight; and the norm
    rounded before the weight as well.

    Squares are whole numbers with the mean 9, exact in any order of additions. No product with the
    weight is a multiple of 3, so a third of it lies far enough from where its rounding turns for
    float32: each element has but one right value.
    """
    row = torch.tensor([4.0, -4.0, 2.0, 0.0]).repeat(1024).to(dtype)
    steps = round(1 / torch.finfo(dtype).eps)
    numerators = torch.tensor([n for n in range(steps, 2 * steps) if n % 3 != 0])
    weight = (numerators.double() / steps).repeat(4096)[:4096].to(dtype)
    scaled = row.double() / 3
    once = (scaled * weight.double()).to(dtype)
    twice = (scaled.to(dtype).double() * weight.double()).to(dtype)
    return row, weight, once, twice
