"""Attention to packed sequences and to a cache, dense and in pages."""

import itertools
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from attention import (  # type: ignore[import-not-found]  # noqa: E402  # tests/support
    DTYPES,
    SIZES,
    assert_close,
    guarded,
    one,
    pages_of,
    poisoned,
    sizes_without,
    starts,
)
from this_build import (  # type: ignore[import-not-found]  # noqa: E402  # tests/support
    operator,
)

varlen = operator("flash_attn_varlen_func")
with_cache = operator("flash_attn_with_kvcache")

WINDOWS = [(-1, -1), (-1, 0), (3, 0), (2, 5), (0, 0)]


@pytest.mark.smoke
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_packed_sequences_attend_to_their_own_keys(dtype: Any, window: Any, seed: int) -> None:
    torch.manual_seed(seed)
    cases = [
        ([0, 1, 0, 1], [0, 3, 0, 5]),
        ([2, 5, 5, 1], [5, 5, 2, 7]),
        ([3, 0, 40], [0, 4, 130]),
        ([0, 0], [0, 0]),
        ([70], [700]),
        ([1, 1, 1], [600, 1, 64]),
    ]
    for (queries, keys), (heads, key_heads, size, value_size) in itertools.product(
        cases, [(9, 3, 16, 16), (2, 2, 33, 20)]
    ):
        q = torch.randn(sum(queries), heads, size).to(dtype)
        k = torch.randn(sum(keys), key_heads, size).to(dtype)
        v = torch.randn(sum(keys), key_heads, value_size).to(dtype)
        out = poisoned((sum(queries), heads, value_size), dtype)
        returned = varlen(
            q, k, v, starts(queries), starts(keys),
            max_seqlen_q=max(queries), max_seqlen_k=max(keys),
            window_left=window[0], window_right=window[1], out=out,
        )  # fmt: skip
        assert returned is out
        expected = [
            one(*parts, *window)
            for parts in zip(q.split(queries), k.split(keys), v.split(keys), strict=True)
        ]
        assert_close(out, torch.cat(expected), (queries, keys, heads, window))
        if window[1] == 0:
            causal = varlen(
                q, k, v, starts(queries), starts(keys), causal=True, window_left=window[0]
            )
            assert torch.equal(causal, out)


@pytest.mark.parametrize("size", [1, 16, 17, 64, 128, 256, 768])
@pytest.mark.parametrize("queries", [1, 30])
def test_page_sizes_do_not_change_the_bits(size: int, queries: int, seed: int) -> None:
    torch.manual_seed(seed)
    lengths = [300, 1, 64, 0, 257]
    rows = [torch.randn(5, 300, 2, 32) for _ in range(2)]
    q = torch.randn(5, queries, 6, 32)
    lens = torch.tensor(lengths, dtype=torch.int32)
    dense = [poisoned((5, 300, 2, 32), torch.float32) for _ in rows]
    for b, length in enumerate(lengths):
        for cache, row in zip(dense, rows, strict=True):
            cache[b, :length] = row[b, :length]
    expected = with_cache(q, *dense, cache_seqlens=lens, causal=True)
    for b, length in enumerate(lengths):
        own = one(q[b], rows[0][b, :length], rows[1][b, :length], right=0)
        assert_close(expected[b], own, (b, length))
    torch.manual_seed(seed)
    k_pages, table = pages_of(rows[0], lengths, size)
    torch.manual_seed(seed)
    # The same permutation of pages: `rows` are not drawn again.
    v_pages, same = pages_of(rows[1], lengths, size)
    assert torch.equal(table, same)
    paged = with_cache(q, k_pages, v_pages, cache_seqlens=lens, block_table=table, causal=True)
    assert torch.equal(paged, expected)
    packed = varlen(
        q.flatten(0, 1),
        k_pages,
        v_pages,
        starts([queries] * 5),
        starts(lengths),
        table,
        causal=True,
    )
    assert torch.equal(packed.view_as(q), expected)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("queries", [1, 4, 50])
