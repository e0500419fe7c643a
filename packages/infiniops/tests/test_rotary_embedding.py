import itertools
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

import infini.ops  # noqa: E402  # after the skip above

DTYPES = [torch.float32, torch.bfloat16, torch.float16]
STYLES = [False, True]
TOLERANCE = {torch.float32: 1e-6, torch.bfloat16: 8e-3, torch.float16: 1e-3}


def rotated(x: Any, cos: Any, sin: Any, interleaved: bool) -> Any:
    """The rotation in float64; `cos` and `sin` hold one number for each pair."""
    wide, half = x.double(), cos.shape[-1]
    result = wide.clone()
    if interleaved:
        a, b = wide[..., 0 : 2 * half : 2], wide[..., 1 : 2 * half : 2]
    else:
        a, b = wide[..., :half], wide[..., half : 2 * half]
    turned = (a * cos - b * sin, b * cos + a * sin)
    if interleaved:
        result[..., 0 : 2 * half : 2], result[..., 1 : 2 * half : 2] = turned
    else:
        result[..., :half], result[..., half : 2 * half] = turned
    return result


def table(positions: int, width: int, dtype: Any = torch.float32) -> Any:
    frequency = 10000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / max(width, 1))
    angle = torch.arange(positions, dtype=torch.float64)[:, None] * frequency
    return torch.cat([angle.cos(), angle.sin()], -1).to(dtype)


def assert_close(actual: Any, expected: Any, dtype: Any) -> None:
    bound = TOLERANCE[dtype]
    assert actual.dtype == dtype
    # A rotation's error goes by the size of its pair, not by what is left of it.
    assert torch.allclose(actual.double(), expected, rtol=bound, atol=4 * bound)


