"""Arguments of plans and captured steps that are of another kind are refused by name."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from linnet_helpers.runtime import Reference, model_of

from linnet.backends.testing import two_layer_graph
from linnet.torch.planned import Captured


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"backends": "infiniops"}, "backends must be a list of back ends, got str"),
        ({"backends": [None]}, "backends: expected back ends, got None"),
        ({"backends": [Reference]}, r"backends: Reference is a class; give Reference\(\)"),
        ({"backends": [3]}, "backends: int is no back end"),
        ({"options": 3}, "options must be Options, got int"),
        ({"memory": "1"}, "Options: memory must be a number of bytes, got '1'"),
    ],
    ids=["text", "none", "class", "number", "options", "memory"],
)
def test_arguments_of_another_kind_are_refused(given: dict[str, Any], text: str) -> None:
    model = model_of(two_layer_graph())
    with pytest.raises(TypeError, match=text):
        model.plan_for("forward", [torch.zeros(3, 8)], measure=False, **given)


def test_what_is_no_plan_is_not_captured() -> None:
    nothing: Any = None
    with pytest.raises(TypeError, match="Captured: expected a plan, got NoneType"):
        Captured(nothing, nothing)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (torch.zeros(3, 8).to_sparse(), "got a tensor of layout sparse_coo"),
        (torch.zeros(3, 8).numpy(), "got ndarray"),
        ("x", "got str"),
    ],
    ids=["sparse", "numpy", "text"],
)
def test_an_input_of_another_kind_is_named_by_a_captured_step(given: Any, text: str) -> None:
    model = model_of(two_layer_graph())
    plan = model.plan_for("forward", [torch.zeros(3, 8)], backends=[Reference()], measure=False)
    step = Captured(plan, model.context_for(plan))
    for _ in range(3):
        with pytest.raises(TypeError, match=rf"input x: expected f32\[3, 8\], {text}"):
            step([given])
        step([torch.zeros(3, 8)])
