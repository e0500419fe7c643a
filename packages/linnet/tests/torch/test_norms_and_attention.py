"""Norms, softmax, rotation and attention of the library at edges that models meet."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch
from linnet_helpers.running import WAYS, make
from torch import Tensor
from torch.nn import functional

from linnet.torch.operations import masked_attention, row_linear

NORM = """module norms
use std.nn.norm::{{rms_norm}}
use std.nn.softmax::{{softmax}}
use std.nn.linear::{{linear}}

pub entry norm<B: Dim, N: Dim>(
    x: Tensor[B, N; {dtype}],
    w: Tensor[N; {dtype}],
) -> Tensor[B, N; {dtype}]
where N > 0 {{
    return rms_norm(x, w, {eps})
}}

pub entry share<B: Dim, N: Dim>(x: Tensor[B, N; {dtype}]) -> Tensor[B, N; {dtype}] {{
    return softmax(x)
}}

pub entry product<B: Dim, N: Dim, M: Dim>(
    x: Tensor[B, N; {dtype}],
    w: Tensor[M, N; {dtype}],
) -> Tensor[B, M; {dtype}] {{
    return linear(x, w)
}}
"""
HALVES = {"f16": torch.float16, "bf16": torch.bfloat16}


def norm(way: str, x: Tensor, w: Tensor, dtype: str = "f32", eps: str = "1e-5") -> Tensor:
    found: Tensor = make(NORM.format(dtype=dtype, eps=eps), way).run_entry("norm", [x, w])
    return found


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize(("value", "width"), [(300.0, 4096), (60000.0, 4096), (1.0, 65536)])
def test_squares_past_a_narrow_dtype_do_not_overflow(
    way: str, dtype: str, value: float, width: int
) -> None:
    x = torch.full((2, width), value, dtype=HALVES[dtype])
    found = norm(way, x, torch.ones(width, dtype=HALVES[dtype]), dtype)
    assert torch.equal(found, torch.ones_like(x))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("eps", ["1e-6", "1e-5"])
def test_epsilon_is_added_to_the_mean_square_as_it_is(way: str, eps: str) -> None:
    x = torch.rand(3, 64) * 1e-3
    x[0, 5] = 1e3
    x[2] = 0
    w = torch.rand(64) + 0.5
    found = norm(way, x, w, eps=eps)
    wide = x.double()
    wanted = wide / (wide.square().mean(-1, keepdim=True) + float(eps)).sqrt() * w.double()
    torch.testing.assert_close(found.double(), wanted, rtol=1e-6, atol=0)
    assert torch.equal(found[2], torch.zeros(64))


@pytest.mark.parametrize("way", WAYS)
def test_a_tiny_epsilon_is_not_flushed_by_a_narrow_dtype(way: str) -> None:
    x = torch.full((2, 64), 1e-6).half()
    x[1] = 0
    found = norm(way, x, torch.ones(64).half(), "f16", eps="1e-12")
    wide = x.double()
    wanted = wide / (wide.square().mean(-1, keepdim=True) + 1e-12).sqrt()
    torch.testing.assert_close(found.double(), wanted, rtol=2**-10, atol=0)
    without = norm(way, torch.zeros(1, 64), torch.ones(64), eps="0.0")
    assert without.isnan().all()  # as documented: 0 divided by 0


def test_exact_numerics_round_before_the_weight_and_fast_ones_after() -> None:
    # Not close to a root mean square of a power of two, where the first order rounds but once.
    x = (1.4 * torch.randn(8, 4096)).bfloat16()
    w = (1 + (torch.rand(4096) - 0.5) / 5).bfloat16()
    wide = x.double()
    plain = wide / (wide.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    before = (plain.bfloat16().double() * w.double()).bfloat16()
    after = (plain * w.double()).bfloat16()
    found = {way: norm(way, x, w, "bf16") for way in WAYS}
    # f32 inside instead of f64 moves a rounding now and then.
    for way, wanted in (("interpreted", before), ("exact", before), ("fast", after)):
        assert float((found[way] != wanted).float().mean()) < 0.01, way
    differing = float((found["exact"] != found["fast"]).float().mean())
    assert 0.1 < differing < 0.4


@pytest.mark.parametrize("way", WAYS)
def test_a_row_gives_the_same_in_any_batch(way: str) -> None:
    """Norms and softmax to the bit; a product to what another order of its sum can change."""
    width = 96
    row, weight = torch.randn(1, width), torch.randn(40, width)
    model = make(NORM.format(dtype="f32", eps="1e-5"), way)
    given: dict[str, list[Tensor]] = {"norm": [torch.rand(width)], "share": [], "product": [weight]}
    for entry, rest in given.items():
        alone = model.run_entry(entry, [row, *rest])
        assert torch.equal(model.run_entry(entry, [row, *rest]), alone)
        for batch in (2, 16, 17, 64):
            for at in (0, batch // 2, batch - 1):
                x = torch.randn(batch, width)
                x[at] = row[0]
                found = model.run_entry(entry, [x, *rest])[at]
                if entry == "product":
                    bound = 4 * 2**-23 * float((row.abs() @ weight.abs().T).max())
                    torch.testing.assert_close(found, alone[0], rtol=0, atol=bound)
                else:
                    assert torch.equal(found, alone[0]), (entry, batch, at)


ATTENTION = """module mixed
use std.nn.attention::{attention, attention_rows, causal_mask, grouped_attention}
use std.nn.rope::{rope, rope_angles}
use std.nn.softmax::{softmax}

