"""The decoders, with and without weights of few bits, against a decoder of plain PyTorch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import torch
from linnet_helpers.examples import FOLDER
from torch import Tensor
from torch.nn import functional

import linnet.graph
from linnet.torch import LinnetModule, load, read_program
from linnet.torch.dtypes import torch_dtype
from linnet.torch.planned import Captured

SCHEMA = json.loads((Path(linnet.graph.__file__).parent / "graph.schema.json").read_text())
SIZES = {"Vocab": 23, "H": 16, "Inner": 32, "Layers": 2, "Heads": 4, "KeyHeads": 2, "D": 4}
STATES = {"Batch": 2, "Context": 12}
GROUP = 8
BASE, EPS = 10000.0, 1e-5
MODES: dict[str, Any] = {"interpreted": False, "generated": None}


def source(name: str) -> Path:
    return FOLDER / f"{name}.linnet"


def make(name: str, dtype: str, **options: Any) -> LinnetModule:
    """`int8` and `int4` are `quantized_llama` with such layers."""
    generics: dict[str, Any] = {**SIZES, **STATES, "T": dtype}
    if name in ("int8", "int4"):
        generics |= {"Group": GROUP, "Bytes": int(name == "int8")}
        name = "quantized_llama"
    weights = {}
    for one in read_program(source(name), None, generics).declared(None):
        if one.kind == "state" or one.optional:
            continue
        if one.dtype == "i8":
            weights[one.path] = torch.randint(-127, 128, one.shape, dtype=torch.int8)
        elif one.dtype == "u8":
            weights[one.path] = torch.randint(0, 256, one.shape, dtype=torch.uint8)
        elif one.path.endswith("scale"):
            bits = 4 if "groups" in one.path else 8
            weights[one.path] = (torch.rand(one.shape) + 0.5) / 2**bits
        elif one.path.endswith("zero"):
            weights[one.path] = torch.rand(one.shape) * 15
        else:
            weights[one.path] = (torch.randn(one.shape) * 0.4).to(torch_dtype(one.dtype))
    return load(source(name), generics=generics, weights=weights, **options)


def plain_weights(model: LinnetModule) -> dict[str, Tensor]:
    """Weights by path as float64, those of few bits as the numbers that they stand for."""
    stored = model.state_dict()
    found: dict[str, Tensor] = {}
    for stored_path, tensor in stored.items():
        scale = stored.get(stored_path.removesuffix("weight") + "scale")
        path = stored_path.replace(".rows.0", "").replace(".groups.0", "")
        if tensor.dtype == torch.int8:
            assert scale is not None
            found[path] = tensor.double() * scale.double()[:, None]
        elif tensor.dtype == torch.uint8:
            assert scale is not None
            zero = stored[stored_path.removesuffix("weight") + "zero"].double()
            digits = torch.stack((tensor & 15, tensor >> 4), dim=-1).flatten(-2).double()
            found[path] = ((digits - zero[..., None]) * scale.double()[..., None]).flatten(1)
        elif not path.endswith(("scale", "zero")):
            found[path] = tensor.double()
    return found


def reference(w: Mapping[str, Tensor], tokens: Tensor) -> Tensor:
    """Logits [B, S, Vocab] of whole sequences."""

    def norm(x: Tensor, name: str) -> Tensor:
        return functional.rms_norm(x, (SIZES["H"],), w[f"{name}.weight"], EPS)

    def rotate(x: Tensor) -> Tensor:
        half = x.shape[-1] // 2
        turns = BASE ** (-torch.arange(half, dtype=torch.float64) / half)
        angles = torch.arange(x.shape[-2], dtype=torch.float64)[:, None] * turns
        pairs = torch.complex(x[..., :half], x[..., half:])
        turned = pairs * torch.polar(torch.ones_like(angles), angles)
        return torch.cat((turned.real, turned.imag), dim=-1)

    rows, length = tokens.shape
    x = w["model.embed_tokens.weight"][tokens]
    for n in range(SIZES["Layers"]):
        path = f"model.layers.{n}"
        normal = norm(x, f"{path}.input_layernorm")

        def heads(name: str, path: str = path, normal: Tensor = normal) -> Tensor:
            flat = normal @ w[f"{path}.self_attn.{name}_proj.weight"].T
            return flat.view(rows, length, -1, SIZES["D"]).transpose(1, 2)

        key, value = (heads(name).repeat_interleave(2, dim=1) for name in "kv")
        scores = rotate(heads("q")) @ rotate(key).transpose(-1, -2) / SIZES["D"] ** 0.5
        scores = scores.masked_fill(~torch.ones(length, length).tril().bool(), -torch.inf)
        mixed = (scores.softmax(-1) @ value).transpose(1, 2).reshape(rows, length, -1)
        x = x + mixed @ w[f"{path}.self_attn.o_proj.weight"].T
        normal = norm(x, f"{path}.post_attention_layernorm")
        gate, up, down = (w[f"{path}.mlp.{name}.weight"].T for name in ("gate", "up", "down"))
        x = x + (functional.silu(normal @ gate) * (normal @ up)) @ down
    head = w.get("lm_head.weight", w["model.embed_tokens.weight"])
    return norm(x, "model.norm") @ head.T


def close(found: Tensor, wanted: Tensor, dtype: str) -> None:
    step = 2e-6 if dtype == "f32" else 2**-8
    bound = 16 * step * float(wanted.abs().max())
    torch.testing.assert_close(found.double(), wanted, rtol=0, atol=bound)


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["llama", "int8", "int4"])
def test_prefill_and_decode_give_the_logits_of_the_whole_sequence(
    name: str, mode: str, dtype: str
) -> None:
    model = make(name, dtype, compile=MODES[mode])
    tokens = torch.randint(0, SIZES["Vocab"], (2, 9))
    wanted = reference(plain_weights(model), tokens)
    close(model.prefill(tokens[:, :5]), wanted[:, 4], dtype)
    for at in range(5, 9):
        found = model.decode(tokens[:, at : at + 1], torch.full((2,), at))
        close(found, wanted[:, at], dtype)


# PyTorch's own imports warn.
@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("name", ["llama", "int8", "int4"])
def test_compiled_decoding_gives_the_logits_of_the_whole_sequence(name: str, dtype: str) -> None:
    model = make(name, dtype)
    tokens = torch.randint(0, SIZES["Vocab"], (2, 7))
    wanted = reference(plain_weights(model), tokens)
    model.prefill(tokens[:, :5])
    for at in range(5, 7):
        inputs = [tokens[:, at : at + 1], torch.full((2,), at)]
        close(model.run_entry("decode", inputs, compile="inductor"), wanted[:, at], dtype)


@pytest.mark.parametrize("name", ["llama", "int8"])
def test_gradients_of_a_prompt_are_those_of_autograd(name: str) -> None:
    model = make(name, "f32", trainable=True)
    weights = {
        path: tensor.detach().requires_grad_() for path, tensor in plain_weights(model).items()
    }
    tokens = torch.randint(0, SIZES["Vocab"], (2, 5))
    factors = torch.randn(2, SIZES["Vocab"], dtype=torch.float64)
    (reference(weights, tokens)[:, -1] * factors).sum().backward()
    (model.prefill(tokens) * factors.float()).sum().backward()
    trained = {path: t for path, t in model.named_parameters() if t.requires_grad}
    compared = [path for path in trained if path in weights]
    assert len(compared) >= 2 * SIZES["Layers"] + 2
    for path in compared:
        found, wanted = trained[path].grad, weights[path].grad
        assert found is not None, path
        assert wanted is not None, path
        bound = 3e-5 * float(wanted.abs().max().clamp(min=1))
        torch.testing.assert_close(found.double(), wanted, rtol=0, atol=bound, msg=path)


PIECES = {
    "token by token": [1] * 8,
    "in pieces": [3, 1, 4],
    "read on at once": [1, 7],
    "pieces and tokens": [4, 1, 1, 2],
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("pieces", PIECES)
@pytest.mark.parametrize("name", ["llama", "int8", "int4"])
def test_a_prompt_in_pieces_equals_the_prompt_at_once(name: str, pieces: str, mode: str) -> None:
    model = make(name, "f32", compile=MODES[mode])
    tokens = torch.randint(0, SIZES["Vocab"], (2, 8))
    at_once = model.prefill(tokens)
    kept = {path: model.tensor(path).clone() for path in model.state_paths()}
    model.reset_state()
    at = 0
    for count in PIECES[pieces]:
        piece = tokens[:, at : at + count]
        if at == 0 and count > 1:
            found = model.prefill(piece)
        elif count == 1:
            found = model.decode(piece, torch.full((2,), at))
        else:
            found = model.extend(piece, at)
        at += count
    torch.testing.assert_close(found, at_once, rtol=1e-5, atol=1e-5)
    for path, content in kept.items():
        torch.testing.assert_close(model.tensor(path), content, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("entry", ["decode", "extend"])
def test_nothing_is_written_past_a_full_cache(entry: str, captured: bool) -> None:
    model = make("llama", "f32")
    context = STATES["Context"]
    prompt = torch.randint(0, SIZES["Vocab"], (2, context))
    step: Any = partial(model.run_entry, entry)
    if entry == "decode":
        good = [prompt[:, :1], torch.tensor([0, 0])]
        bad = [[prompt[:, :1], torch.tensor([0, context])]]
    else:
        good = [prompt[:, :4], 0]
        bad = [[prompt[:, :4], at] for at in (context, context - 3, -1)]
    if captured:
        plan = model.plan_for(entry, good, backends=[], measure=False)
        step = Captured(plan, model.context_for(plan))
        for _ in range(3):
            step(good)
    model.prefill(prompt)
    before = {path: model.tensor(path).clone() for path in model.state_paths()}
    for wrong in bad:
        with pytest.raises(IndexError, match=r"is outside|expected values from 0"):
            step(wrong)
    with pytest.raises(ValueError, match="S <= Context"):
        model.prefill(torch.cat((prompt, prompt[:, :1]), 1))
    assert all(torch.equal(model.tensor(path), kept) for path, kept in before.items())


def test_rows_stand_at_positions_of_their_own() -> None:
    model = make("llama", "f32")
    weights = plain_weights(model)
    tokens = torch.randint(0, SIZES["Vocab"], (2, 8))
    model.prefill(tokens[:, :3])
    model.decode(tokens[:, 3:4], torch.tensor([3, 3]))
    # The second row takes its last token back and puts another in its place.
    other = (tokens[1:, 3:4] + 1) % SIZES["Vocab"]
    found = model.decode(torch.cat((tokens[:1, 4:5], other)), torch.tensor([4, 3]))
    close(found[:1], reference(weights, tokens[:1, :5])[:, 4], "f32")
    second = torch.cat((tokens[1:, :3], other), dim=1)
    close(found[1:], reference(weights, second)[:, 3], "f32")


def test_positions_past_the_context_are_errors_and_leave_the_caches() -> None:
    model = make("llama", "f32")
    prompt = torch.randint(0, SIZES["Vocab"], (2, 12))
    with pytest.raises(ValueError, match="S <= Context"):
        model.prefill(torch.zeros(2, 13, dtype=torch.int64))
    model.prefill(prompt)
    before = {path: model.tensor(path).clone() for path in model.state_paths()}
    for mode in MODES.values():
        for wrong in (12, -1, 2**32):
            inputs = [prompt[:, :1], torch.tensor([3, wrong])]
            with pytest.raises(IndexError, match=f"positions: position {wrong} is outside"):
                model.run_entry("decode", inputs, compile=mode)
        inputs = [torch.full((2, 1), 23), torch.tensor([0, 0])]
        with pytest.raises(IndexError, match="position 23 is outside axis 0 of size 23"):
            model.run_entry("decode", inputs, compile=mode)
    assert all(torch.equal(model.tensor(path), kept) for path, kept in before.items())


def test_source_of_a_decode_step_has_nothing_that_could_be_made_once() -> None:
    model = make("llama", "f32")
    text = model.generated_source(
        "decode", [torch.zeros(2, 1, dtype=torch.int64), torch.zeros(2).long()]
    )
    main = text.split("def main(")[1]
    assert "torch.arange" not in main
    assert "torch.tensor(" not in main
    listed = text.split("STATES_WRITTEN_IN_PLACE = [")[1].split("]")[0]
    assert listed.count("self_attn.") == 2 * SIZES["Layers"]
    assert "STATE_RESULTS = []" in text
    # Seven products a layer run as four, and the head.
    assert main.count("functional.linear(") == 4 * SIZES["Layers"] + 1
    assert main.count("operations.masked_attention(") == SIZES["Layers"]


def test_weights_of_few_bits_are_not_kept_as_wide_numbers() -> None:
    model = make("int4", "f32")
    step = [torch.zeros(2, 1, dtype=torch.int64), torch.zeros(2).long()]
    model.run_entry("decode", step)
    runner = model.runner(model.graph_for("decode", step))
    stored = sum(t.nbytes for t in model.state_dict().values())
    assert sum(t.nbytes for t in runner.kept()) < stored / 4


@pytest.mark.parametrize("name", ["llama", "int8", "int4"])
def test_the_graphs_fit_the_schema(name: str) -> None:
    model = make(name, "bf16")
    step = [torch.zeros(2, 1, dtype=torch.int64), torch.zeros(2).long()]
    for entry, inputs in (("prefill", step[:1]), ("decode", step), ("extend", [step[0], 3])):
        graph = model.graph_for(entry, inputs)
        jsonschema.validate(json.loads(json.dumps(graph.to_json())), SCHEMA)
