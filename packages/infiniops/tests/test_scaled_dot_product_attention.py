import itertools
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from attention import (  # type: ignore[import-not-found]  # noqa: E402  # tests/support
    DTYPES,
    assert_close,
    attention,
    poisoned,
)
from this_build import (  # type: ignore[import-not-found]  # noqa: E402  # tests/support
    operator,
)

sdpa = operator("scaled_dot_product_attention")

SHAPES = [
    # B, heads, key heads, queries, keys, size, value size
    (1, 1, 1, 1, 1, 1, 1),
    (2, 4, 2, 5, 7, 8, 8),
    (3, 2, 2, 16, 17, 16, 40),
    (1, 7, 1, 3, 63, 64, 64),
    (1, 8, 1, 1, 64, 64, 64),
    (2, 9, 3, 33, 65, 80, 48),
    (1, 3, 3, 130, 129, 128, 128),
    (1, 2, 1, 1, 1300, 128, 128),
    (1, 2, 2, 200, 333, 33, 65),
    (2, 6, 2, 2, 520, 31, 7),
]
EMPTY = [
    (0, 2, 1, 3, 4, 8, 8),
    (2, 0, 0, 3, 4, 8, 8),
    (2, 2, 1, 0, 4, 8, 8),
    (2, 2, 1, 3, 0, 8, 8),
    (1, 2, 1, 40, 0, 8, 8),
    (2, 2, 1, 3, 4, 0, 8),
    (2, 2, 1, 3, 4, 8, 0),
]


def make(shape: Any, dtype: Any) -> Any:
    batch, heads, key_heads, queries, keys, size, value_size = shape
    return (
        torch.randn(batch, heads, queries, size).to(dtype),
        torch.randn(batch, key_heads, keys, size).to(dtype),
        torch.randn(batch, key_heads, keys, value_size).to(dtype),
    )


def masks(shape: Any, dtype: Any) -> Any:
    batch, heads, _, queries, keys, _, _ = shape
    yield None
    for lead in ((), (1, 1), (heads,), (batch, 1), (batch, heads)):
        yield torch.rand(*lead, queries, keys) < 0.7
    yield torch.rand(batch, 1, 1, keys) < 0.7
    yield torch.randn(batch, heads, queries, keys).to(dtype)
    yield torch.randn(queries, keys).masked_fill(torch.rand(queries, keys) < 0.2, -torch.inf)


