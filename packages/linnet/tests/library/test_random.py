"""Threefry against its published vectors, and the rest against values of jax.random 0.10."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from linnet_helpers.interpreter import run

from linnet.check import check_text
from linnet.graph.binding import graph_for

KEY = np.array([123456789, 987654321])


def call(names: str, params: str, result: str, body: str, **inputs: Any) -> Any:
    """Runs `body` as an entry."""
    text = f"module m\nuse std.random::{{{names}}}\npub entry run({params}) -> {result} {{\n"
    dtypes = {"int64": "i64", "float32": "f32"}
    specs = {name: (a.shape, dtypes[a.dtype.name]) for name, a in inputs.items()}
    graph = graph_for(check_text(f"{text}    return {body}\n}}\n"), "run", specs)
    return run(graph, inputs)


@pytest.mark.parametrize(
    ("key", "counters", "want"),
    [
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_threefry_gives_its_known_answers(
    key: tuple[int, int], counters: tuple[int, int], want: tuple[int, int]
) -> None:
    high, low = call(
        "threefry",
        "k: Tensor[2; i64], h: Tensor[1; i64], l: Tensor[1; i64]",
        "(Tensor[1; i64], Tensor[1; i64])",
        "threefry(k, h, l)",
        k=np.array(key),
        h=np.array(counters[:1]),
        l=np.array(counters[1:]),
    )
    assert (high[0], low[0]) == want


def test_keys_and_numbers_are_those_of_jax() -> None:
    keys, folded, drawn, shares = call(
        "bits, fold_in, split, uniform",
        "k: Tensor[2; i64]",
        "(Tensor[3, 2; i64], Tensor[2; i64], Tensor[5; i64], Tensor[5; f32])",
        "(split<3>(k), fold_in(k, 7), bits<5>(k), uniform<5>(k))",
        k=KEY,
    )
    assert keys.tolist() == [
        [1930033649, 280298549],
        [2929342523, 88350670],
        [2458506199, 2452681485],
    ]
    assert folded.tolist() == [2143600969, 1296818912]
    assert drawn.tolist() == [1673330116, 2883463157, 12132570, 3501577949, 1083275743]
    assert shares.tolist() == [
        0.3896024227142334,
        0.6713584661483765,
        0.0028247833251953125,
        0.8152745962142944,
        0.25221967697143555,
    ]


def test_categorical_draws_what_jax_draws() -> None:
    def draw(logits: Any) -> Any:
        rows, width = logits.shape
        return call(
            "categorical",
            f"k: Tensor[2; i64], l: Tensor[{rows}, {width}; f32]",
            f"Tensor[{rows}; i32]",
            "categorical(k, l)",
            k=KEY,
            l=logits,
        ).tolist()

    assert draw((np.arange(12).reshape(4, 3) % 5).astype(np.float32)) == [1, 0, 2, 0]
    flat = np.zeros((12, 5), np.float32)
    assert draw(flat) == [3, 0, 1, 3, 4, 1, 4, 1, 4, 4, 2, 0]


def test_normal_numbers_have_mean_0_and_variance_1() -> None:
    found = call("normal", "k: Tensor[2; i64]", "Tensor[20000; f32]", "normal<20000>(k)", k=KEY)
    assert np.isfinite(found).all()
    assert abs(found.mean()) < 0.03
    assert abs(found.var() - 1) < 0.03
