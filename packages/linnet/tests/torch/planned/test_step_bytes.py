"""A report counts what a step must read: tied weights once, and of tables the rows it reads."""

from __future__ import annotations

import pytest
import torch

from linnet.torch import load

SOURCE = """module tied
use std.nn.embedding::{Embedding}
use std.nn.linear::{Linear}

pub block Model {
    sub table: Embedding<100, 8, f32>
    sub head: Linear<8, 100, f32>

    pub entry forward(ids: Tensor[3; i64]) -> Tensor[3, 100; f32] {
        return head.forward(table.forward(ids))
    }
}
"""


@pytest.mark.parametrize("tied", [False, True])
def test_a_step_reads_the_head_and_the_rows_of_its_tokens(tied: bool) -> None:
    weights = {"table.weight": torch.randn(100, 8)}
    if not tied:
        weights["head.weight"] = torch.randn(100, 8)
    bindings = {"head.weight": "table.weight"} if tied else {}
    model = load(SOURCE, weights=weights, bindings=bindings)
    plan = model.plan_for("forward", [torch.tensor([1, 2, 3])], backends=[], measure=False)
    assert plan.report().step_bytes == 3 * 8 + 3 * 8 * 4 + 100 * 8 * 4


def test_weights_of_one_memory_are_read_once() -> None:
    source = SOURCE.replace("head.forward(table.forward(ids))", "other.forward(head.forward(x))")
    source = source.replace("ids: Tensor[3; i64]", "x: Tensor[3, 8; f32]")
    source = source.replace("    sub table: Embedding<100, 8, f32>\n", "")
    source = source.replace("<8, 100, f32>", "<8, 8, f32>").replace("[3, 100; f32]", "[3, 8; f32]")
    source = source.replace("use std.nn.embedding::{Embedding}\n", "")
    source = source.replace("    sub head", "    sub other: Linear<8, 8, f32>\n    sub head")
    weights = {"head.weight": torch.randn(8, 8)}
    model = load(source, weights=weights, bindings={"other.weight": "head.weight"})
    plan = model.plan_for("forward", [torch.ones(3, 8)], backends=[], measure=False)
    assert plan.report().step_bytes == 3 * 8 * 4 + 8 * 8 * 4
