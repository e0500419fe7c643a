"""A whole decoder step over InfiniOps: recorded from end to end, right, and safe for its caches."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from decoder import (  # type: ignore[import-not-found]  # on the path by conftest
    SIZES,
    captured,
    decoder,
    given,
    needs_operators,
)

from infini.linnet import InfiniOps
from linnet.models.checkpoint import family_source
from linnet.torch import load, read_program
from linnet.torch.dtypes import torch_dtype


@needs_operators
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_a_captured_decoder_equals_the_interpreted_one_for_64_steps(dtype: str) -> None:
    reference, model = decoder(dtype, compile=False), decoder(dtype)
    step = captured(model)
    tolerance = 1e-4 if dtype == "f32" else 0.1
    for position in range(64):
        expected = reference.decode(*given(position))
        (made,) = step(given(position))
        assert torch.allclose(made, expected, rtol=tolerance, atol=tolerance), position
    for path in reference.state_paths():
        kept, wanted = model.tensor(path), reference.tensor(path)
        assert torch.allclose(kept, wanted, rtol=tolerance, atol=tolerance), path
        assert not kept[:, :, 64:].any()


@needs_operators
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_the_whole_step_is_recorded_in_one_part_and_copies_no_cache(dtype: str) -> None:
    model = decoder(dtype)
    step = captured(model)
    step(given(0))
    step(given(1))
    report = step.report()
    assert report.unrecorded == ()
    assert report.recorded_steps + report.once_steps == report.steps
    assert report.parts == 1


@needs_operators
def test_neighbours_run_as_one_operator() -> None:
    plan = decoder("bf16").plan_for("decode", given(0), backends=[InfiniOps()], measure=False)
    calls = Counter(launch.operator for item in plan.regions for launch in item.executable.launches)
    # Each layer: q, k and v as one product; gate and up as one; the first sum has no norm before.
    assert calls["linear"] == 4 * SIZES["Layers"] + 1
    assert calls["silu_and_mul"] == SIZES["Layers"]
    assert calls["add_rms_norm"] == 2 * SIZES["Layers"]
    assert calls["rms_norm"] == 1
    # Heads are rotated where the product left them, and attention writes the cache itself.
    assert calls["apply_rotary_pos_emb"] == SIZES["Layers"]
    assert calls["flash_attn_with_kvcache"] == SIZES["Layers"]
    assert not {"add", "copy", "le", "write_cache", "scaled_dot_product_attention"} & set(calls)


@needs_operators
@pytest.mark.parametrize(("token", "position"), [(50, 3), (-1, 3), (4, 80), (4, -1)])
def test_tokens_and_positions_out_of_bounds_are_named_and_change_no_cache(
    token: int, position: int
) -> None:
    model = decoder("f32")
    step = captured(model)
    for n in range(3):
        step(given(n))
    before = {path: model.tensor(path).clone() for path in model.state_paths()}
    wrong = [torch.tensor([[4], [token]]), torch.tensor([3, position])]
    name = "tokens" if position == 3 else "positions"
    with pytest.raises(IndexError, match=f"decode: input `{name}`: expected values from 0 to"):
        step(wrong)
    for path, content in before.items():
        assert torch.equal(model.tensor(path), content), path


@needs_operators
@pytest.mark.parametrize("wide", [0, 1])
def test_a_decoder_of_few_bits_runs_as_few_calls_and_equals_the_interpreted_one(wide: int) -> None:
    source = family_source("quantized_llama")
    generics = {**SIZES, "T": "f32", "Bytes": wide, "Group": 8}
    weights = {}
    for entry in read_program(source, generics=generics).declared(None):
        if entry.kind == "state" or entry.optional:
            continue
        if entry.dtype in ("i8", "u8"):
            weights[entry.path] = torch.randint(0, 120, entry.shape, dtype=torch_dtype(entry.dtype))
        else:
            weights[entry.path] = torch.rand(entry.shape) / 60
    reference = load(source, generics=generics, weights=weights, compile=False)
    model = load(source, generics=generics, weights=weights)
    step = captured(model)
    for position in range(4):
        expected = reference.decode(*given(position))
        (made,) = step(given(position))
        assert torch.allclose(made, expected, rtol=1e-4, atol=1e-4), position
    calls = Counter(one.operator for item in step.plan.regions for one in item.executable.launches)
    layers = SIZES["Layers"]
    assert calls["linear_int8"] + calls["linear_int4"] == 4 * layers + 1
    assert calls["linear_int8"] == (4 * layers + 1 if wide else 1)
    assert calls["flash_attn_with_kvcache"] == calls["silu_and_mul"] == layers
    assert step.report().unrecorded == ()
