"""Caches: positions past their end are errors, and generated source writes them in place."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from linnet.torch import LinnetModule, load

MODES: list[Any] = [False, None]
SOURCE = """module m

use std.nn.cache::{write_at, write_rows, write_slot, write_span, write_tokens}

pub block Cache<B: Dim, S: Dim, T: Float = f32>
where
    B > 0,
    S > 0,
{
    state kept: Tensor[B, 2, S, 3; T]

    pub entry rows(v: Tensor[B, 2, 1, 3; T], at: Tensor[B; i64]) -> Tensor[B, 2, 3; T] {
        kept = write_rows(kept, v, at)
        let total[b, h, d] = sum[s] kept[b, h, s, d]
        return total
    }

    pub entry narrow(v: Tensor[B, 2, 1, 3; T], at: Tensor[B; i32]) {
        kept = write_rows(kept, v, at)
    }

    pub entry one(v: Tensor[B, 2, 1, 3; T], at: i64) {
        kept = write_at(kept, v, at)
    }

    pub entry span<N: Dim>(v: Tensor[B, 2, N, 3; T], at: i64)
    where N > 0 {
        kept = write_span(kept, v, at)
    }

    pub entry start<N: Dim>(v: Tensor[B, 2, N, 3; T])
    where N > 0 {
        kept = write_span(kept, v, 0)
    }

    pub entry slot(v: Tensor[1, 2, S, 3; T], at: i64) {
        kept = write_slot(kept, v, at)
    }

    pub entry tokens<M: Dim>(v: Tensor[M, 2, 3; T], rows: Tensor[M; i64], at: Tensor[M; i64])
    where M > 0 {
        kept = write_tokens(kept, v, rows, at)
    }

    pub entry whole(v: Tensor[B, 2, 1, 3; T], at: Tensor[B; i64]) -> Tensor[B, 2, S, 3; T] {
        kept = write_rows(kept, v, at)
        return kept
    }

    pub entry before(v: Tensor[B, 2, 1, 3; T], at: Tensor[B; i64]) -> Tensor[B, 2, S, 3; T] {
        let old = kept + 1.0
        kept = write_rows(kept, v, at)
        return old
    }

    /// What comes after the write may fail.
    pub entry picked(v: Tensor[B, 2, 1, 3; T], at: Tensor[B; i64], row: i64) -> Tensor[2, S, 3; T] {
        kept = write_rows(kept, v, at)
        return kept[row]
    }

    pub entry computed(v: Tensor[B, 2, 1, 3; T], at: Tensor[B; i64]) {
        kept = write_rows(kept, v, at + 1)
    }

    pub entry looped(v: Tensor[B, 2, 1, 3; T], at: Tensor[B; i64]) {
        var now = kept
        for i in 0..2 {
            now = write_rows(now, v, at + i)
        }
        kept = now
    }
}
"""


def model(batch: int = 2, size: int = 8, **options: Any) -> LinnetModule:
    found = load(SOURCE, generics={"B": batch, "S": size}, **options)
    found.tensor("kept").copy_(torch.randn(batch, 2, size, 3))
    return found


def inputs_of(entry: str, batch: int, size: int) -> tuple[list[Any], Any]:
    """Inputs of an entry, and what the cache holds afterwards."""
    at = torch.randint(0, size - 1, (batch,))
    v = torch.randn(batch, 2, 1, 3)
    rows = torch.arange(batch)

    def each(cache: Tensor, places: Tensor = at) -> None:
        cache[rows, :, places] = v[:, :, 0]

    def looped(cache: Tensor) -> None:
        each(cache)
        each(cache, at + 1)

    wide = torch.randn(batch, 2, 3, 3)
    slot = torch.randn(1, 2, size, 3)

    def span(cache: Tensor, start: int) -> None:
        cache[:, :, start : start + 3] = wide

    def placed(cache: Tensor) -> None:
        cache[batch - 1] = slot[0]

    def token(cache: Tensor) -> None:
        cache[batch - 1, :, 4] = v[0, :, 0]

    where = torch.tensor([batch - 1])
    given: dict[str, tuple[list[Any], Any]] = {
        "rows": ([v, at], each),
        "narrow": ([v, at.to(torch.int32)], each),
        "one": ([v, 5], lambda cache: each(cache, torch.full((batch,), 5))),
        "span": ([wide, 2], lambda cache: span(cache, 2)),
        "start": ([wide], lambda cache: span(cache, 0)),
        "slot": ([slot, batch - 1], placed),
        "tokens": ([v[:1, :, 0], where, torch.tensor([4])], token),
        "whole": ([v, at], each),
        "before": ([v, at], each),
        "picked": ([v, at, 0], each),
        "computed": ([v, at], lambda cache: each(cache, at + 1)),
        "looped": ([v, at], looped),
    }
    return given[entry]


ENTRIES = (
    *("rows", "narrow", "one", "span", "start", "slot", "tokens"),
    *("whole", "before", "picked", "computed", "looped"),
)
IN_PLACE = frozenset(("rows", "narrow", "one", "span", "start", "slot", "whole", "computed"))


@pytest.mark.parametrize("mode", MODES, ids=["interpreted", "generated"])
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("entry", ENTRIES)
def test_the_cache_holds_what_was_written(entry: str, batch: int, mode: Any) -> None:
    cache = model(batch)
    state = cache.tensor("kept")
    given, write = inputs_of(entry, batch, 8)
    old = state.clone()
    wanted = old.clone()
    write(wanted)
    result = cache.run_entry(entry, given, compile=mode)
    assert torch.equal(state, wanted)
    if entry == "rows":
        torch.testing.assert_close(result, wanted.sum(2))
    elif entry == "before":
        torch.testing.assert_close(result, old + 1)
    elif entry in ("whole", "picked"):
        torch.testing.assert_close(result, wanted if entry == "whole" else wanted[0])
        result.zero_()  # the result is the caller's own
        assert torch.equal(state, wanted)


@pytest.mark.parametrize("entry", ENTRIES)
def test_source_writes_in_place_where_nothing_later_needs_the_old_content(entry: str) -> None:
    cache = model()
    given, _ = inputs_of(entry, 2, 8)
    text = cache.generated_source(entry, given)
    listed = text.split("STATES_WRITTEN_IN_PLACE = ")[1].split("\n", 1)[0]
    assert (listed != "[]") == (entry in IN_PLACE), text


def test_in_training_nothing_is_written_in_place() -> None:
    cache = model(trainable=True)
    given, _ = inputs_of("rows", 2, 8)
    assert "STATES_WRITTEN_IN_PLACE = []" in cache.generated_source("rows", given)


V = torch.ones(2, 2, 1, 3)
WRONG = [
    ("rows", [V, torch.tensor([3, 8])], "at: position 8 is outside the cache, which can be"),
    ("rows", [V, torch.tensor([-1, 0])], "at: position -1 is outside the cache"),
    ("rows", [V, torch.tensor([2**32, 0])], "at: position 4294967296 is outside the cache"),
    ("narrow", [V, torch.tensor([0, 8], dtype=torch.int32)], "written at 0 to 7"),
    ("one", [V, 8], "at: position 8 is outside"),
    (
        "span",
        [V.expand(2, 2, 4, 3), 5],
        "at: position 5 is outside the cache, which can be written",
    ),
    ("span", [V.expand(2, 2, 4, 3), -1], "written at 0 to 4"),
    ("start", [V.expand(2, 2, 9, 3)], "position 0 is outside the cache"),
    ("slot", [torch.ones(1, 2, 8, 3), 2], "at: position 2 is outside the cache"),
    ("tokens", [V[:1, :, 0], torch.tensor([2]), torch.tensor([0])], "rows: position 2 is outside"),
    ("tokens", [V[:1, :, 0], torch.tensor([0]), torch.tensor([9])], "at: position 9 is outside"),
    ("computed", [V, torch.tensor([0, 7])], "position 8 is outside the cache"),
    ("looped", [V, torch.tensor([0, 7])], "position 8 is outside the cache"),
    ("picked", [V, torch.tensor([0, 1]), 2], "position 2 is outside axis 0"),
]


@pytest.mark.parametrize("mode", MODES, ids=["interpreted", "generated"])
@pytest.mark.parametrize(("entry", "given", "message"), WRONG)
def test_positions_outside_are_errors_and_leave_the_cache(
    entry: str, given: list[Any], message: str, mode: Any
) -> None:
    cache = model()
    before = cache.tensor("kept").clone()
    with pytest.raises(IndexError) as caught:
        cache.run_entry(entry, given, compile=mode)
    assert message in str(caught.value)
    assert torch.equal(cache.tensor("kept"), before)


# PyTorch's own imports warn.
@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")
def test_compiled_source_refuses_them_too() -> None:
    cache = model()
    cache.run_entry("rows", [V, torch.tensor([3, 7])], compile="inductor")
    before = cache.tensor("kept").clone()
    for wrong in (8, -1, 2**32):
        with pytest.raises(IndexError, match=f"at: position {wrong} is outside the cache"):
            cache.run_entry("rows", [V, torch.tensor([3, wrong])], compile="inductor")
    assert torch.equal(cache.tensor("kept"), before)


def test_a_plan_and_a_captured_step_refuse_them_too() -> None:
    from linnet.torch.planned import Captured

    cache = model()
    good = [V, torch.tensor([3, 7])]
    plan = cache.plan_for("rows", good, backends=[], measure=False)
    step = Captured(plan, cache.context_for(plan))
    for _ in range(3):
        step(good)
    before = cache.tensor("kept").clone()
    for wrong in (8, -1):
        given = [V, torch.tensor([3, wrong])]
        with pytest.raises(IndexError, match=rf"at`?: .*{wrong}"):
            plan.run(given, cache.context_for(plan))
        with pytest.raises(IndexError, match=rf"at`?: .*{wrong}"):
            step(given)
    assert torch.equal(cache.tensor("kept"), before)
