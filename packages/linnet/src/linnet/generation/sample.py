"""Choosing the next token from logits."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Sampling:
    """How tokens are chosen. A temperature of 0 takes the token of the largest logit, the first of
    equal ones. Otherwise logits are divided by it, and one of the `top_k` most probable tokens, and
    of the fewest whose probabilities reach `top_p`, is drawn by its share. Equal seeds draw equal
    tokens from equal logits.
    """

    temperature: float = 0.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature >= 0):
            raise ValueError(f"temperature must be a number from 0 on, got {self.temperature!r}")
        if self.top_k is not None and self.top_k < 1:
            raise ValueError(f"top_k must be 1 or more, got {self.top_k!r}")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be above 0 and at most 1, got {self.top_p!r}")


class Sampler:
    """Chooses tokens, one after another, by one `Sampling`."""

    def __init__(self, sampling: Sampling) -> None:
        self.sampling = sampling
        self.random = torch.Generator()
        if sampling.seed is None:
            self.random.seed()
        else:
            self.random.manual_seed(sampling.seed)

    def choose(self, logits: Tensor) -> int:
        """The next token from `logits` of shape [V]. ValueError if one of them is NaN."""
        wide = logits.detach().to("cpu", torch.float64)
        if bool(wide.isnan().any()):
            raise ValueError("the model gave logits that are NaN; its weights or inputs are broken")
        sampling = self.sampling
        if sampling.temperature == 0:
            return int(wide.argmax())
        values, order = torch.sort(wide / sampling.temperature, descending=True, stable=True)
        if sampling.top_k is not None:
            values, order = values[: sampling.top_k], order[: sampling.top_k]
        share = torch.softmax(values, dim=0)
        if sampling.top_p is not None:
            before = share.cumsum(dim=0) - share
            count = int((before < sampling.top_p).sum())
            share, order = share[:count], order[:count]
        return int(order[torch.multinomial(share, 1, generator=self.random)])
