"""What attention to packed sequences and to a cache refuses, and that nothing is written then."""

from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from attention import (  # type: ignore[import-not-found]  # noqa: E402  # tests/support
    starts,
    untouched,
)
from devices import (  # type: ignore[import-not-found]  # noqa: E402  # tests/support
    fetched,
    moved,
)
from this_build import (  # type: ignore[import-not-found]  # noqa: E402  # tests/support
    operator,
)

varlen = operator("flash_attn_varlen_func")
with_cache = operator("flash_attn_with_kvcache")
INDICES = [torch.int32, torch.int64]


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
    pages = torch.ones(2, 4, 2, 8)
    for wrong in (torch.int64, torch.float32):
        with pytest.raises(TypeError, match=f"`block_table` has dtype {str(wrong)[6:]}"):
            varlen(q, pages, pages.clone(), cu_q, cu_k, torch.zeros(2, 1, dtype=wrong))
    with pytest.raises(ValueError, match="a side of the window is -2"):
        varlen(q, k, k, cu_q, cu_k, window_left=-2)
    with pytest.raises(TypeError, match="`k` has dtype float16"):
        varlen(q, k.half(), k.half(), cu_q, cu_k)


@pytest.mark.parametrize(
    ("cu_k", "pages", "message"),
    [
        (
            [0, 9, 12],
            [[0, 1], [2, 3]],
            "sequence 0 has 9 keys, but its 2 pages of 4 have room for 8",
        ),
        (
            [0, 4, 13],
            [[0, -1], [2, 3]],
            "sequence 1 has 9 keys, but its 2 pages of 4 have room for 8",
        ),
        ([0, 1, 1], [[], []], "sequence 0 has 1 keys, but its 0 pages of 4 have room for 0"),
        (
            [0, 8, 12],
            [[0, 4], [2, 3]],
            "page 1 of sequence 0 is page 4 of the cache; expected 0 to 3",
        ),
        (
            [0, 8, 12],
            [[0, 1], [-1, 3]],
            "page 0 of sequence 1 is page -1 of the cache; expected 0 to 3",
        ),
        (
            [0, 8, 16],
            [[0, 1], [2, 2**31 - 1]],
            f"page 1 of sequence 1 is page {2**31 - 1} of the cache; expected 0 to 3",
        ),
    ],
)
def test_packed_sequences_stay_within_their_pages(cu_k: Any, pages: Any, message: str) -> None:
    keys, values = torch.randn(4, 4, 2, 8), torch.randn(4, 4, 2, 8)
    q, out = torch.randn(2, 2, 8), torch.zeros(2, 2, 8)
    cu = [torch.tensor(one, dtype=torch.int32) for one in ([0, 1, 2], cu_k)]
    table = torch.tensor(pages, dtype=torch.int32)
    untouched(lambda: varlen(q, keys, values, *cu, table, out=out), [out], message)


def test_pages_without_room_are_refused() -> None:
    keys, values, table = torch.ones(4, 0, 2, 8), torch.ones(4, 0, 2, 8), starts([1])[None]
    q, out = torch.ones(1, 2, 8), torch.zeros(1, 2, 8)
    message = "a page of the cache has room for 0 keys; expected 1 or more"
    for length in (0, 1):
        cu = [starts([1]), starts([length])]
        untouched(lambda cu=cu: varlen(q, keys, values, *cu, table, out=out), [out], message)
        given = {"cache_seqlens": torch.tensor([length]), "block_table": table}
        untouched(
            lambda given=given: with_cache(q[None], keys, values, **given, out=out[None]),
            [out],
            message,
        )


def test_starts_of_the_cpu_are_refused_on_another_device(devices: list[str], rt: Any) -> None:
    if "sim" not in devices:
        pytest.skip("this build has no sim device")
    given = {
        "q": torch.randn(3, 2, 8),
        "k": torch.randn(4, 2, 8),
        "v": torch.randn(4, 2, 8),
        "cu_seqlens_q": starts([1, 2]),
        "cu_seqlens_k": starts([3, 1]),
    }
    there = {name: moved(tensor, "sim:0") for name, tensor in given.items()}
    expected = varlen(**given)
    out = moved(torch.full_like(expected, 7.0), "sim:0")
    for name in ("cu_seqlens_q", "cu_seqlens_k"):
        with pytest.raises(ValueError) as error:
            varlen(**{**there, name: given[name]}, out=out)
        assert f"`{name}` is on cpu:0, but the call is for sim:0" in str(error.value)
    assert fetched(out).eq(7).all()
    assert torch.equal(fetched(varlen(**there, out=out)), expected)


