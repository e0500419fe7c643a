from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from norms import (  # type: ignore[import-not-found]  # noqa: E402  # tests/support
    rounding_orders,
)

import infini.ops  # noqa: E402  # after the setting or skip above


def oracle(x: Any, weight: Any = None, eps: Any = 1e-6) -> Any:
    wide = x.to(torch.float64)
    scale = torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)
    return wide * scale * (1 if weight is None else weight.to(torch.float64))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(("hidden", "value"), [(4096, 300.0), (4096, 60000.0), (65536, 1.0)])
def test_squares_of_halves_do_not_overflow(dtype: Any, hidden: Any, value: Any) -> None:
    x = torch.full((2, hidden), value, dtype=dtype)
    assert torch.equal(infini.ops.rms_norm(x), torch.ones(2, hidden, dtype=dtype))


@pytest.mark.parametrize("eps", [1e-6, 1e-5])
def test_a_spike_keeps_its_small_neighbours_exact(eps: Any) -> None:
    x = torch.full((1, 4096), 1e-3)
    x[0, 100] = 1e3
    actual = infini.ops.rms_norm(x, eps=eps).to(torch.float64)
    expected = oracle(x, eps=eps)
    assert ((actual - expected) / expected).abs().max() <= 1e-6


def test_zero_rows_are_zero_with_eps_and_nan_without() -> None:
    x = torch.zeros(2, 8)
    assert torch.equal(infini.ops.rms_norm(x), x)
    assert infini.ops.rms_norm(x, eps=0).isnan().all()


def test_a_small_eps_is_not_lost_in_half_precision() -> None:
    x = torch.zeros(1, 64, dtype=torch.float16)
    x[0, 0] = 6e-8
    actual = infini.ops.rms_norm(x, eps=1e-12)
    torch.testing.assert_close(actual, oracle(x, eps=1e-12).to(torch.float16), rtol=1e-3, atol=0)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_rounds_once_after_the_weight(dtype: Any) -> None:
    row, weight, once, twice = rounding_orders(dtype)
    assert (once != twice).float().mean() > 0.2  # the two legal orders can be told apart
    assert torch.equal(infini.ops.rms_norm(row, weight), once)
    nothing = torch.zeros_like(row)
    assert torch.equal(infini.ops.add_rms_norm(row, nothing, weight)[0], once)
    infini.ops.fused_add_rms_norm(row, nothing, weight)
    assert torch.equal(row, once)


@pytest.mark.smoke
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("hidden", [576, 37, 2049])
def test_a_row_does_not_depend_on_its_batch(dtype: Any, hidden: Any, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    row = torch.randn(1, hidden, generator=generator).to(dtype)
    weight = torch.randn(hidden, generator=generator).to(dtype)
    alone = infini.ops.rms_norm(row, weight)
    for batch in (2, 16, 17, 64):
        for position in {0, batch // 2, batch - 1}:
            x = torch.randn(batch, hidden, generator=generator).to(dtype)
            x[position] = row
            assert torch.equal(infini.ops.rms_norm(x, weight)[position], alone[0])


def test_strides_do_not_change_the_bits(seed: int) -> None:
    x = torch.randn(6, 1030, generator=torch.Generator().manual_seed(seed))
    strided = torch.empty(1030, 6).t().copy_(x)
    assert torch.equal(infini.ops.rms_norm(strided), infini.ops.rms_norm(x))


def test_weight_of_another_dtype_is_refused() -> None:
    with pytest.raises(TypeError) as error:
        infini.ops.rms_norm(torch.ones(2, 4, dtype=torch.bfloat16), torch.ones(4))
    assert str(error.value) == (
        "rms_norm on cpu:0: `weight` has dtype float32, but `input` has bfloat16; there is no type "
        "promotion, so convert one of them"
    )


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (
            (torch.ones(()),),
            ValueError,
            "`input` has shape []; expected a rank of at least 1",
        ),
        (
            (torch.ones(2, 4), torch.ones(5)),
            ValueError,
            "`weight` has shape [5]; expected [4] ([input.shape[-1]])",
        ),
        (
            (torch.ones(2, 4, dtype=torch.int32),),
            TypeError,
            "`input` has dtype int32; expected one of float16, bfloat16, float32, float64",
        ),
    ],
)
def test_bad_arguments_are_named(arguments: Any, kind: Any, message: Any) -> None:
    with pytest.raises(kind) as error:
        infini.ops.rms_norm(*arguments)
    assert str(error.value) == f"rms_norm on cpu:0: {message}"


@pytest.mark.parametrize("eps", [-1e-6, float("nan")])
def test_eps_must_not_be_negative(eps: Any) -> None:
    with pytest.raises(ValueError, match=r"rms_norm: `eps` must be at least 0, got"):
        infini.ops.rms_norm(torch.ones(2, 4), eps=eps)


def test_optional_weight_comes_and_goes() -> None:
    x, weight = torch.randn(3, 16), torch.randn(16)
    for _ in range(3):
        torch.testing.assert_close(
            infini.ops.rms_norm(x, weight).double(), oracle(x, weight), rtol=1e-5, atol=1e-6
        )
        torch.testing.assert_close(infini.ops.rms_norm(x).double(), oracle(x), rtol=1e-5, atol=1e-6)
