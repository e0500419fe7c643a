"""Library modules against NumPy and the math module."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from linnet_helpers.interpreter import run

import linnet
from linnet.check import check_file, check_text
from linnet.graph.binding import graph_for

LIBRARY = Path(linnet.__file__).parent / "library"
RANDOM = np.random.default_rng(7)
DTYPES = {"float32": "f32", "float64": "f64", "int64": "i64", "int32": "i32", "bool": "bool"}


def call(use: str, signature: str, body: str, **inputs: Any) -> Any:
    """Runs `body` as an entry over the inputs."""
    text = f"module m\nuse {use}\npub entry run{signature} {{\n    return {body}\n}}\n"
    arrays = {name: None if value is None else np.asarray(value) for name, value in inputs.items()}
    arrays = {
        name: a.astype(np.float32) if a is not None and a.dtype == np.float64 else a
        for name, a in arrays.items()
    }
    specs = {
        name: None if a is None else (a.shape, DTYPES[a.dtype.name]) for name, a in arrays.items()
    }
    graph = graph_for(check_text(text), "run", specs)
    return run(graph, {name: a for name, a in arrays.items() if a is not None})


def normal(*shape: int) -> np.ndarray[Any, Any]:
    return RANDOM.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("path", sorted(LIBRARY.rglob("*.linnet")), ids=lambda p: p.stem)
def test_module_checks_without_a_word(path: Path) -> None:
    assert check_file(path).diagnostics == ()


def test_linear_with_and_without_bias() -> None:
    x, w, b = normal(2, 3, 4), normal(5, 4), normal(5)
    signature = (
        "<*S: Shape, I: Dim, O: Dim>(x: Tensor[*S, I; f32], w: Tensor[O, I; f32], "
        "b: Tensor[O; f32]?) -> Tensor[*S, O; f32]"
    )
    use = "std.nn.linear::{linear}"
    found = call(use, signature, "linear(x, w, b)", x=x, w=w, b=b)
    np.testing.assert_allclose(found, x @ w.T + b, rtol=1e-5)
    found = call(use, signature, "linear(x, w, b)", x=x, w=w, b=None)
    np.testing.assert_allclose(found, x @ w.T, rtol=1e-5)


def test_products_of_linalg() -> None:
    a, b = normal(2, 3, 4), normal(2, 4, 5)
    use = "std.linalg::{batched_matmul, dot, matmul, outer, transpose}"
    signature = (
        "(a: Tensor[2, 3, 4; f32], b: Tensor[2, 4, 5; f32])"
        " -> (Tensor[2, 5, 3; f32], Tensor[3, 5; f32], Tensor[4, 5; f32], f32)"
    )
    body = (
        "(transpose(batched_matmul(a, b)), matmul(a[0], b[0]), outer(a[0, 0], b[0, 0]), "
        "dot(a[0, 0], a[0, 0]))"
    )
    moved, product, table, scalar = call(use, signature, body, a=a, b=b)
    np.testing.assert_allclose(moved, (a @ b).transpose(0, 2, 1), rtol=1e-5)
    np.testing.assert_allclose(product, a[0] @ b[0], rtol=1e-5)
    np.testing.assert_allclose(table, np.outer(a[0, 0], b[0, 0]), rtol=1e-5)
    np.testing.assert_allclose(scalar, (a[0, 0] ** 2).sum(), rtol=1e-5)


def test_norms() -> None:
    x, w, b = normal(2, 3, 8), normal(8), normal(8)
    signature = (
        "<*S: Shape>(x: Tensor[*S, 8; f32], w: Tensor[8; f32], b: Tensor[8; f32])"
        " -> (Tensor[*S, 8; f32], Tensor[*S, 8; f32])"
    )
    use = "std.nn.norm::{layer_norm, rms_norm}"
    body = "(rms_norm(x, w), layer_norm(x, w, some(b), eps = 1e-3))"
    rms, layer = call(use, signature, body, x=x, w=w, b=b)
    np.testing.assert_allclose(
        rms, x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * w, rtol=1e-5
    )
    centred = x - x.mean(-1, keepdims=True)
    scale = np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-3)
    np.testing.assert_allclose(layer, centred / scale * w + b, rtol=1e-4, atol=1e-6)


def test_norms_of_channels() -> None:
    x, w, b, mean = normal(2, 4, 3, 3), normal(4), normal(4), normal(4)
    variance = np.abs(normal(4)) + 0.5
    signature = (
        "<B: Dim, H: Dim, W: Dim>(x: Tensor[B, 4, H, W; f32], w: Tensor[4; f32], "
        "b: Tensor[4; f32], mean: Tensor[4; f32], var_: Tensor[4; f32])"
        " -> (Tensor[B, 4, H, W; f32], Tensor[B, 4, H, W; f32])\nwhere H > 0, W > 0"
    )
    use = "std.nn.norm::{batch_norm, group_norm}"
    body = "(batch_norm(x, mean, var_, w, b), group_norm<2>(x, w, b))"
    batch, group = call(use, signature, body, x=x, w=w, b=b, mean=mean, var_=variance)
    c = (slice(None), None, None)
    want = (x - mean[c]) / np.sqrt(variance[c] + 1e-5) * w[c] + b[c]
    np.testing.assert_allclose(batch, want, rtol=1e-4, atol=1e-5)
    parts = x.reshape(2, 2, 18)
    parts = parts - parts.mean(-1, keepdims=True)
    parts = parts / np.sqrt((parts**2).mean(-1, keepdims=True) + 1e-5)
    want = parts.reshape(x.shape) * w[c] + b[c]
    np.testing.assert_allclose(group, want, rtol=1e-4, atol=1e-5)


def test_activations() -> None:
    x = np.linspace(-6, 6, 49, dtype=np.float32)
    use = "std.nn.activations::{gelu, gelu_erf, relu, sigmoid, silu}"
    result = ", ".join(["Tensor[N; f32]"] * 5)
    signature = f"<N: Dim>(x: Tensor[N; f32]) -> ({result})"
    found = call(use, signature, "(relu(x), sigmoid(x), silu(x), gelu(x), gelu_erf(x))", x=x)
    sigmoid = 1 / (1 + np.exp(-x))
    cubic = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
    normal_cdf = np.array([0.5 * (1 + math.erf(v / math.sqrt(2))) for v in x])
    wants = [np.maximum(x, 0), sigmoid, x * sigmoid, 0.5 * x * (1 + cubic), x * normal_cdf]
    for got, want in zip(found, wants, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_softmax_sums_to_one_and_survives_large_values() -> None:
    x = normal(3, 5) * 1000
    signature = "<*S: Shape, N: Dim>(x: Tensor[*S, N; f32]) -> Tensor[*S, N; f32]"
    found = call("std.nn.softmax::{softmax}", signature, "softmax(x)", x=x)
    power = np.exp(x - x.max(-1, keepdims=True))
    np.testing.assert_allclose(found, power / power.sum(-1, keepdims=True), rtol=1e-5)


def test_embedding_takes_rows() -> None:
    table, ids = normal(6, 3), np.array([[5, 0], [1, 1]])
    signature = (
        "<*S: Shape, V: Dim, H: Dim>(ids: Tensor[*S; i64], t: Tensor[V, H; f32])"
        " -> Tensor[*S, H; f32]"
    )
    found = call("std.nn.embedding::{embedding}", signature, "embedding(ids, t)", ids=ids, t=table)
    assert np.array_equal(found, table[ids])


def test_swiglu() -> None:
    x, gate, up, down = normal(2, 4), normal(6, 4), normal(6, 4), normal(4, 6)
    signature = (
        "<H: Dim, I: Dim>(x: Tensor[2, H; f32], g: Tensor[I, H; f32], u: Tensor[I, H; f32], "
        "d: Tensor[H, I; f32]) -> Tensor[2, H; f32]"
    )
    found = call("std.nn.mlp::{swiglu}", signature, "swiglu(x, g, u, d)", x=x, g=gate, u=up, d=down)
    opened = x @ gate.T
    want = (opened / (1 + np.exp(-opened)) * (x @ up.T)) @ down.T
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5)


def test_rope_pairs_halves() -> None:
    x, positions = np.arange(8, dtype=np.float32).reshape(1, 1, 1, 8), np.array([1])
    use = "std.nn.rope::{rope, rope_angles, rope_rows}"
    signature = (
        "<S: Dim>(x: Tensor[1, 1, S, 8; f32], p: Tensor[S; i64])"
        " -> (Tensor[1, 1, S, 8; f32], Tensor[1, 1, S, 8; f32])"
    )
    body = (
        "(rope(x, cos(rope_angles<[S], 8>(p, 10000.0)), sin(rope_angles<[S], 8>(p, 10000.0))), "
        "rope_rows(x, reshape(cos(rope_angles<[S], 8>(p, 10000.0)), [1, S, 8]), "
        "reshape(sin(rope_angles<[S], 8>(p, 10000.0)), [1, S, 8])))"
    )
    found, rows = call(use, signature, body, x=x, p=positions)
    want = []
    for i in range(8):
        angle = 10000 ** (-(i % 4) / 4)
        partner = -(i + 4) if i < 4 else i - 4
        want.append(i * math.cos(angle) + partner * math.sin(angle))
    np.testing.assert_allclose(found.ravel(), want, rtol=1e-5, atol=1e-5)
    assert np.array_equal(found, rows)


def attend(q: Any, k: Any, v: Any, scale: float, mask: Any) -> Any:
    scores = np.where(mask, q @ np.swapaxes(k, -1, -2) * scale, -np.inf)
    top = np.maximum(scores.max(-1, keepdims=True), -1e30)
    power = np.exp(scores - top)
    total = power.sum(-1, keepdims=True)
    return (power / np.where(total == 0, 1, total)) @ v


ATTENTION = "std.nn.attention::{attention, attention_rows, causal_mask, grouped_attention}"
QKV = "q: Tensor[B, H, Q, D; f32], k: Tensor[B, H, K, D; f32], v: Tensor[B, H, K, D; f32]"


@pytest.mark.parametrize(("queries", "keys"), [(2, 5), (5, 5), (5, 2), (1, 7)])
def test_attention_aligns_its_causal_mask_at_the_end(queries: int, keys: int) -> None:
    q, k, v = normal(2, 3, queries, 4), normal(2, 3, keys, 4), normal(2, 3, keys, 4)
    signature = f"<B: Dim, H: Dim, Q: Dim, K: Dim, D: Dim>({QKV}) -> Tensor[B, H, Q, D; f32]"
    body = "attention(q, k, v, 0.5, some(causal_mask<Q, K>()))"
    found = call(ATTENTION, signature, body, q=q, k=k, v=v)
    mask = np.arange(keys)[None] <= np.arange(queries)[:, None] + (keys - queries)
    np.testing.assert_allclose(found, attend(q, k, v, 0.5, mask), rtol=1e-4, atol=1e-6)
    if queries == 5 and keys == 2:
        assert not found[:, :, :3].any()


def test_attention_with_masks_for_rows() -> None:
    q, k, v = normal(2, 3, 2, 4), normal(2, 3, 4, 4), normal(2, 3, 4, 4)
    mask = np.array([[[1, 1, 0, 0]] * 2, [[0, 0, 0, 0]] * 2], dtype=bool)
    signature = (
        f"<B: Dim, H: Dim, Q: Dim, K: Dim, D: Dim>({QKV}, m: Tensor[B, Q, K; bool])"
        " -> Tensor[B, H, Q, D; f32]"
    )
    found = call(ATTENTION, signature, "attention_rows(q, k, v, 0.5, m)", q=q, k=k, v=v, m=mask)
    np.testing.assert_allclose(found, attend(q, k, v, 0.5, mask[:, None]), rtol=1e-4, atol=1e-6)
    assert not found[1].any()


def test_grouped_attention_repeats_each_key_head_for_its_neighbours() -> None:
    q, k, v = normal(2, 4, 3, 4), normal(2, 2, 5, 4), normal(2, 2, 5, 4)
    signature = (
        "(q: Tensor[2, 4, 3, 4; f32], k: Tensor[2, 2, 5, 4; f32], v: Tensor[2, 2, 5, 4; f32])"
        " -> Tensor[2, 4, 3, 4; f32]"
    )
    found = call(ATTENTION, signature, "grouped_attention(q, k, v, 0.5)", q=q, k=k, v=v)
    want = attend(q, k.repeat(2, 1), v.repeat(2, 1), 0.5, True)
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-6)


def test_sink_takes_a_share_and_mixes_nothing() -> None:
    q, k, v, sinks = normal(1, 2, 3, 4), normal(1, 1, 5, 4), normal(1, 1, 5, 4), normal(2)
    signature = (
        "(q: Tensor[1, 2, 3, 4; f32], k: Tensor[1, 1, 5, 4; f32], v: Tensor[1, 1, 5, 4; f32], "
        "s: Tensor[2; f32]) -> Tensor[1, 2, 3, 4; f32]"
    )
    use = "std.nn.attention::{sink_attention}"
    found = call(use, signature, "sink_attention(q, k, v, s, 0.5)", q=q, k=k, v=v, s=sinks)
    power = np.exp(q @ np.swapaxes(k, -1, -2) * 0.5)
    total = power.sum(-1, keepdims=True) + np.exp(sinks)[None, :, None, None]
    np.testing.assert_allclose(found, (power / total) @ v, rtol=1e-4, atol=1e-6)


def test_paged_attention_reads_pages_in_the_order_of_the_table() -> None:
    pool_k, pool_v = normal(1, 2, 12, 4), normal(1, 2, 12, 4)
    q, table, positions = normal(2, 4, 1, 4), np.array([[2, 0], [1, 2]]), np.array([4, 2])
    signature = (
        "(q: Tensor[2, 4, 1, 4; f32], k: Tensor[1, 2, 12, 4; f32], v: Tensor[1, 2, 12, 4; f32], "
        "t: Tensor[2, 2; i64], p: Tensor[2; i64]) -> Tensor[2, 4, 1, 4; f32]"
    )
    use = "std.nn.attention::{paged_attention}"
    body = "paged_attention<4>(q, k, v, t, p, 0.5)"
    found = call(use, signature, body, q=q, k=pool_k, v=pool_v, t=table, p=positions)
    for row in range(2):
        slots = [page * 4 + o for page in table[row] for o in range(4)][: positions[row] + 1]
        k, v = pool_k[0, :, slots], pool_v[0, :, slots]
        k, v = k.transpose(1, 0, 2).repeat(2, 0), v.transpose(1, 0, 2).repeat(2, 0)
        want = attend(q[row], k, v, 0.5, True)
        np.testing.assert_allclose(found[row], want, rtol=1e-4, atol=1e-6)


CACHE = "c: Tensor[3, 2, 5, 2; f32]"


def written(name: str, extra: str, arguments: str, **inputs: Any) -> Any:
    signature = f"({CACHE}, {extra}) -> Tensor[3, 2, 5, 2; f32]"
    return call(f"std.nn.cache::{{{name}}}", signature, f"{name}(c, {arguments})", **inputs)


def test_cache_writes() -> None:
    cache, one, span = normal(3, 2, 5, 2), normal(3, 2, 1, 2), normal(3, 2, 2, 2)
    want = cache.copy()
    want[:, :, 3] = one[:, :, 0]
    v = "v: Tensor[3, 2, 1, 2; f32]"
    assert np.array_equal(written("write_at", f"{v}, at: i64", "v, at", c=cache, v=one, at=3), want)
    want = cache.copy()
    want[:, :, 2:4] = span
    wide = "v: Tensor[3, 2, 2, 2; f32], at: i64"
    assert np.array_equal(written("write_span", wide, "v, at", c=cache, v=span, at=2), want)
    want = cache.copy()
    want[:, :, 4] = span[:, :, 0]
    assert np.array_equal(written("write_span", wide, "v, at", c=cache, v=span, at=4), want)
    at = np.array([4, 0, 2])
    want = cache.copy()
    want[np.arange(3), :, at] = one[:, :, 0]
    rows = f"{v}, at: Tensor[3; i64]"
    assert np.array_equal(written("write_rows", rows, "v, at", c=cache, v=one, at=at), want)
    whole = normal(1, 2, 5, 2)
    want = cache.copy()
    want[1] = whole[0]
    slot = "v: Tensor[1, 2, 5, 2; f32], s: i64"
    assert np.array_equal(written("write_slot", slot, "v, s", c=cache, v=whole, s=1), want)
    tokens, rows_, places = normal(4, 2, 2), np.array([0, 2, 0, 0]), np.array([1, 4, 1, 3])
    want = cache.copy()
    for m in range(4):
        want[rows_[m], :, places[m]] = tokens[m]
    many = "v: Tensor[4, 2, 2; f32], r: Tensor[4; i64], p: Tensor[4; i64]"
    found = written("write_tokens", many, "v, r, p", c=cache, v=tokens, r=rows_, p=places)
    assert np.array_equal(found, want)
    many = many.replace("[4, 2, 2; f32]", "[4, 2, 1, 2; f32]")
    inputs = {"c": cache, "v": tokens[:, :, None], "r": rows_, "p": places}
    assert np.array_equal(written("write_slots", many, "v, r, p", **inputs), want)


def test_argmax_takes_the_first_of_equals() -> None:
    x = np.array([[1.0, 3, 3], [2, 1, 0], [-5, -5, -5]])
    signature = "<*S: Shape, V: Dim>(x: Tensor[*S, V; f32]) -> Tensor[*S; i32]\nwhere V > 0"
    found = call("std.nn.decoding::{argmax}", signature, "argmax(x)", x=x)
    assert found.tolist() == [1, 0, 0]