def test_a_sequence_does_not_depend_on_its_batch(dtype: Any, queries: int, seed: int) -> None:
    """Dense, in pages and packed: alone, and first, in the middle and last of several."""
    torch.manual_seed(seed)
    room = 300
    q = torch.randn(64, queries, 4, 64).to(dtype)
    caches = [torch.randn(64, room, 2, 64).to(dtype) for _ in range(2)]
    pages = [cache.view(-1, 20, 2, 64) for cache in caches]
    lengths = [int(length) for length in torch.randint(queries, room + 1, (64,))]
    lens = torch.tensor(lengths)
    table = torch.arange(64 * room // 20, dtype=torch.int32).view(64, -1)

    def dense(rows: slice) -> Any:
        given = {"cache_seqlens": lens[rows], "causal": True}
        return with_cache(q[rows], *(cache[rows] for cache in caches), **given)

    def paged(rows: slice) -> Any:
        given = {"cache_seqlens": lens[rows], "block_table": table[rows], "causal": True}
        return with_cache(q[rows], *pages, **given)

    def packed(rows: slice) -> Any:
        chosen = range(64)[rows]
        parts = [torch.cat([cache[b, : lengths[b]] for b in chosen]) for cache in caches]
        cu = [starts([queries] * len(chosen)), starts([lengths[b] for b in chosen])]
        return varlen(q[rows].flatten(0, 1), *parts, *cu, causal=True).view_as(q[rows])

    for way in (dense, paged, packed):
        for batch in (2, 16, 17, 64):
            together = way(slice(0, batch))
            assert torch.equal(way(slice(0, batch)), together)
            for b in (0, batch // 2, batch - 1):
                assert torch.equal(together[b], way(slice(b, b + 1))[0]), (way.__name__, batch, b)


@pytest.mark.smoke
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("added", [1, 4])
@pytest.mark.parametrize("paged", [False, True])
def test_new_keys_are_appended_first(dtype: Any, added: int, paged: bool, seed: int) -> None:
    torch.manual_seed(seed)
    lengths = [0, 5, 11, 12 - added]
    rows = [torch.randn(4, 12, 2, 8).to(dtype) for _ in range(2)]
    q = torch.randn(4, added, 4, 8).to(dtype)
    lens = torch.tensor(lengths)
    new = [torch.randn(4, added, 2, 8).to(dtype) for _ in range(2)]
    lens[2] = 12 - added
    given: dict[str, Any] = {"cache_seqlens": lens}
    if paged:
        # Enough pages for what is appended.
        torch.manual_seed(seed)
        k_cache, table = pages_of(rows[0], [12] * 4, 5)
        torch.manual_seed(seed)
        v_cache, _ = pages_of(rows[1], [12] * 4, 5)
        given["block_table"] = table
    else:
        order = torch.tensor([3, 5, 0, 1])
        k_cache, v_cache = (poisoned((6, 12, 2, 8), dtype) for _ in range(2))
        for cache, row in zip((k_cache, v_cache), rows, strict=True):
            for b in range(4):
                cache[order[b], : lens[b]] = row[b, : lens[b]]
        given["cache_batch_idx"] = order
    out = poisoned(q.shape, dtype)
    with_cache(q, k_cache, v_cache, *new, **given, causal=True, out=out)
    for b in range(4):
        length = int(lens[b])
        whole = [torch.cat([row[b, :length], more[b]]) for row, more in zip(rows, new, strict=True)]
        assert_close(out[b], one(q[b], *whole, right=0), (b, length))
        for cache, content in zip((k_cache, v_cache), whole, strict=True):
            stored = (
                cache[given["block_table"][b].long()].flatten(0, 1) if paged else cache[order[b]]
            )
            assert torch.equal(stored[: length + added], content)
            if not paged:
                assert stored[length + added :].isnan().all()
    if not paged:
        assert k_cache[[2, 4]].isnan().all()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_tokens_one_by_one_in_parts_and_at_once_agree(dtype: Any, seed: int) -> None:
    torch.manual_seed(seed)
    total, window = 10, 4
    q, k, v = (torch.randn(1, total, heads, 8).to(dtype) for heads in (4, 2, 2))
    for left in (-1, window - 1):
        expected = one(q[0], k[0], v[0], left=left, right=0)
        for parts in ([total], [1] * total, [3, 1, 4, 2]):
            caches = [poisoned((1, total, 2, 8), dtype) for _ in range(2)]
            done, results = 0, []
            for part in parts:
                span = slice(done, done + part)
                results.append(
                    with_cache(
                        q[:, span],
                        *caches,
                        k[:, span],
                        v[:, span],
                        torch.tensor([done]),
                        causal=True,
                        window_left=left,
                    )
                )
                done += part
            assert_close(torch.cat(results, 1)[0], expected, (left, parts))


@pytest.mark.parametrize("length", [3, 4, 5, 8, 9])
def test_a_window_counts_the_keys_before_a_query(length: int) -> None:
    """`window_left` 3 sees four keys: the query's own and three before it."""
    keys = torch.zeros(1, 10, 1, 4)
    values = torch.eye(10).reshape(1, 10, 1, 10)
    q = torch.zeros(1, length, 1, 4)
    lens = torch.tensor([length])
    seen = with_cache(q, keys, values, cache_seqlens=lens, causal=True, window_left=3)
    counts = [min(i + 1, 4) for i in range(length)]
    assert (seen[0, :, 0] != 0).sum(-1).tolist() == counts
    last = with_cache(q[:, :1], keys, values, cache_seqlens=lens, causal=True, window_left=3)
    assert torch.equal(last[0, 0], seen[0, -1])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("queries", [1, 50])
@pytest.mark.parametrize("size", [8, 33, 128])
def test_nothing_is_read_beyond_the_last_key(dtype: Any, queries: int, size: int) -> None:
    for keys in (1, 65, 700):
        q = torch.randn(1, queries, 2, size).to(dtype)
        k, v = (guarded(torch.randn(1, keys, 2, size).to(dtype)) for _ in range(2))
        assert_close(with_cache(q, k, v)[0], one(q[0], k[0], v[0]), keys)


def test_pages_that_two_sequences_share_are_read_by_both() -> None:
    pages = [torch.randn(3, 4, 1, 8) for _ in range(2)]
    table = torch.tensor([[0, 2], [0, 1]], dtype=torch.int32)
    lens = torch.tensor([6, 8])
    q = torch.randn(1, 1, 2, 8).expand(2, -1, -1, -1)
    actual = with_cache(q, *pages, cache_seqlens=lens, block_table=table)
    for b in range(2):
        keys, values = (cache[table[b].long()].flatten(0, 1)[: lens[b]] for cache in pages)
        assert_close(actual[b], one(q[b], keys, values))


@pytest.mark.parametrize("empty", [*SIZES, "room", "keys", "nothing"])
def test_each_size_of_a_cache_may_be_zero(empty: str) -> None:
    batch, queries, heads, key_heads, size, value_size = sizes_without(empty)
    q = torch.randn(batch, queries, heads, size)
    room = 0 if empty == "room" else 5
    keys = torch.randn(2, room, key_heads, size)
    values = torch.randn(2, room, key_heads, value_size)
    lens = torch.full((batch,), 0 if empty in ("room", "keys") else 4)
    out = poisoned((batch, queries, heads, value_size), torch.float32)
    with_cache(q, keys, values, cache_seqlens=lens, out=out)
    for b in range(batch):
        assert_close(out[b], one(q[b], keys[b, : lens[b]], values[b, : lens[b]]), empty)


@pytest.mark.parametrize("empty", [*SIZES, "keys", "nothing"])
@pytest.mark.parametrize("paged", [False, True])
def test_each_size_of_packed_sequences_may_be_zero(empty: str, paged: bool) -> None:
    batch, queries, heads, key_heads, size, value_size = sizes_without(empty)
    count = 0 if empty == "keys" else 4
    q = torch.randn(batch * queries, heads, size)
    k = torch.randn(batch, 4, key_heads, size)
    v = torch.randn(batch, 4, key_heads, value_size)
    cu = starts([queries] * batch), starts([count] * batch)
    out = poisoned((batch * queries, heads, value_size), torch.float32)
    if paged:
        varlen(q, k, v, *cu, torch.arange(batch, dtype=torch.int32)[:, None], out=out)
    else:
        varlen(q, k[:, :count].flatten(0, 1), v[:, :count].flatten(0, 1), *cu, out=out)
    for b in range(batch):
        part = slice(b * queries, (b + 1) * queries)
        assert_close(out[part], one(q[part], k[b, :count], v[b, :count]), empty)


def test_keys_are_appended_where_there_are_no_queries() -> None:
    caches = [torch.zeros(2, 8, 1, 4) for _ in range(2)]
    new = torch.ones(2, 1, 1, 4)
    with_cache(torch.ones(2, 0, 1, 4), *caches, new, new, torch.tensor([0, 7]))
    assert caches[0][0, 0].eq(1).all()
    assert caches[1][1, 7].eq(1).all()
    assert caches[0].sum() == 8


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("heads", [1, 3, 8, 11])
def test_heads_that_lie_side_by_side_give_the_bits_of_heads_apart(
    heads: int, dtype: Any, seed: int, by_threads: Any
) -> None:
    """A cache keeps the heads of a token together, and they are streamed together."""
    torch.manual_seed(seed)
    k, v = (torch.randn(2, 1100, heads, 40).to(dtype) for _ in range(2))
    q = torch.randn(2, 1, 2 * heads, 40).to(dtype)
    lens = torch.tensor([1100, 37])
    together = by_threads(lambda: with_cache(q, k, v, cache_seqlens=lens, causal=True))
    apart_k, apart_v = (t.transpose(1, 2).contiguous().transpose(1, 2) for t in (k, v))
    apart = with_cache(q, apart_k, apart_v, cache_seqlens=lens, causal=True)
    alone = torch.cat(
        [
            with_cache(
                q[:, :, 2 * h : 2 * h + 2], k[:, :, h : h + 1], v[:, :, h : h + 1],
                cache_seqlens=lens, causal=True,
            )
            for h in range(heads)
        ],
        2,
    )  # fmt: skip
    for found in (*together, apart):
        assert torch.equal(found, alone)
