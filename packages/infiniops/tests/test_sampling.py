from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from this_build import (  # type: ignore[import-not-found]  # noqa: E402  # tests/support
    operator,
)

sample = operator("top_k_top_p_sampling_from_logits")
DTYPES = [torch.float32, torch.bfloat16, torch.float16]


def kept(logits: Any, k: int, p: float) -> Any:
    """Which tokens of one row may be drawn, and how likely each is, in float64."""
    wide = logits.double()
    values = wide.tolist()
    order = sorted(range(len(values)), key=lambda i: (-values[i], i))
    order = order[: k if k > 0 else None]
    shares = torch.softmax(wide[order], 0)
    before = shares.cumsum(0) - shares
    count = max(1, int((before < p).sum()))
    chosen = shares[:count] / shares[:count].sum()
    result = torch.zeros(len(wide), dtype=torch.float64)
    result[order[:count]] = chosen
    return result


@pytest.mark.smoke
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("k", "p"), [(0, 1.0), (5, 1.0), (0, 0.6), (9, 0.8), (-1, 0.05), (1, 1.0)])
def test_draws_follow_the_kept_shares(dtype: Any, k: int, p: float, seed: int) -> None:
    torch.manual_seed(seed)
    row = (torch.randn(37) * 2).to(dtype)
    draws = 20_000
    samples, valid = sample(row.expand(draws, 37), top_k=k, top_p=p, seed=seed)
    assert samples.dtype == torch.int32
    assert valid.all()
    expected = kept(row, k, p)
    counts = torch.bincount(samples.long(), minlength=37).double()
    assert (counts[expected == 0] == 0).all()
    # Six standard deviations of each count, and room for the rare.
    bound = 6 * (draws * expected * (1 - expected)).sqrt() + 5
    assert ((counts - draws * expected).abs() <= bound).all()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_one_token_is_the_first_greatest(dtype: Any, seed: int) -> None:
    torch.manual_seed(seed)
    logits = torch.randint(-3, 3, (50, 301)).to(dtype)
    first = (logits == logits.amax(-1, keepdim=True)).int().argmax(-1)
    for given in ({"top_k": 1}, {"top_p": 0.0}, {"top_k": 1, "top_p": 0.5}):
        samples, _ = sample(logits, seed=seed, **given)
        assert torch.equal(samples.long(), first)


def test_equal_logits_are_kept_by_their_indices(seed: int) -> None:
    flat = torch.zeros(5_000, 10)
    samples, _ = sample(flat, top_k=3, seed=seed)
    assert samples.unique().tolist() == [0, 1, 2]
    samples, _ = sample(flat, top_p=0.35, seed=seed)
    assert samples.unique().tolist() == [0, 1, 2, 3]
    signed = torch.tensor([[-0.0, 0.0, -1.0]]).expand(2_000, 3)
    samples, _ = sample(signed, top_k=1, seed=seed)
    assert samples.unique().tolist() == [0]


@pytest.mark.parametrize("index", [torch.int32, torch.int64])
def test_rows_have_their_own_bounds(index: Any, seed: int) -> None:
    logits = torch.arange(8.0).expand(4_000, 8)
    ks = torch.tensor([1, 2, 0, 2**31 - 1], dtype=index).repeat(1_000)
    samples, _ = sample(logits, ks, seed=seed)
    assert samples[0::4].unique().tolist() == [7]
    assert samples[1::4].unique().tolist() == [6, 7]
    assert len(samples[2::4].unique()) > 3
    assert len(samples[3::4].unique()) > 3
    ps = torch.tensor([0.0, 0.63, 0.64, 1.0]).repeat(1_000)
    samples, _ = sample(logits, None, ps, seed=seed)
    assert samples[0::4].unique().tolist() == [7]
    assert samples[1::4].unique().tolist() == [7]
    assert samples[2::4].unique().tolist() == [6, 7]
    for same in ({"top_k": 0}, {"top_k": 8}, {"top_k": 2**30}, {"top_p": 1.0}):
        assert torch.equal(sample(logits, seed=seed, **same)[0], sample(logits, seed=seed)[0])


def test_a_seed_repeats_its_draws_and_others_differ(seed: int) -> None:
    logits = torch.zeros(100, 1000)
    first = sample(logits, seed=seed)[0]
    assert torch.equal(sample(logits, seed=seed)[0], first)
    assert not torch.equal(sample(logits, seed=seed + 1)[0], first)
    assert not torch.equal(sample(logits, seed=seed, offset=1)[0], first)
    assert torch.equal(sample(logits[:7], seed=seed)[0], first[:7])
    assert len(first.unique()) > 50


def test_draws_are_the_published_generator() -> None:
    """Philox4x32-10 of counter 0 and key 0 begins with these words."""
    word = (0x6627E8D5 << 32 | 0xE169C58D) >> 11
    point = word / 2**53
    for size in (10, 1000, 100_003):
        token = int(sample(torch.zeros(1, size))[0][0])
        assert token == int(point * size)


