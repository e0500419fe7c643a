import itertools
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from attention import (  # type: ignore[import-not-found]  # noqa: E402  # tests/support
    DTYPES,
    assert_close,
    attention,
    guarded,
    poisoned,
)
from this_build import (  # type: ignore[import-not-found]  # noqa: E402  # tests/support
    operator,
)

import infini.ops  # noqa: E402  # after the skip above

varlen = operator("flash_attn_varlen_func")
with_cache = operator("flash_attn_with_kvcache")

WINDOWS = [(-1, -1), (-1, 0), (3, 0), (2, 5), (0, 0)]


def starts(lengths: Any) -> Any:
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


def vllm_cache(rows: Any, size: int, split: int) -> Any:
    """Keys `[Pages, P, H, D]` as `[Pages, H, D / X, P, X]`."""
    pages, _, heads, width = rows.shape
    return (
        rows.reshape(pages, size, heads, width // split, split).permute(0, 2, 3, 1, 4).contiguous()
    )


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
    assert infini.ops.paged_attention(q, keys, values, table, lens, out=out) is out
    same = with_cache(q[:, None], k_pages, v_pages, cache_seqlens=lens, block_table=table)
    assert torch.equal(out, same[:, 0])
    for b, length in enumerate(lengths):
        own = one(q[b : b + 1], rows[0][b, :length], rows[1][b, :length])
        assert_close(out[b : b + 1], own, length)


def test_pages_that_two_sequences_share_are_read_by_both() -> None:
    pages = [torch.randn(3, 4, 1, 8) for _ in range(2)]
    table = torch.tensor([[0, 2], [0, 1]], dtype=torch.int32)
    lens = torch.tensor([6, 8])
    q = torch.randn(1, 1, 2, 8).expand(2, -1, -1, -1)
    actual = with_cache(q, *pages, cache_seqlens=lens, block_table=table)
    for b in range(2):
        keys, values = (cache[table[b].long()].flatten(0, 1)[: lens[b]] for cache in pages)
        assert_close(actual[b], one(q[b], keys, values))


def untouched(call: Any, tensors: Any, message: str) -> None:
    """`call` fails with `message` and leaves `tensors` as they are."""
    before = [tensor.clone() for tensor in tensors]
    with pytest.raises(ValueError) as error:
        call()
    assert message in str(error.value)
    for tensor, copy in zip(tensors, before, strict=True):
        assert torch.equal(tensor, copy)


@pytest.mark.parametrize(
    ("cu_q", "cu_k", "message"),
    [
        ([1, 3, 5], [0, 4, 8], "`cu_seqlens_q`[0] is 1; expected 0"),
        ([0, 3, 4], [0, 4, 8], "`cu_seqlens_q`[2] is 4; expected the number of rows, 5"),
        ([0, 3, 5], [0, 9, 8], "`cu_seqlens_k`[2] is 8, less than the entry before it, 9"),
        ([0, 3, 5], [0, 4, 9], "`cu_seqlens_k`[2] is 9; expected the number of rows, 8"),
        ([0, 3, 5], [-1, 4, 8], "`cu_seqlens_k`[0] is -1; expected 0"),
        ([0, 3, 5], [0, 4, 2**31 - 1], "expected the number of rows, 8"),
        ([0, 4, 5], [0, 4, 8], "sequence 0 of `cu_seqlens_q` has length 4, more than"),
        ([0, 3], [0, 4, 8], "`cu_seqlens_k` has shape [3]; expected [2]"),
        ([], [], "`cu_seqlens_q` is empty"),
    ],
)
def test_starts_that_do_not_fit_are_named(cu_q: Any, cu_k: Any, message: str) -> None:
    q, k, v = torch.ones(5, 2, 8), torch.ones(8, 2, 8), torch.ones(8, 2, 8)
    out = torch.zeros(5, 2, 8)
    cu = [torch.tensor(cu, dtype=torch.int32) for cu in (cu_q, cu_k)]
    untouched(lambda: varlen(q, k, v, *cu, max_seqlen_q=3, out=out), [out], message)


def test_bad_arguments_of_packed_sequences_are_named() -> None:
    q, k = torch.ones(5, 4, 8), torch.ones(8, 2, 8)
    cu_q, cu_k = starts([3, 2]), starts([4, 4])
    with pytest.raises(TypeError, match="`cu_seqlens_q` has dtype int64"):
        varlen(q, k, k, cu_q.long(), cu_k)
    with pytest.raises(ValueError, match="5 query heads cannot share 2 key heads evenly"):
        varlen(torch.ones(5, 5, 8), k, k, cu_q, cu_k)
    with pytest.raises(ValueError, match=r"expected \[any, any, 8\] without a `block_table`"):
        varlen(q, torch.ones(2, 4, 2, 8), torch.ones(2, 4, 2, 8), cu_q, cu_k)
    with pytest.raises(ValueError, match=r"expected \[any, any, any, 8\] with a `block_table`"):
        varlen(q, k, k, cu_q, cu_k, torch.zeros(2, 1, dtype=torch.int32))
    with pytest.raises(ValueError, match="expected 2 rows, one for each sequence"):
        varlen(
            q, torch.ones(2, 4, 2, 8), torch.ones(2, 4, 2, 8), cu_q, cu_k,
            torch.zeros(3, 1, dtype=torch.int32),
        )  # fmt: skip
    with pytest.raises(ValueError, match="a side of the window is -2"):
        varlen(q, k, k, cu_q, cu_k, window_left=-2)
    with pytest.raises(TypeError, match="`k` has dtype float16"):
        varlen(q, k.half(), k.half(), cu_q, cu_k)


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ([9, 0], "`cache_seqlens` is 9 at element 0; expected 0 to 7 (the room of the cache, less"),
        ([8, 0], "`cache_seqlens` is 8 at element 0; expected 0 to 7"),
        ([0, -1], "`cache_seqlens` is -1 at element 1; expected 0 to 7"),
        ([0, 2**40], f"`cache_seqlens` is {2**40} at element 1; expected 0 to 7"),
    ],
)
def test_lengths_without_room_are_refused(lengths: Any, message: str) -> None:
    caches = [torch.randn(2, 8, 2, 4) for _ in range(2)]
    new = torch.randn(2, 1, 2, 4)
    q, out = torch.randn(2, 1, 2, 4), torch.zeros(2, 1, 2, 4)
    lens = torch.tensor(lengths)
    untouched(lambda: with_cache(q, *caches, new, new, lens, out=out), [*caches, out], message)