@pytest.mark.smoke
@pytest.mark.parametrize("shape", SHAPES + EMPTY, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_masks_and_causality_agree_with_float64(dtype: Any, shape: Any, seed: int) -> None:
    torch.manual_seed(seed)
    query, key, value = make(shape, dtype)
    for mask, causal in itertools.product(masks(shape, dtype), (False, True)):
        out = poisoned((*query.shape[:-1], value.shape[-1]), dtype)
        assert sdpa(query, key, value, mask, is_causal=causal, out=out) is out
        expected = attention(query, key, value, mask, right=0 if causal else -1)
        assert_close(out, expected, (shape, causal, None if mask is None else mask.shape))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("queries", [3, 70])
def test_any_strides_are_taken(dtype: Any, queries: int, seed: int) -> None:
    torch.manual_seed(seed)
    shape = (2, 6, 2, queries, 90, 48, 40)
    query, key, value = make(shape, dtype)
    expected = sdpa(query, key, value)
    tokens_first = [t.transpose(1, 2).contiguous().transpose(1, 2) for t in (query, key, value)]
    elements_first = [t.transpose(1, 3).contiguous().transpose(1, 3) for t in (query, key, value)]
    spaced = [torch.stack([t, t], -1).flatten(-2)[..., ::2] for t in (query, key, value)]
    for given in (tokens_first, elements_first, spaced):
        out = poisoned((2, queries, 6, 40), dtype).transpose(1, 2)
        sdpa(*given, out=out)
        assert torch.equal(out, expected)
    out = poisoned((40, queries, 6, 2), dtype).permute(3, 2, 1, 0)
    sdpa(query, key, value, out=out)
    assert torch.equal(out, expected)
    assert torch.equal(sdpa(query[1], key[1], value[1]), expected[1])
    shared = key[:1].expand(2, -1, -1, -1)
    assert torch.equal(sdpa(query, shared, value), sdpa(query, shared.clone(), value))


@pytest.mark.parametrize(("queries", "keys"), [(2, 5), (5, 5), (5, 2), (1, 7), (90, 40)])
def test_causal_queries_are_counted_from_the_first_key(queries: int, keys: int) -> None:
    query, key = torch.zeros(1, 1, queries, 4), torch.zeros(1, 1, keys, 4)
    value = torch.arange(float(keys)).reshape(1, 1, keys, 1)
    actual = sdpa(query, key, value, is_causal=True).flatten()
    expected = [sum(range(min(i + 1, keys))) / min(i + 1, keys) for i in range(queries)]
    assert torch.allclose(actual, torch.tensor(expected), atol=1e-6)


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("queries", [1, 40])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_row_that_sees_nothing_gives_zeros(dtype: Any, queries: int, batch: int) -> None:
    query, key, value = make((batch, 2, 2, queries, 70, 8, 8), dtype)
    hidden = torch.ones(batch, 1, queries, 70, dtype=torch.bool)
    hidden[:, :, 0] = False
    actual = sdpa(query, key, value, hidden)
    assert (actual[:, :, 0] == 0).all()
    assert (actual[:, :, 1:] != 0).any() or queries == 1
    minus = torch.zeros(batch, 1, queries, 70, dtype=dtype)
    minus[:, :, 0] = -torch.inf
    assert torch.equal(sdpa(query, key, value, minus), actual)
    minus[:, :, 0] = torch.finfo(dtype).min
    mean = value.double().mean(-2)
    if dtype != torch.float16:  # whose least number is not so small that it hides the scores
        assert_close(sdpa(query, key, value, minus)[:, :, 0], mean)


@pytest.mark.parametrize("ratio", [1, 2, 3, 7, 8])
@pytest.mark.parametrize("queries", [1, 30])
def test_neighbouring_query_heads_share_a_key_head(ratio: int, queries: int) -> None:
    query, key = torch.randn(1, 2 * ratio, queries, 8), torch.randn(1, 2, 5, 8)
    value = torch.tensor([0.0, 1.0]).reshape(1, 2, 1, 1).expand(1, 2, 5, 3)
    actual = sdpa(query, key, value)
    expected = torch.tensor([0.0, 1.0]).repeat_interleave(ratio)
    assert torch.allclose(actual, expected.reshape(1, -1, 1, 1).expand_as(actual))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("queries", [1, 4, 50])
def test_a_sequence_does_not_depend_on_its_batch(dtype: Any, queries: int, seed: int) -> None:
    torch.manual_seed(seed)
    query, key, value = make((64, 4, 2, queries, 300, 64, 64), dtype)
    for batch in (2, 16, 17, 64):
        together = sdpa(query[:batch], key[:batch], value[:batch])
        assert torch.equal(sdpa(query[:batch], key[:batch], value[:batch]), together)
        for i in (0, batch // 2, batch - 1):
            alone = sdpa(*(tensor[i : i + 1] for tensor in (query, key, value)))
            assert torch.equal(together[i], alone[0]), (batch, i)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("queries", [1, 300])
def test_threads_do_not_change_the_bits(
    dtype: Any, queries: int, seed: int, by_threads: Any
) -> None:
    torch.manual_seed(seed)
    query, key, value = make((1, 4, 2, queries, 1500, 64, 64), dtype)
    results = by_threads(lambda: sdpa(query, key, value, is_causal=queries > 1))
    assert all(torch.equal(results[0], other) for other in results[1:])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("queries", [1, 40])
def test_keys_that_nobody_sees_are_not_read(dtype: Any, queries: int, seed: int) -> None:
    torch.manual_seed(seed)
    query, key, value = make((2, 4, 2, queries, 200, 32, 32), dtype)
    seen = torch.rand(2, 1, 1, 200) < 0.5
    expected = attention(query, key, value, seen)
    nobody = ~seen.squeeze(1).squeeze(1)
    for tensor in (key, value):
        tensor.transpose(1, 2)[nobody] = float("nan")
    assert_close(sdpa(query, key, value, seen), expected)


@pytest.mark.parametrize("queries", [1, 40])
def test_nan_and_infinity_stay_in_their_row(queries: int) -> None:
    query, key, value = make((1, 1, 1, queries, 70, 8, 8), torch.float32)
    clean = sdpa(query, key, value)
    query[0, 0, 0, 3] = float("nan")
    dirty = sdpa(query, key, value)
    assert dirty[0, 0, 0].isnan().all()
    assert torch.equal(dirty[0, 0, 1:], clean[0, 0, 1:])


def test_large_scores_do_not_overflow() -> None:
    query = torch.full((1, 1, 2, 64), 100.0)
    key = torch.cat([query, -query], 2)
    value = torch.arange(4.0).reshape(1, 1, 4, 1)
    assert torch.equal(sdpa(query, key, value).flatten(), torch.tensor([0.5, 0.5]))
    half = [t.to(torch.float16) for t in (query, key, value)]
    assert torch.equal(sdpa(*half).flatten(), torch.tensor([0.5, 0.5], dtype=torch.float16))


def test_the_scale_is_taken_as_given() -> None:
    query, key, value = make((1, 2, 2, 3, 9, 16, 16), torch.float32)
    for scale in (0.0, 1.0, -0.5, 0.125):
        expected = attention(query, key, value, scale=scale)
        assert_close(sdpa(query, key, value, scale=scale), expected)


def test_many_heads_are_reached() -> None:
    query, key, value = make((65_538, 1, 1, 1, 2, 4, 4), torch.float32)
    assert_close(sdpa(query, key, value), attention(query, key, value))


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((1, 5, 3, 8), (1, 2, 4, 8), (1, 2, 4, 8)), "5 query heads cannot share 2 key heads"),
        (((1, 2, 3, 8), (1, 0, 4, 8), (1, 0, 4, 8)), "2 query heads cannot share 0 key heads"),
        (((1, 2, 3, 8), (2, 2, 4, 8), (2, 2, 4, 8)), "`key` has shape [2, 2, 4, 8]"),
        (((1, 2, 3, 8), (1, 2, 4, 6), (1, 2, 4, 6)), "`key` has shape [1, 2, 4, 6]"),
        (((1, 2, 3, 8), (1, 2, 4, 8), (1, 2, 5, 8)), "`value` has shape [1, 2, 5, 8]"),
        (((3, 8), (4, 8), (4, 8)), "expected a rank of 3 to 4"),
    ],
)
def test_shapes_that_do_not_fit_are_named(shapes: Any, message: str) -> None:
    with pytest.raises(ValueError) as error:
        sdpa(*(torch.ones(shape) for shape in shapes))
    assert message in str(error.value)