pub entry causal<B: Dim, H: Dim, Q: Dim, K: Dim, D: Dim>(
    q: Tensor[B, H, Q, D; f32],
    k: Tensor[B, H, K, D; f32],
    v: Tensor[B, H, K, D; f32],
) -> Tensor[B, H, Q, D; f32] {
    return attention(q, k, v, 0.5, some(causal_mask<Q, K>()))
}

pub entry masked<B: Dim, H: Dim, Q: Dim, K: Dim, D: Dim>(
    q: Tensor[B, H, Q, D; f32],
    k: Tensor[B, H, K, D; f32],
    v: Tensor[B, H, K, D; f32],
    mask: Tensor[B, Q, K; bool],
) -> Tensor[B, H, Q, D; f32] {
    return attention_rows(q, k, v, 0.5, mask)
}

pub entry grouped<B: Dim, H: Dim, G: Dim, Q: Dim, K: Dim, D: Dim>(
    q: Tensor[B, H, Q, D; f32],
    k: Tensor[B, G, K, D; f32],
    v: Tensor[B, G, K, D; f32],
) -> Tensor[B, H, Q, D; f32]
where
    G > 0,
    H % G == 0,
{
    return grouped_attention(q, k, v, 0.5)
}

pub entry added<Q: Dim, K: Dim>(
    scores: Tensor[Q, K; f32],
    mask: Tensor[Q, K; f32],
) -> Tensor[Q, K; f32] {
    return softmax(scores + mask)
}

