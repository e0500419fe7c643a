"""A whole decoder with caches: every way to run it gives the same logits and the same caches."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from linnet_helpers.decoder import at, decoder, tokens
from linnet_helpers.runtime import Reference

from linnet.torch.planned import Captured


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_interpreted_generated_planned_and_captured_decoding_agree(dtype: str) -> None:
    reference = decoder(dtype, compile=False)
    generated, stepped = decoder(dtype), decoder(dtype)
    prompt = tokens(1, 5)
    expected = reference.prefill(prompt)
    tolerance = 1e-5 if dtype == "f32" else 0.03
    for model in (generated, stepped):
        assert torch.allclose(model.prefill(prompt), expected, rtol=tolerance, atol=tolerance)
    plan = stepped.plan_for("decode", [tokens(2, 1), at(5)], backends=[Reference()], measure=False)
    step = Captured(plan, stepped.context_for(plan))
    for position in range(5, 10):
        inputs = [tokens(position, 1), at(position)]
        expected = reference.decode(*inputs)
        for made in (generated.decode(*inputs), step(inputs)[0]):
            assert torch.allclose(made, expected, rtol=tolerance, atol=tolerance)
    for path in reference.state_paths():
        for model in (generated, stepped):
            close = torch.allclose(
                model.tensor(path), reference.tensor(path), rtol=tolerance, atol=tolerance
            )
            assert close, path
    report = step.report()
    assert report.recorded_steps > 0
    assert report.recorded_steps + report.once_steps < report.steps


def test_a_captured_step_equals_the_uncaptured_one_for_sixty_four_steps() -> None:
    captured, plain = decoder(context=64), decoder(context=64)
    given = [tokens(0, 1), at(0)]
    plans = [m.plan_for("decode", given, [Reference()], measure=False) for m in (captured, plain)]
    step = Captured(plans[0], captured.context_for(plans[0]))
    context = plain.context_for(plans[1])
    kept = []
    for position in range(64):
        inputs = [tokens(position, 1), at(position)]
        (made,), (expected,) = step(inputs), plans[1].run(inputs, context)
        assert torch.equal(made, expected)
        kept.append((made, made.clone()))
    for path in captured.state_paths():
        assert torch.equal(captured.tensor(path), plain.tensor(path))
    assert all(torch.equal(made, copy) for made, copy in kept)


def test_one_token_at_a_time_equals_the_prompt_at_once() -> None:
    whole, single = decoder(), decoder()
    prompt = tokens(3, 6)
    expected = whole.prefill(prompt)
    made = [single.decode(prompt[:, n : n + 1], at(n)) for n in range(6)]
    assert torch.allclose(made[-1], expected, rtol=1e-4, atol=1e-5)
    for path in whole.state_paths():
        assert torch.allclose(whole.tensor(path), single.tensor(path), atol=1e-5)


@pytest.mark.parametrize("wrong", [-1, 50, 2**40])
@pytest.mark.parametrize("captured", [False, True])
def test_a_token_outside_the_vocabulary_changes_nothing(wrong: int, captured: bool) -> None:
    model = decoder()
    plan = model.plan_for("decode", [tokens(2, 1), at(0)], backends=[Reference()], measure=False)
    context = model.context_for(plan)
    step: Any = Captured(plan, context) if captured else lambda given: plan.run(given, context)
    for position in range(3):
        step([tokens(position, 1), at(position)])
    before = {path: model.tensor(path).clone() for path in model.state_paths()}
    with pytest.raises(IndexError, match=f"position {wrong} is outside axis 0 of size 50"):
        step([torch.tensor([[3], [wrong]]), at(3)])
    assert all(torch.equal(model.tensor(path), kept) for path, kept in before.items())


@pytest.mark.parametrize("wrong", [-1, 16, 2**40])
@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("backends", [[], [Reference()]], ids=["none", "reference"])
def test_a_position_outside_the_caches_changes_nothing(
    wrong: int, captured: bool, backends: list[Reference]
) -> None:
    model = decoder()
    plan = model.plan_for("decode", [tokens(2, 1), at(0)], backends=backends, measure=False)
    context = model.context_for(plan)
    step: Any = Captured(plan, context) if captured else lambda given: plan.run(given, context)
    for position in range(3):
        step([tokens(position, 1), at(position)])
    before = {path: model.tensor(path).clone() for path in model.state_paths()}
    message = rf"decode: input `positions`: expected values from 0 to 15 \(write_rows.*got {wrong}"
    with pytest.raises(IndexError, match=message):
        step([tokens(3, 1), torch.tensor([3, wrong])])
    assert all(torch.equal(model.tensor(path), kept) for path, kept in before.items())


def test_constant_tables_are_made_once_for_a_prompts_size() -> None:
    model = decoder()
    model.prefill(tokens(1, 5))
    constants = model.generated_source("prefill").split("def prepare")[0]
    main = model.generated_source("prefill").split("def main")[1]
    assert "torch.cos(" in constants
    assert "torch.cos(" not in main
    assert "torch.arange(" not in main