@pytest.mark.parametrize("index", INDICES, ids=str)
@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ([9, 0], "`cache_seqlens` is 9 at element 0; expected 0 to 7 (the room of the cache, less"),
        ([8, 0], "`cache_seqlens` is 8 at element 0; expected 0 to 7"),
        ([0, -1], "`cache_seqlens` is -1 at element 1; expected 0 to 7"),
        ([0, 2**31 - 1], f"`cache_seqlens` is {2**31 - 1} at element 1; expected 0 to 7"),
        ([-(2**31), 0], f"`cache_seqlens` is {-(2**31)} at element 0; expected 0 to 7"),
    ],
)
def test_lengths_without_room_are_refused(lengths: Any, message: str, index: Any) -> None:
    caches = [torch.randn(2, 8, 2, 4) for _ in range(2)]
    new = torch.randn(2, 1, 2, 4)
    q, out = torch.randn(2, 1, 2, 4), torch.zeros(2, 1, 2, 4)
    lens = torch.tensor(lengths, dtype=index)
    untouched(lambda: with_cache(q, *caches, new, new, lens, out=out), [*caches, out], message)


def test_a_length_of_64_bits_is_read_whole() -> None:
    caches = [torch.randn(1, 8, 2, 4) for _ in range(2)]
    for length in (2**40, 2**32 + 1, -(2**63), 2**63 - 1):
        with pytest.raises(ValueError, match=f"`cache_seqlens` is {length} at element 0"):
            with_cache(torch.randn(1, 1, 2, 4), *caches, cache_seqlens=torch.tensor([length]))


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_bad_arguments_of_a_cache_are_named(index: Any) -> None:
    caches = [torch.randn(4, 8, 2, 4) for _ in range(2)]
    new, q, out = torch.randn(2, 1, 2, 4), torch.randn(2, 1, 2, 4), torch.zeros(2, 1, 2, 4)
    lens = torch.tensor([3, 4], dtype=index)
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
            {"cache_seqlens": lens, "cache_batch_idx": torch.tensor([0, 4], dtype=index)},
            "`cache_batch_idx` is 4 at element 1; expected 0 to 3 (the rows of the cache)",
        ),
        (
            {"cache_seqlens": lens, "cache_batch_idx": torch.tensor([-1, 0], dtype=index)},
            "`cache_batch_idx` is -1 at element 0; expected 0 to 3 (the rows of the cache)",
        ),
        (
            {"k": new, "v": new, "cache_seqlens": torch.tensor([3, 3], dtype=index),
             "cache_batch_idx": torch.tensor([1, 1], dtype=index)},
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
    for name in ("cache_seqlens", "cache_batch_idx", "block_table"):
        given = {"cache_seqlens": lens, name: torch.zeros(2, dtype=torch.int16)}
        with pytest.raises(TypeError, match=f"`{name}` has dtype int16"):
            with_cache(q, *caches, **given)
    with pytest.raises(ValueError, match="`q` has 2 sequences, but `k_cache` has 1 rows"):
        with_cache(q, caches[0][:1], caches[1][:1])
    with pytest.raises(ValueError, match="share memory"):
        with_cache(q, caches[0], caches[0])
    with pytest.raises(ValueError, match="3 query heads cannot share 2 key heads"):
        with_cache(torch.randn(2, 1, 3, 4), *caches)


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
    there = {name: moved(tensor, "sim:0") for name, tensor in given.items()}
    rt.select_backend("sim")
    try:
        with_cache(**there)
        with pytest.raises(ValueError, match="`cache_seqlens` is 4 at element 0; expected 0 to 3"):
            rt.device_synchronize()
    finally:
        rt.select_backend("cpu")
    back = fetched(there["k_cache"])
    assert torch.equal(back, given["k_cache"])