pub entry turned(x: Tensor[1, 1, 1, 8; f32], position: i64) -> Tensor[1, 1, 1, 8; f32] {
    let angles = rope_angles<[1], 8>(iota(1) + position, 10000.0)
    return rope(x, cos(angles), sin(angles))
}
"""


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """In float64; a query that may see no key gets zeros."""
    scores = q.double() @ k.double().transpose(-1, -2) * 0.5
    power = scores.exp() * mask
    return power / power.sum(-1, keepdim=True).clamp(min=1e-300) @ v.double()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("queries", "keys"), [(2, 5), (5, 5), (5, 2), (1, 7)])
def test_a_causal_mask_stands_at_the_end_of_the_keys(way: str, queries: int, keys: int) -> None:
    q, k, v = (torch.randn(2, 3, n, 4) for n in (queries, keys, keys))
    found = make(ATTENTION, way).run_entry("causal", [q, k, v])
    mask = torch.arange(keys) <= torch.arange(queries)[:, None] + keys - queries
    torch.testing.assert_close(found.double(), attend(q, k, v, mask), rtol=1e-5, atol=1e-5)
    if (queries, keys) == (5, 2):
        assert not found[:, :, :3].any()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("batch", [1, 2])
def test_a_query_that_sees_no_key_gives_zeros(way: str, batch: int) -> None:
    q, k, v = (torch.randn(batch, 3, n, 4) for n in (2, 5, 5))
    mask = torch.rand(batch, 2, 5) < 0.5
    mask[:, 0] = False
    mask[:, 1, 2] = True
    model = make(ATTENTION, way)
    found = model.run_entry("masked", [q, k, v, mask])
    assert not found[:, :, 0].any()
    wanted = attend(q, k, v, mask[:, None])
    torch.testing.assert_close(found.double(), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("way", WAYS)
def test_softmax_of_added_masks_is_what_arithmetic_gives(way: str) -> None:
    scores = torch.randn(2, 5)
    model = make(ATTENTION, way)
    least = torch.full((2, 5), torch.finfo(torch.float32).min)
    torch.testing.assert_close(model.run_entry("added", [scores, least]), torch.full((2, 5), 0.2))
    assert model.run_entry("added", [scores, torch.full((2, 5), -torch.inf)]).isnan().all()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("ratio", [1, 2, 3, 7, 8])
def test_each_key_head_serves_its_neighbours(way: str, ratio: int) -> None:
    heads = 2 * ratio
    q, k = torch.randn(1, heads, 3, 4), torch.randn(1, 2, 5, 4)
    v = torch.arange(2.0)[None, :, None, None].expand(1, 2, 5, 4)
    found = make(ATTENTION, way).run_entry("grouped", [q, k, v])
    wanted = torch.arange(2.0).repeat_interleave(ratio)[None, :, None, None].expand(1, heads, 3, 4)
    torch.testing.assert_close(found, wanted)


def test_heads_that_do_not_divide_are_refused_before_anything_runs() -> None:
    q, k = torch.randn(1, 5, 3, 4), torch.randn(1, 2, 5, 4)
    with pytest.raises(ValueError, match=r"H % G.*H = 5, G = 2|\(H % G\) == 0"):
        make(ATTENTION, "fast").run_entry("grouped", [q, k, k])


@pytest.mark.parametrize("way", WAYS)
def test_rotation_turns_halves_and_not_neighbours(way: str) -> None:
    x = torch.arange(8.0)
    found = make(ATTENTION, way).run_entry("turned", [x[None, None, None], 1]).flatten()
    angles = 10000.0 ** -(torch.arange(4, dtype=torch.float64) / 4)
    wide = x.double()

    def turn(one: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
        return (
            one * angles.cos() - other * angles.sin(),
            other * angles.cos() + one * angles.sin(),
        )

    halves = torch.cat(turn(wide[:4], wide[4:]))
    neighbours = torch.stack(turn(wide[::2], wide[1::2]), 1).flatten()
    torch.testing.assert_close(found.double(), halves, rtol=1e-6, atol=1e-6)
    assert float((found.double() - neighbours).abs().max()) > 1e-2


WINDOW = """module windowed
use std.nn.attention::{attention_rows}
use std.nn.cache::{write_rows, write_span}

