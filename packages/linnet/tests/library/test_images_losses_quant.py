"""Convolutions, pooling, losses and quantised products against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from linnet_helpers.interpreter import run

from linnet.check import check_text
from linnet.graph.binding import graph_for

RANDOM = np.random.default_rng(11)
DTYPES = {"float32": "f32", "int64": "i64", "int8": "i8", "uint8": "u8"}


def normal(*shape: int) -> np.ndarray[Any, Any]:
    return RANDOM.normal(size=shape).astype(np.float32)


def call(use: str, params: str, result: str, body: str, **inputs: Any) -> Any:
    """Runs `body`, whose parameters have the shapes and dtypes of the inputs, as an entry."""
    text = f"module m\nuse {use}\npub entry run({params}) -> {result} {{\n    return {body}\n}}\n"
    specs = {name: (a.shape, DTYPES[a.dtype.name]) for name, a in inputs.items()}
    return run(graph_for(check_text(text), "run", specs), inputs)


def convolve(x: Any, w: Any, stride: int, pad: int) -> Any:
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    k = w.shape[2]
    size = (x.shape[2] - k) // stride + 1
    y = np.zeros((x.shape[0], w.shape[0], size, size))
    for p in range(size):
        for q in range(size):
            window = x[:, :, p * stride : p * stride + k, q * stride : q * stride + k]
            y[:, :, p, q] = np.einsum("bcrs,ocrs->bo", window, w)
    return y


@pytest.mark.parametrize(("stride", "pad"), [(1, 0), (2, 1), (3, 2)])
def test_convolution(stride: int, pad: int) -> None:
    x, w, b = normal(2, 3, 7, 7), normal(4, 3, 3, 3), normal(4)
    size = (7 + 2 * pad - 3) // stride + 1
    found = call(
        "std.nn.conv::{conv2d}",
        "x: Tensor[2, 3, 7, 7; f32], w: Tensor[4, 3, 3, 3; f32], b: Tensor[4; f32]",
        f"Tensor[2, 4, {size}, {size}; f32]",
        f"conv2d<3, {stride}, {pad}>(x, w, some(b))",
        x=x,
        w=w,
        b=b,
    )
    want = convolve(x, w, stride, pad) + b[:, None, None]
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5)


def test_convolution_of_one_axis_and_padding() -> None:
    x, w = normal(2, 3, 9), normal(4, 3, 3)
    params = "x: Tensor[2, 3, 9; f32], w: Tensor[4, 3, 3; f32]"
    found = call(
        "std.nn.conv::{conv1d}", params, "Tensor[2, 4, 5; f32]", "conv1d<3, 2, 1>(x, w)", x=x, w=w
    )
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1)))
    want = np.stack(
        [np.einsum("bcr,ocr->bo", padded[:, :, i : i + 3], w) for i in range(0, 9, 2)], -1
    )
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5)
    image = normal(1, 2, 2, 3)
    found = call(
        "std.nn.conv::{zero_pad}",
        "x: Tensor[1, 2, 2, 3; f32]",
        "Tensor[1, 2, 4, 5; f32]",
        "zero_pad<1>(x)",
        x=image,
    )
    assert np.array_equal(found, np.pad(image, ((0, 0), (0, 0), (1, 1), (1, 1))))


def test_pooling_and_upsampling() -> None:
    x = normal(2, 3, 5, 5)
    found, mean, large = call(
        "std.nn.pool::{global_average_pool2d, max_pool2d}\nuse std.nn.resize::{upsample_nearest2d}",
        "x: Tensor[2, 3, 5, 5; f32]",
        "(Tensor[2, 3, 2, 2; f32], Tensor[2, 3; f32], Tensor[2, 3, 10, 10; f32])",
        "(max_pool2d<2, 2>(x), global_average_pool2d(x), upsample_nearest2d<2>(x))",
        x=x,
    )
    assert np.array_equal(found, x[:, :, :4, :4].reshape(2, 3, 2, 2, 2, 2).max((3, 5)))
    np.testing.assert_allclose(mean, x.mean((2, 3)), rtol=1e-5)
    assert np.array_equal(large, x.repeat(2, 2).repeat(2, 3))


def test_losses() -> None:
    hidden, head = normal(4, 3), normal(6, 3)
    targets, weights = np.array([0, 5, 2, 2]), np.abs(normal(4))
    logits = hidden @ head.T
    found = call(
        "std.nn.loss::{cross_entropy, entropy, linear_cross_entropy, linear_entropy, "
        "linear_token_log_probs, log_softmax, split_normalizer, split_target_logits}\n"
        "use std.nn.linear::{linear}",
        "h: Tensor[4, 3; f32], w: Tensor[6, 3; f32], t: Tensor[4; i64], s: Tensor[4; f32]",
        "(Tensor[4, 6; f32], Tensor[4; f32], f32, f32, Tensor[4; f32], Tensor[4; f32], "
        "(Tensor[4; f32], Tensor[4; f32]), Tensor[4; f32])",
        "(log_softmax(linear(h, w)), linear_token_log_probs(h, w, t), "
        "cross_entropy(linear(h, w), t, s), linear_cross_entropy(h, w, t, s), "
        "entropy(linear(h, w)), linear_entropy(h, w), split_normalizer(linear(h, w)), "
        "split_target_logits(linear(h, w), t, 2))",
        h=hidden,
        w=head,
        t=targets,
        s=weights,
    )
    scores = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    tokens = scores[np.arange(4), targets]
    loss = -(tokens * weights).sum()
    spread = -(np.exp(scores) * scores).sum(-1)
    shard = np.where(targets >= 2, logits[np.arange(4), np.maximum(targets - 2, 0)], 0)
    wants = [scores, tokens, loss, loss, spread, spread]
    for got, want in zip(found[:6], wants, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    top, total = found[6]
    np.testing.assert_allclose(top + np.log(total), np.log(np.exp(logits).sum(-1)), rtol=1e-4)
    np.testing.assert_allclose(found[7], shard, rtol=1e-4, atol=1e-5)


def test_rows_of_8_and_4_bits() -> None:
    x, scale, bias = normal(2, 6), np.abs(normal(4)), normal(4)
    rows = RANDOM.integers(-128, 128, (4, 6)).astype(np.int8)
    packed = RANDOM.integers(0, 256, (4, 3)).astype(np.uint8)
    eight, four = call(
        "std.quant::{linear_int4_rows, linear_int8_rows}",
        "x: Tensor[2, 6; f32], w: Tensor[4, 6; i8], p: Tensor[4, 3; u8], s: Tensor[4; f32], "
        "b: Tensor[4; f32]",
        "(Tensor[2, 4; f32], Tensor[2, 4; f32])",
        "(linear_int8_rows(x, w, s, some(b)), linear_int4_rows(x, p, s))",
        x=x,
        w=rows,
        p=packed,
        s=scale,
        b=bias,
    )
    np.testing.assert_allclose(eight, x @ (rows * scale[:, None]).T + bias, rtol=1e-4, atol=1e-3)
    digits = np.stack([packed & 15, packed >> 4], -1).reshape(4, 6).astype(np.float32)
    np.testing.assert_allclose(four, x @ ((digits - 8) * scale[:, None]).T, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("ordered", [False, True])
def test_groups_of_4_bits(ordered: bool) -> None:
    x = normal(2, 8)
    packed = RANDOM.integers(0, 256, (3, 2, 2)).astype(np.uint8)
    scale, zero = np.abs(normal(3, 2)), RANDOM.integers(0, 16, (3, 2)).astype(np.float32)
    order = RANDOM.permutation(8)
    found = call(
        "std.quant::{linear_int4_groups}",
        "x: Tensor[2, 8; f32], p: Tensor[3, 2, 2; u8], s: Tensor[3, 2; f32], z: Tensor[3, 2; f32], "
        "o: Tensor[8; i64]",
        "Tensor[2, 3; f32]",
        f"linear_int4_groups(x, p, s, z, {'some(o)' if ordered else 'none'})",
        x=x,
        p=packed,
        s=scale,
        z=zero,
        o=order,
    )
    digits = np.stack([packed & 15, packed >> 4], -1).reshape(3, 2, 4).astype(np.float32)
    weight = ((digits - zero[..., None]) * scale[..., None]).reshape(3, 8)
    if ordered:
        weight = weight[:, np.argsort(order)]
    np.testing.assert_allclose(found, x @ weight.T, rtol=1e-4, atol=1e-4)
