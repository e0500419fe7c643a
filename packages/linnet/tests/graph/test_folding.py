"""Scalars that depend on literals alone have a number; nothing else has."""

from __future__ import annotations

import math
import struct

from linnet.backends.testing import GraphBuilder
from linnet.graph import fold


def test_a_scale_computed_from_a_size_is_a_number_rounded_as_in_the_graph() -> None:
    builder = GraphBuilder()
    scale = builder.step("rsqrt", builder.constant(48.0))
    graph = builder.graph((builder.step("mul", builder.input("x", (2,)), scale), scale))
    expected = struct.unpack("<f", struct.pack("<f", 1 / math.sqrt(48.0)))[0]
    assert fold(graph, scale) == expected
    assert expected != 1 / math.sqrt(48.0)


def test_literals_are_their_numbers() -> None:
    builder = GraphBuilder()
    one = builder.constant(1.5)
    assert fold(builder.graph(builder.step("mul", builder.input("x", (2,)), one)), one) == 1.5


def test_inputs_tensors_and_numbers_that_do_not_exist_are_none() -> None:
    builder = GraphBuilder()
    x = builder.input("x", ())
    seen = builder.step("add", x, builder.constant(1.0))
    missing = builder.step("div", builder.constant(1.0), builder.constant(0.0))
    row = builder.step("iota", shape=(3,), dtype="f32")
    graph = builder.graph((seen, missing, row))
    assert [fold(graph, number) for number in (x, seen, missing, row)] == [None] * 4