/// A key is seen from its own token on, by four tokens: the window counts the current one.
pub block Windowed {
    state keys: Tensor[1, 1, 10, 10; f32]
    state values: Tensor[1, 1, 10, 10; f32]

    pub entry prefill<S: Dim>(
        q: Tensor[1, 1, S, 10; f32],
        k: Tensor[1, 1, S, 10; f32],
        v: Tensor[1, 1, S, 10; f32],
    ) -> Tensor[1, 1, S, 10; f32]
    where
        S > 0,
        S <= 10,
    {
        keys = write_span(keys, k, 0)
        values = write_span(values, v, 0)
        let first = fill<i64>([1], 0)
        let seen[b, i, j] = iota(S)[j] <= first[b] + iota(S)[i]
        let near[b, i, j] = iota(S)[j] > first[b] + iota(S)[i] - 4
        return attention_rows(q, k, v, 1.0, seen & near)
    }

    pub entry decode(
        q: Tensor[1, 1, 1, 10; f32],
        k: Tensor[1, 1, 1, 10; f32],
        v: Tensor[1, 1, 1, 10; f32],
        at: Tensor[1; i64],
    ) -> Tensor[1, 1, 1, 10; f32] {
        keys = write_rows(keys, k, at)
        values = write_rows(values, v, at)
        let seen[b, i, j] = iota(10)[j] <= at[b] + iota(1)[i]
        let near[b, i, j] = iota(10)[j] > at[b] + iota(1)[i] - 4
        return attention_rows(q, keys, values, 1.0, seen & near)
    }
}
"""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("length", [3, 4, 5, 8, 9, 10])
def test_a_window_shows_as_many_keys_at_once_as_token_by_token(way: str, length: int) -> None:
    model = make(WINDOW, way)
    # A value that is a row of the identity shows in the result which keys a query saw.
    q, k = torch.randn(1, 1, length, 10), torch.randn(1, 1, length, 10)
    v = torch.eye(10)[None, None, :length]
    at_once = model.run_entry("prefill", [q, k, v])
    seen = (at_once[0, 0] > 0).sum(-1).tolist()
    assert seen == [min(n + 1, 4) for n in range(length)]
    for split in (0, length // 2):
        model.reset_state()
        made: list[Any] = []
        if split:
            given = [part[:, :, :split] for part in (q, k, v)]
            made.append(model.run_entry("prefill", given))
        for n in range(split, length):
            given = [part[:, :, n : n + 1] for part in (q, k, v)]
            made.append(model.run_entry("decode", [*given, torch.tensor([n])]))
        torch.testing.assert_close(torch.cat(made, 2), at_once, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(5, 7), (2, 5, 7)])
def test_keys_that_no_query_sees_are_not_looked_at(shape: tuple[int, ...]) -> None:
    q, k, v = (torch.randn(2, 3, n, 4) for n in (5, 7, 7))
    mask = torch.rand(shape) < 0.6
    mask[..., 4:] = False
    k[:, :, 4:] = v[:, :, 4:] = torch.nan
    for last in (4, 3, 1, 0):
        mask[..., last:] = False  # what was found for the mask before counts no more
        found = masked_attention(q, k, v, mask, scale=0.5)
        seen = mask if mask.dim() == 2 else mask[:, None]
        wanted = attend(q, k.nan_to_num(), v.nan_to_num(), seen)
        torch.testing.assert_close(found.double(), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("queries", [1, 2])
def test_a_mask_that_hides_nothing_but_the_end_of_a_cache_is_no_mask(
    queries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    masks: list[Any] = []
    attention = functional.scaled_dot_product_attention

    def noted(*args: Any, **options: Any) -> torch.Tensor:
        masks.append(options["attn_mask"])
        return attention(*args, **options)

    monkeypatch.setattr(functional, "scaled_dot_product_attention", noted)
    q, k, v = (torch.randn(2, 3, n, 4) for n in (queries, 7, 7))
    mask = torch.arange(7).expand(queries, 7) < 5
    hidden = mask.clone()
    hidden[0, 2] = False
    for seen in (mask, hidden):
        found = masked_attention(q, k, v, seen, scale=0.5)
        torch.testing.assert_close(found.double(), attend(q, k, v, seen), rtol=1e-5, atol=1e-5)
    assert masks[0] is None
    assert masks[1].tolist() == hidden[:, :5].tolist()


@pytest.mark.parametrize("biased", [True, False])
def test_a_product_of_one_row_in_bf16_does_without_onednn(
    biased: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The switch is of the process: it is back after each product, also one that fails, and is not
    touched where another thread could see it.
    """
    switch: Any = torch.backends.mkldnn
    states: list[bool] = []
    product = functional.linear

    def noted(*args: Any) -> torch.Tensor:
        states.append(bool(switch.enabled))
        return product(*args)

    monkeypatch.setattr(functional, "linear", noted)
    x, weight = torch.randn(1, 1, 96).bfloat16(), torch.randn(80, 96).bfloat16()
    bias = torch.randn(80).bfloat16() if biased else None
    wanted = x.double() @ weight.double().T + (0 if bias is None else bias.double())
    before = switch.enabled
    try:
        for threads, enabled in ((1, True), (2, True), (1, False)):
            monkeypatch.setattr(threading, "active_count", lambda threads=threads: threads)
            switch.enabled = enabled
            found = row_linear(x, weight, bias)
            torch.testing.assert_close(found.double(), wanted, rtol=2**-8, atol=1e-2)
            with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
                row_linear(x[..., 1:], weight, bias)
            assert switch.enabled is enabled
    finally:
        switch.enabled = before
    assert states == [False] * 2 + [True] * 2 + [False] * 2


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(("rows", "width"), [(12, 5), (7, 5), (0, 5), (6, 1)])
def test_a_product_of_one_row_is_the_product(threads: int, rows: int, width: int) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        wide = torch.randn(rows, width, 2)
        for weight in (wide[..., 0].contiguous(), wide[..., 0]):
            for x in (torch.randn(width), torch.randn(1, 1, width)):
                found = row_linear(x, weight)
                wanted = x.double() @ weight.double().T
                assert found.shape == wanted.shape
                torch.testing.assert_close(found.double(), wanted, rtol=1e-5, atol=1e-5)
    finally:
        torch.set_num_threads(before)