def point(seed: int, row: int) -> float:
    """The draw of a row: the first words of Philox4x32-10."""
    words, key = [0, 0, row, 0], [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * words[0], 0xCD9E8D57 * words[2]
        words = [
            (b >> 32) ^ words[1] ^ key[0],
            b & 0xFFFFFFFF,
            (a >> 32) ^ words[3] ^ key[1],
            a & 0xFFFFFFFF,
        ]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return float((words[0] << 32 | words[1]) >> 11) / 2**53


@pytest.mark.parametrize("spread", [0.0, 0.3, 8.0])
@pytest.mark.parametrize("p", [0.001, 0.5, 0.99, 1.0])
@pytest.mark.parametrize("k", [0, 3, 40, 200])
@pytest.mark.parametrize("columns", [1, 63, 65, 2100])
def test_a_draw_is_the_token_where_its_point_falls(
    columns: int, k: int, p: float, spread: float, seed: int
) -> None:
    torch.manual_seed(seed)
    logits = (torch.randn(6, columns) * spread * 4).round() / 4  # with equal ones
    samples, valid = sample(logits, top_k=k, top_p=p, seed=seed)
    assert valid.all()
    for row, token in enumerate(samples.tolist()):
        found = []
        for mass in (p - 1e-6, p + 1e-6):  # sums in another order end the nucleus elsewhere
            shares = kept(logits[row], k, mass)
            end = float(shares[: token + 1].sum())
            begin = end - float(shares[token])
            found.append(begin - 1e-5 <= point(seed, row) <= end + 1e-5 and shares[token] > 0)
        assert any(found)


def test_threads_and_strides_do_not_change_the_draws(seed: int, by_threads: Any) -> None:
    torch.manual_seed(seed)
    logits = torch.randn(30, 5_000)
    results = by_threads(lambda: sample(logits, top_k=50, top_p=0.9, seed=seed)[0])
    assert all(torch.equal(results[0], other) for other in results[1:])
    columns = logits.t().contiguous().t()
    assert torch.equal(sample(columns, top_k=50, top_p=0.9, seed=seed)[0], results[0])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("given", [{}, {"top_k": 2}, {"top_p": 0.5}, {"top_k": 9, "top_p": 0.9}])
def test_broken_rows_are_flagged_and_others_unaffected(dtype: Any, given: Any, seed: int) -> None:
    torch.manual_seed(seed)
    logits = torch.randn(6, 9).to(dtype)
    clean, _ = sample(logits, seed=seed, **given)
    logits[0] = float("nan")
    logits[1] = -torch.inf
    logits[2] = -torch.inf
    logits[2, 4] = -3
    logits[3, 5] = torch.inf
    logits[4, 8] = float("nan")
    samples, valid = sample(logits, seed=seed, **given)
    assert valid.tolist() == [False, False, True, True, False, True]
    assert samples.tolist() == [0, 0, 4, 5, 0, int(clean[5])]


def test_infinite_logits_are_drawn_alike(seed: int) -> None:
    logits = torch.zeros(2_000, 5)
    logits[:, [1, 4]] = torch.inf
    samples, valid = sample(logits, seed=seed)
    assert valid.all()
    assert samples.unique().tolist() == [1, 4]


def test_bad_arguments_are_named_before_anything_is_written() -> None:
    logits = torch.zeros(2, 5)
    samples = torch.full((2,), 99, dtype=torch.int32)
    valid = torch.zeros(2, dtype=torch.bool)
    out = {"samples": samples, "valid": valid}
    for given, message in (
        ({"top_p": 1.0000001}, "`top_p` is greater than 1"),
        ({"top_p": float("nan")}, "`top_p` must be at least 0, got nan"),
        ({"top_p": -0.1}, "`top_p` must be at least 0"),
        ({"top_k": -2}, "`top_k` must be at least -1"),
        ({"top_k_rows": torch.tensor([1, -2])}, "`top_k_rows` is -2 at element 1; expected -1 to"),
        (
            {"top_k_rows": torch.tensor([-(2**31), 1], dtype=torch.int32)},
            f"`top_k_rows` is {-(2**31)} at element 0; expected -1 to",
        ),
        (
            {"top_k_rows": torch.tensor([1, -(2**63)])},
            f"`top_k_rows` is {-(2**63)} at element 1; expected -1 to",
        ),
        ({"top_p_rows": torch.tensor([0.5, float("nan")])}, "`top_p_rows` is nan at element 1"),
        ({"top_p_rows": torch.tensor([1.5, 0.5])}, "`top_p_rows` is 1.500000 at element 0"),
        ({"top_k_rows": torch.tensor([1])}, "`top_k_rows` has shape [1]; expected [2]"),
    ):
        with pytest.raises(ValueError) as error:
            sample(logits, **given, **out)
        assert message in str(error.value)
    with pytest.raises(ValueError, match="`logits` has 0 columns"):
        sample(torch.zeros(2, 0), **out)
    with pytest.raises(TypeError, match="`top_p_rows` has dtype float64"):
        sample(logits, None, torch.ones(2).double(), **out)
    assert samples.tolist() == [99, 99]
    assert not valid.any()
    assert sample(torch.zeros(0, 5))[0].shape == (0,)


def test_large_vocabularies_are_cut_exactly(seed: int) -> None:
    torch.manual_seed(seed)
    logits = torch.randn(1, 128_256) * 4
    top = logits[0].topk(40).indices
    samples, _ = sample(logits.expand(500, -1), top_k=40, seed=seed)
    assert set(samples.tolist()) <= set(top.tolist())
