"""The Llama example against a NumPy decoder written from the papers' formulas."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from linnet_helpers.interpreter import run

from linnet.check import check_file
from linnet.graph.binding import graph_for, manifest

EXAMPLE = Path(__file__).parents[2] / "examples" / "llama.linnet"
SIZES = {
    "Vocab": 11,
    "H": 8,
    "Inner": 12,
    "Layers": 2,
    "Heads": 4,
    "KeyHeads": 2,
    "D": 4,
    "Batch": 2,
    "Context": 6,
    "T": "f32",
}
BASE, EPS = 10000.0, 1e-5


def reference(tokens: Any, weights: dict[str, Any], head: Any) -> Any:
    """Logits of every position of every row."""

    def norm(x: Any, w: Any) -> Any:
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPS) * w

    def rotate(x: Any) -> Any:
        half = x.shape[-1] // 2
        angles = np.arange(x.shape[-2])[:, None] * BASE ** (-np.arange(half) / half)
        a, b = x[..., :half], x[..., half:]
        c, s = np.cos(angles), np.sin(angles)
        return np.concatenate([a * c - b * s, b * c + a * s], -1)

    rows, length = tokens.shape
    x = weights["model.embed_tokens.weight"][tokens]
    for i in range(SIZES["Layers"]):  # type: ignore[arg-type]  # sizes are numbers
        w = {k.split(f"layers.{i}.")[1]: v for k, v in weights.items() if f"layers.{i}." in k}
        y = norm(x, w["input_layernorm.weight"])

        def heads(name: str, count: int, y: Any = y, w: Any = w) -> Any:
            flat = y @ w[f"self_attn.{name}.weight"].T
            return flat.reshape(rows, length, count, -1).transpose(0, 2, 1, 3)

        q, k, v = rotate(heads("q_proj", 4)), rotate(heads("k_proj", 2)), heads("v_proj", 2)
        k, v = k.repeat(2, 1), v.repeat(2, 1)
        scores = q @ k.swapaxes(-1, -2) / math.sqrt(4)
        scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
        share = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (share / share.sum(-1, keepdims=True)) @ v
        x = (
            x
            + mixed.transpose(0, 2, 1, 3).reshape(rows, length, -1) @ w["self_attn.o_proj.weight"].T
        )
        y = norm(x, w["post_attention_layernorm.weight"])
        gate = y @ w["mlp.gate.weight"].T
        x = x + (gate / (1 + np.exp(-gate)) * (y @ w["mlp.up.weight"].T)) @ w["mlp.down.weight"].T
    return norm(x, weights["model.norm.weight"]) @ head.T


def test_prefill_then_decode_equals_the_whole_sequence() -> None:
    program = check_file(EXAMPLE)
    assert program.diagnostics == ()
    random = np.random.default_rng(3)
    weights = {
        e.path: random.normal(size=e.shape).astype(np.float32)
        for e in manifest(program, generics=SIZES)
        if e.kind == "param" and not e.optional
    }
    tokens = random.integers(0, 11, (2, 5))
    for own_head in (False, True):
        present = {"lm_head.weight"} if own_head else set()
        head = weights["lm_head.weight" if own_head else "model.embed_tokens.weight"]
        want = reference(tokens, weights, head)
        states: dict[str, Any] = {}
        prompt = {"tokens": ((2, 3), "i64")}
        graph = graph_for(program, "prefill", prompt, generics=SIZES, bound=present)
        found = run(graph, {"tokens": tokens[:, :3]}, weights, states)
        np.testing.assert_allclose(found, want[:, 2], rtol=2e-4, atol=2e-4)
        step = {"tokens": ((2, 1), "i64"), "positions": ((2,), "i64")}
        graph = graph_for(program, "decode", step, generics=SIZES, bound=present)
        for at in (3, 4):
            inputs = {"tokens": tokens[:, at : at + 1], "positions": [at, at]}
            found = run(graph, inputs, weights, states)
            np.testing.assert_allclose(found, want[:, at], rtol=2e-4, atol=2e-4)


def test_semantic_calls_of_a_step_are_marked_with_their_blocks() -> None:
    step = {"tokens": ((2, 1), "i64"), "positions": ((2,), "i64")}
    graph = graph_for(check_file(EXAMPLE), "decode", step, generics=SIZES)
    linears = [c.path for c in graph.semantic_calls("std.nn.linear::linear")]
    assert linears[:7] == [
        *(f"model.layers.0.self_attn.{name}_proj" for name in "qkvo"),
        *["model.layers.0.mlp"] * 3,
    ]
    assert len(graph.semantic_calls("std.nn.cache::write_rows")) == 4
    assert len(graph.states) == 4