def test_masks_that_do_not_fit_are_named() -> None:
    query, key, value = make((2, 2, 2, 3, 4, 8, 8), torch.float32)
    out = torch.zeros(2, 2, 3, 8)
    for shape in ((4,), (3, 4), (1, 4), (2, 1, 1, 4), (1,), ()):
        sdpa(query, key, value, torch.ones(shape, dtype=torch.bool))
    for shape in ((3,), (2, 4), (3, 3, 4), (3, 1, 3, 4), (1, 2, 2, 3, 4)):
        with pytest.raises(ValueError, match=r"broadcasts to \[2, 2, 3, 4\]"):
            sdpa(query, key, value, torch.ones(shape, dtype=torch.bool), out=out)
    for dtype in (torch.int32, torch.float64):
        with pytest.raises(TypeError, match="`attn_mask` has dtype"):
            sdpa(query, key, value, torch.ones(3, 4, dtype=dtype), out=out)
    with pytest.raises(TypeError, match="float32 or the dtype of `query`, float32"):
        sdpa(query, key, value, torch.ones(3, 4, dtype=torch.bfloat16), out=out)
    with pytest.raises(TypeError, match="`key` has dtype bfloat16"):
        sdpa(query, key.bfloat16(), value, out=out)
    assert (out == 0).all()
    with pytest.raises(ValueError, match="share memory"):
        sdpa(query, key[:, :, :3], value[:, :, :3], out=value[:, :, :3])