def test_bad_arguments_of_a_cache_are_named() -> None:
    caches = [torch.randn(4, 8, 2, 4) for _ in range(2)]
    new, q, out = torch.randn(2, 1, 2, 4), torch.randn(2, 1, 2, 4), torch.zeros(2, 1, 2, 4)
    lens = torch.tensor([3, 4])
    table = torch.tensor([[0, 1], [2, 3]], dtype=torch.int32)
    every = [*caches, out]
    for given, message in (
        ({"k": new}, "`k` and `v` go together"),
        ({"k": new, "v": new}, "`k` is given without `cache_seqlens`"),
        (
            {"cache_seqlens": lens, "block_table": table, "cache_batch_idx": lens},
            "`block_table` and `cache_batch_idx` exclude each other",
        ),
        (
            {"cache_seqlens": lens, "cache_batch_idx": torch.tensor([0, 4])},
            "`cache_batch_idx` is 4 at element 1; expected 0 to 3 (the rows of the cache)",
        ),
        (
            {"k": new, "v": new, "cache_seqlens": torch.tensor([3, 3]),
             "cache_batch_idx": torch.tensor([1, 1])},
            "two new keys go to the same place of the cache",
        ),
        (
            {"cache_seqlens": lens + 13, "block_table": table},
            "`cache_seqlens` is 17 at element 1; expected 0 to 16 (the room of the cache)",
        ),
        (
            {"cache_seqlens": lens, "block_table": table * 2 - 3},
            "page 0 of sequence 0 is page -3 of the cache; expected 0 to 3",
        ),
        (
            {"cache_seqlens": lens + 8, "block_table": table + 1},
            "page 1 of sequence 1 is page 4 of the cache; expected 0 to 3",
        ),
    ):  # fmt: skip
        untouched(lambda given=given: with_cache(q, *caches, **given, out=out), every, message)
    untouched(
        lambda: with_cache(q, *caches, cache_seqlens=lens[:1], out=out), every, "has shape [1]"
    )
    with pytest.raises(ValueError, match="`q` has 2 sequences, but `k_cache` has 1 rows"):
        with_cache(q, caches[0][:1], caches[1][:1])
    with pytest.raises(ValueError, match="share memory"):
        with_cache(q, caches[0], caches[0])
    with pytest.raises(ValueError, match="3 query heads cannot share 2 key heads"):
        with_cache(torch.randn(2, 1, 3, 4), *caches)