@pytest.mark.smoke
@pytest.mark.parametrize("interleaved", STYLES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_heads_are_rotated_by_their_positions(dtype: Any, interleaved: bool, seed: int) -> None:
    torch.manual_seed(seed)
    cases = itertools.product([(), (1,), (7,), (2, 3)], [1, 5], [2, 8, 80, 128], [0, 2, 32])
    for tokens, heads, size, width in cases:
        if width > size:
            continue
        x = torch.randn(*tokens, heads, size).to(dtype)
        cache = table(50, width, torch.float32 if width != 32 else dtype)
        positions = torch.randint(0, 40, tokens, dtype=torch.int64 if heads == 1 else torch.int32)
        out = torch.full_like(x, float("nan"))
        returned = infini.ops.rotary_embedding(
            x, positions, cache, offset=9, interleaved=interleaved, out=out
        )
        assert returned is out
        cos, sin = cache[positions.long() + 9].double().unsqueeze(-2).chunk(2, -1)
        assert_close(out, rotated(x, cos, sin, interleaved), dtype)
        assert torch.equal(out[..., width:], x[..., width:])


@pytest.mark.parametrize("interleaved", STYLES)
def test_golden_vectors_tell_the_styles_apart(interleaved: bool) -> None:
    x = torch.arange(8.0).reshape(1, 1, 8)
    actual = infini.ops.rotary_embedding(
        x, torch.tensor([1]), table(2, 8), interleaved=interleaved
    ).flatten()
    halves = [
        -3.365883939231586, 0.49583708204388505, 1.9399010008283306, 2.9929985011667917,
        2.161209223472559, 5.074854243036958, 6.019699669168325, 7.002996499500291,
    ]  # fmt: skip
    neighbours = [
        -0.8414709848078965, 0.5403023058681398, 1.6905080806155672, 3.184679329127734,
        3.949800834995828, 5.039749335419993, 5.992997001166916, 7.005996499000291,
    ]  # fmt: skip
    right, wrong = (neighbours, halves) if interleaved else (halves, neighbours)
    assert torch.allclose(actual, torch.tensor(right), atol=1e-6)
    assert (actual - torch.tensor(wrong)).abs().max() > 1e-2


@pytest.mark.parametrize("interleaved", STYLES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_part_of_a_strided_head_is_rotated(dtype: Any, interleaved: bool, seed: int) -> None:
    torch.manual_seed(seed)
    qkv = torch.randn(2, 6, 3 * 4 * 80).to(dtype)
    positions = torch.randint(0, 16, (2, 6))
    cache = table(16, 32)
    heads = qkv[..., 320:640].unflatten(-1, (4, 80))
    expected = infini.ops.rotary_embedding(
        heads.contiguous(), positions, cache, interleaved=interleaved
    )
    permuted = heads.permute(3, 0, 2, 1).contiguous().permute(1, 3, 2, 0)
    for source in (heads, permuted, heads.transpose(1, 2).contiguous().transpose(1, 2)):
        apart = torch.full_like(source, float("nan"))
        infini.ops.rotary_embedding(source, positions, cache, interleaved=interleaved, out=apart)
        assert torch.equal(apart, expected)
        assert torch.equal(apart[..., 32:], heads[..., 32:])
        before = qkv.clone()
        infini.ops.rotary_embedding(source, positions, cache, interleaved=interleaved, out=source)
        assert torch.equal(source, expected)
        assert torch.equal(qkv[..., :320], before[..., :320])
        qkv.copy_(before)


@pytest.mark.parametrize(
    ("index", "position"),
    [
        *((torch.int32, one) for one in (16, -1, 2**31 - 1, -(2**31))),
        *((torch.int64, one) for one in (16, -1, 2**32, 2**62, 2**63 - 1, -(2**63))),
    ],
)
def test_positions_outside_the_table_are_refused(index: Any, position: int) -> None:
    x = torch.randn(3, 2, 8)
    before = x.clone()
    positions = torch.tensor([15, position, 0], dtype=index)
    with pytest.raises(ValueError) as error:
        infini.ops.rotary_embedding(x, positions, table(16, 8), out=x)
    assert str(error.value) == (
        f"rotary_embedding: `positions` is {position} at element 1; expected 0 to 15 (the rows of "
        "`cos_sin_cache` less `offset`)"
    )
    assert torch.equal(x, before)
    positions[1] = 15
    infini.ops.rotary_embedding(x, positions, table(16, 8), out=x)
    with pytest.raises(ValueError, match="expected -3 to 12"):
        infini.ops.rotary_embedding(x, positions, table(16, 8), offset=3, out=x)


def test_bad_arguments_are_named() -> None:
    x, positions = torch.randn(3, 2, 8), torch.tensor([0, 1, 2])
    for width, text in ((7, "7 columns"), (10, "10 columns")):
        with pytest.raises(ValueError, match=f"{text}; expected an even number of at most 8"):
            infini.ops.rotary_embedding(x, positions, torch.randn(4, width))
    with pytest.raises(TypeError, match="expected float32 or the dtype of `input`, float32"):
        infini.ops.rotary_embedding(x, positions, table(4, 8, torch.bfloat16))
    with pytest.raises(ValueError, match="`positions` has shape"):
        infini.ops.rotary_embedding(x, positions[:2], table(4, 8))
    with pytest.raises(TypeError, match="`positions` has dtype float32"):
        infini.ops.rotary_embedding(x, positions.float(), table(4, 8))
    with pytest.raises(ValueError, match="`offset` must be at least 0"):
        infini.ops.rotary_embedding(x, positions, table(4, 8), offset=-1)
    with pytest.raises(ValueError, match="share memory"):
        infini.ops.rotary_embedding(x[:2], positions[:2], table(4, 8), out=x[1:])


@pytest.mark.parametrize("shape", [(0, 2, 8), (3, 0, 8), (3, 2, 0)])
def test_empty_heads_stay_empty(shape: Any) -> None:
    x = torch.randn(shape)
    positions = torch.zeros(shape[0], dtype=torch.int32)
    assert infini.ops.rotary_embedding(x, positions, table(4, 0)).shape == shape


def test_threads_and_batches_do_not_change_the_bits(seed: int, by_threads: Any) -> None:
    torch.manual_seed(seed)
    x, positions, cache = torch.randn(700, 8, 128), torch.randint(0, 99, (700,)), table(99, 128)
    results = by_threads(lambda: infini.ops.rotary_embedding(x, positions, cache))
    assert all(torch.equal(results[0], other) for other in results[1:])
    alone = infini.ops.rotary_embedding(x[5:6], positions[5:6], cache)
    assert torch.equal(alone[0], results[0][5])


@pytest.mark.parametrize("interleaved", STYLES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_angles_of_each_element_broadcast(dtype: Any, interleaved: bool, seed: int) -> None:
    torch.manual_seed(seed)
    cases = [
        ((5, 8), (8,)),
        ((2, 3, 5, 8), (5, 8)),
        ((2, 3, 5, 8), (2, 1, 5, 8)),
        ((2, 3, 5, 80), (2, 1, 5, 32)),
        ((2, 3, 5, 8), (1, 1, 1, 0)),
        ((0, 3, 5, 8), (5, 8)),
        ((7,), (6,)),
    ]
    for shape, angles in cases:
        x = torch.randn(shape).to(dtype)
        cos, sin = torch.randn(angles).to(dtype), torch.randn(angles).to(dtype)
        width = angles[-1]
        head = x[..., :width].double()
        turned = torch.empty_like(head)
        if interleaved:
            turned[..., 0::2], turned[..., 1::2] = -head[..., 1::2], head[..., 0::2]
        else:
            turned = torch.cat([-head[..., width // 2 :], head[..., : width // 2]], -1)
        expected = torch.cat([head * cos.double() + turned * sin.double(), x[..., width:]], -1)
        out = torch.full_like(x, float("nan"))
        infini.ops.apply_rotary_pos_emb(x, cos, sin, interleaved=interleaved, out=out)
        assert torch.allclose(
            out.double(), expected, rtol=TOLERANCE[dtype], atol=6 * TOLERANCE[dtype]
        )
        infini.ops.apply_rotary_pos_emb(x, cos, sin, interleaved=interleaved, out=x)
        assert torch.equal(x, out)


def test_angles_that_do_not_fit_are_named() -> None:
    x = torch.randn(2, 3, 8)
    with pytest.raises(ValueError, match="expected leading sizes that broadcast"):
        infini.ops.apply_rotary_pos_emb(x, torch.randn(2, 8), torch.randn(2, 8))
    with pytest.raises(ValueError, match="9 columns"):
        infini.ops.apply_rotary_pos_emb(x, torch.randn(3, 9), torch.randn(3, 9))
    with pytest.raises(ValueError, match="`sin` has shape"):
        infini.ops.apply_rotary_pos_emb(x, torch.randn(3, 8), torch.randn(3, 6))
    with pytest.raises(TypeError, match="expected float32 or the dtype of `input`"):
        infini.ops.apply_rotary_pos_emb(x, torch.randn(3, 8).half(), torch.randn(3, 8).half())
