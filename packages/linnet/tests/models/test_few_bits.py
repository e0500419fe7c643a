from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from linnet.models import Checkpoint, CheckpointError, family_source, load_few_bits
from linnet.models.few_bits import rounded_groups, rounded_rows
from linnet.torch import read_program

SIZES = {"Vocab": 23, "H": 16, "Inner": 32, "Layers": 1, "Heads": 4, "KeyHeads": 2, "D": 4}


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    generics = {**SIZES, "Batch": 1, "Context": 8, "T": "f32"}
    declared = read_program(family_source("llama"), None, generics).declared(None)
    weights = {
        one.path: torch.randn(one.shape)
        for one in declared
        if one.kind != "state" and not one.optional
    }
    save_file(weights, tmp_path / "model.safetensors")
    fixed = {"base": 10000.0, "eps": 1e-5}
    return Checkpoint("llama", tmp_path / "model.safetensors", SIZES, fixed, "f32", 64)


def test_rows_of_8_bits_are_within_half_a_step() -> None:
    weight = torch.randn(5, 12) * torch.tensor([[1e-3], [1.0], [40.0], [0.0], [7.0]])
    digits, scale = rounded_rows(weight)
    assert digits.dtype == torch.int8
    error = (digits.float() * scale[:, None] - weight).abs().amax(1)
    assert (error <= weight.abs().amax(1) / 127 * 0.501).all()


def test_groups_of_4_bits_are_within_half_a_step_and_hold_their_extremes() -> None:
    weight = torch.randn(3, 24) + 2.0
    weight[1, 8:16] = 1.5  # a group of one value
    packed, scale, zero = rounded_groups(weight, 8)
    assert packed.shape == (3, 3, 4)
    digits = torch.stack((packed & 15, packed >> 4), dim=-1).flatten(2).float()
    wide = weight.view(3, 3, 8)
    found = (digits - zero[..., None]) * scale[..., None]
    assert ((found - wide).abs() <= scale[..., None] * 0.501).all()
    torch.testing.assert_close(found[1, 1], wide[1, 1])
    torch.testing.assert_close(found.amax(2), wide.amax(2))


@pytest.mark.parametrize("bits", [8, 4])
def test_a_checkpoint_of_few_bits_computes_what_its_numbers_stand_for(
    checkpoint: Checkpoint, bits: int
) -> None:
    model = load_few_bits(checkpoint, bits, group=8, dtype="float32", context=8)
    stored = model.state_dict()
    wide: dict[str, torch.Tensor] = {}
    for path, tensor in stored.items():
        stem = path.removesuffix(".weight")
        name = path.replace(".rows.0", "").replace(".groups.0", "")
        if tensor.dtype == torch.int8:
            wide[name] = tensor.float() * stored[f"{stem}.scale"][:, None]
        elif tensor.dtype == torch.uint8:
            digits = torch.stack((tensor & 15, tensor >> 4), dim=-1).flatten(2).float()
            scale, zero = stored[f"{stem}.scale"], stored[f"{stem}.zero"]
            wide[name] = ((digits - zero[..., None]) * scale[..., None]).flatten(1)
        elif path.endswith(".weight"):
            wide[name] = tensor
    assert (torch.uint8 in {t.dtype for t in stored.values()}) == (bits == 4)
    assert stored["lm_head.weight"].dtype == torch.int8
    save_file({n: t.contiguous() for n, t in wide.items()}, checkpoint.weights)
    plain = checkpoint.load(context=8)
    tokens = torch.randint(0, SIZES["Vocab"], (1, 6))
    torch.testing.assert_close(model.prefill(tokens), plain.prefill(tokens), rtol=1e-4, atol=1e-4)
    token, position = torch.tensor([[3]]), torch.tensor([6])
    torch.testing.assert_close(
        model.decode(token, position), plain.decode(token, position), rtol=1e-4, atol=1e-4
    )


def test_what_cannot_be_rounded_is_refused(checkpoint: Checkpoint, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="bits must be 4 or 8, got 3"):
        load_few_bits(checkpoint, 3)
    with pytest.raises(ValueError, match="group must be even and divide H = 16, got 5"):
        load_few_bits(checkpoint, 4, group=5)
    with pytest.raises(CheckpointError, match="of the family llama, got bert"):
        load_few_bits(replace(checkpoint, family="bert"), 8)
    with pytest.raises(CheckpointError, match="at most 64 positions, got a context of 65"):
        load_few_bits(checkpoint, 8, context=65)
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({}))
    with pytest.raises(CheckpointError, match="expected one file with Linnet's names"):
        load_few_bits(replace(checkpoint, weights=tmp_path), 8)
