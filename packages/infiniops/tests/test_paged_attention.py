"""Attention to pages in vLLM's layout."""

from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from attention import (  # type: ignore[import-not-found]  # noqa: E402  # tests/support
    DTYPES,
    SIZES,
    assert_close,
    one,
    pages_of,
    poisoned,
    sizes_without,
    untouched,
    vllm_cache,
)
from this_build import (  # type: ignore[import-not-found]  # noqa: E402  # tests/support
    operator,
)

paged = operator("paged_attention")
with_cache = operator("flash_attn_with_kvcache")


@pytest.mark.smoke
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", [1, 16, 48])
def test_pages_in_the_split_layout_give_the_same(dtype: Any, size: int, seed: int) -> None:
    torch.manual_seed(seed)
    lengths = [0, 5, 48, 301, 600]
    rows = [torch.randn(5, 600, 2, width).to(dtype) for width in (32, 40)]
    k_pages, table = pages_of(rows[0], lengths, size)
    v_pages = poisoned((*k_pages.shape[:3], 40), dtype)
    for b, length in enumerate(lengths):
        for token in range(length):
            v_pages[table[b, token // size], token % size] = rows[1][b, token]
    q = torch.randn(5, 6, 32).to(dtype)
    lens = torch.tensor(lengths, dtype=torch.int32)
    keys = vllm_cache(k_pages, size, 8)
    values = v_pages.permute(0, 2, 3, 1).contiguous()
    out = poisoned((5, 6, 40), dtype)
    assert paged(q, keys, values, table, lens, out=out) is out
    same = with_cache(q[:, None], k_pages, v_pages, cache_seqlens=lens, block_table=table)
    assert torch.equal(out, same[:, 0])
    for b, length in enumerate(lengths):
        own = one(q[b : b + 1], rows[0][b, :length], rows[1][b, :length])
        assert_close(out[b : b + 1], own, length)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_query_of_pages_in_the_split_layout_does_not_depend_on_its_batch(
    dtype: Any, seed: int
) -> None:
    torch.manual_seed(seed)
    q = torch.randn(64, 4, 64).to(dtype)
    rows = [torch.randn(64 * 15, 20, 2, 64).to(dtype) for _ in range(2)]
    keys, values = vllm_cache(rows[0], 20, 8), rows[1].permute(0, 2, 3, 1).contiguous()
    table = torch.arange(64 * 15, dtype=torch.int32).view(64, 15)
    lens = torch.randint(1, 301, (64,))

    def run(some: slice) -> Any:
        return paged(q[some], keys, values, table[some], lens[some])

    for batch in (2, 16, 17, 64):
        together = run(slice(0, batch))
        assert torch.equal(run(slice(0, batch)), together)
        for b in (0, batch // 2, batch - 1):
            assert torch.equal(together[b], run(slice(b, b + 1))[0]), (batch, b)


@pytest.mark.parametrize("index", [torch.int32, torch.int64], ids=str)
def test_a_length_beyond_the_table_is_refused(index: Any) -> None:
    keys, values = torch.ones(3, 1, 2, 4, 4), torch.ones(3, 1, 8, 4)
    table = torch.tensor([[0, 1]], dtype=torch.int32)
    q, out = torch.ones(1, 2, 8), torch.zeros(1, 2, 8)
    for length, message in (
        (9, "`seq_lens` is 9 at element 0; expected 0 to 8"),
        (-1, "`seq_lens` is -1 at element 0; expected 0 to 8"),
        (2**31 - 1, f"`seq_lens` is {2**31 - 1} at element 0; expected 0 to 8"),
    ):
        lens = torch.tensor([length], dtype=index)
        untouched(
            lambda lens=lens: paged(q, keys, values, table, lens, out=out),
            [out],
            message,
        )
    with pytest.raises(ValueError, match="keys of 2 times 4 elements, but queries have 6"):
        paged(torch.ones(1, 2, 6), keys, values, table, torch.tensor([1]))


def test_pages_without_room_are_refused() -> None:
    keys, values = torch.ones(4, 2, 2, 0, 4), torch.ones(4, 2, 8, 0)
    q, out = torch.ones(1, 2, 8), torch.zeros(1, 2, 8)
    message = "a page of the cache has room for 0 keys; expected 1 or more"
    for length in (0, 1):
        given = torch.tensor([[0]], dtype=torch.int32), torch.tensor([length])
        untouched(lambda given=given: paged(q, keys, values, *given, out=out), [out], message)


@pytest.mark.parametrize("empty", [*SIZES, "keys", "table", "nothing"])
def test_each_size_of_pages_in_the_split_layout_may_be_zero(empty: str) -> None:
    batch, _, heads, key_heads, size, value_size = sizes_without(empty)
    q = torch.randn(batch, heads, size)
    k = torch.randn(batch, 4, key_heads, size)
    v = torch.randn(batch, 4, key_heads, value_size)
    count = 0 if empty in ("keys", "table") else 3
    keys = k.view(batch, 4, key_heads, size // 4, 4).permute(0, 2, 3, 1, 4).contiguous()
    values = v.permute(0, 2, 3, 1).contiguous()
    table = torch.arange(batch, dtype=torch.int32)[:, None]
    table = table[:, :0] if empty == "table" else table
    out = poisoned((batch, heads, value_size), torch.float32)
    lens = torch.full((batch,), count)
    paged(q, keys, values, table, lens, out=out)
    for b in range(batch):
        own = one(q[b : b + 1], k[b, :count], v[b, :count])
        assert_close(out[b : b + 1], own, empty)