def test_a_length_beyond_the_table_is_refused() -> None:
    keys, values = torch.ones(3, 1, 2, 4, 4), torch.ones(3, 1, 8, 4)
    table = torch.tensor([[0, 1]], dtype=torch.int32)
    q, out = torch.ones(1, 2, 8), torch.zeros(1, 2, 8)
    for length, message in ((9, "`seq_lens` is 9 at element 0; expected 0 to 8"), (-1, "is -1")):
        lens = torch.tensor([length])
        untouched(
            lambda lens=lens: infini.ops.paged_attention(q, keys, values, table, lens, out=out),
            [out],
            message,
        )
    with pytest.raises(ValueError, match="keys of 2 times 4 elements, but queries have 6"):
        infini.ops.paged_attention(torch.ones(1, 2, 6), keys, values, table, torch.tensor([1]))


@pytest.mark.parametrize("shape", [(0, 1, 2, 4), (2, 0, 2, 4), (2, 1, 0, 4)])
def test_empty_batches_and_queries_are_empty(shape: Any) -> None:
    heads = 0 if shape[2] == 0 else 1
    caches = [torch.ones(2, 8, heads, 4) for _ in range(2)]
    lens = torch.ones(shape[0], dtype=torch.int32)
    assert with_cache(torch.ones(shape), *caches, cache_seqlens=lens).shape == shape


def test_keys_are_appended_where_there_are_no_queries() -> None:
    caches = [torch.zeros(2, 8, 1, 4) for _ in range(2)]
    new = torch.ones(2, 1, 1, 4)
    with_cache(torch.ones(2, 0, 1, 4), *caches, new, new, torch.tensor([0, 7]))
    assert caches[0][0, 0].eq(1).all()
    assert caches[1][1, 7].eq(1).all()
    assert caches[0].sum() == 8


def test_bad_lengths_reach_the_stream_on_sim_and_write_nothing(devices: list[str], rt: Any) -> None:
    if "sim" not in devices:
        pytest.skip("this build has no sim device")
    given = {
        "q": torch.ones(1, 1, 1, 4),
        "k_cache": torch.ones(1, 4, 1, 4),
        "v_cache": torch.ones(1, 4, 1, 4),
        "k": torch.full((1, 1, 1, 4), 7.0),
        "v": torch.full((1, 1, 1, 4), 7.0),
        "cache_seqlens": torch.tensor([4]),
    }
    there = {}
    for name, tensor in given.items():
        dtype = str(tensor.dtype).removeprefix("torch.")
        there[name] = infini.ops.empty(list(tensor.shape), dtype=dtype, device="sim:0")
        there[name].copy_from(tensor)
    rt.select_backend("sim")
    try:
        with_cache(**there)
        with pytest.raises(ValueError, match="`cache_seqlens` is 4 at element 0; expected 0 to 3"):
            rt.device_synchronize()
    finally:
        rt.select_backend("cpu")
    back = torch.from_dlpack(there["k_cache"].to_cpu())
    assert torch.equal(back, given["k_cache"])


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
