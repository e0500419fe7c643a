"""Checkpoints in Hugging Face's layout compute what transformers computes from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import torch
from linnet_helpers.checkpoints import VOCABULARY, save
from safetensors.torch import load_file, save_file
from torch import Tensor

import linnet.graph
from linnet import hf
from linnet.models import CheckpointError
from linnet.torch import WeightsError

pytest.importorskip("transformers")
SCHEMA = json.loads((Path(linnet.graph.__file__).parent / "graph.schema.json").read_text())


def close(found: Tensor, wanted: Tensor) -> None:
    torch.testing.assert_close(found.double(), wanted, rtol=2e-4, atol=2e-4)


def change(folder: Path, **settings: Any) -> None:
    path = folder / "config.json"
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, **settings}))


def tokens(*shape: int) -> Tensor:
    return torch.randint(0, VOCABULARY, shape)


LLAMAS: list[dict[str, Any]] = [
    {},
    {"tie_word_embeddings": True},
    {"rope_theta": 500.0, "head_dim": 16},
    {"attention_bias": True, "mlp_bias": True},
]


@pytest.mark.parametrize("changes", LLAMAS, ids=["plain", "tied", "wide", "biased"])
def test_a_llama_gives_the_logits_of_transformers(tmp_path: Path, changes: dict[str, Any]) -> None:
    oracle = save(tmp_path, "llama", **changes)
    model = hf.convert(tmp_path).load(context=16, batch=2)
    given = tokens(2, 9)
    with torch.no_grad():
        wanted = oracle(given).logits
    close(model.prefill(given[:, :6]), wanted[:, 5])
    for at in (6, 7, 8):
        positions = torch.full((2,), at)
        close(model.decode(given[:, at : at + 1], positions), wanted[:, at])


MODES: dict[str, Any] = {"interpreted": False, "generated": None, "inductor": "inductor"}
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}


def close_in(found: Tensor, wanted: Tensor, dtype: str) -> None:
    """Roundings of a few layers, against the size of the result as a whole."""
    step = 2e-5 if dtype == "f32" else 2**-8
    bound = 8 * step * float(wanted.abs().max().clamp(min=1))
    torch.testing.assert_close(found.double(), wanted, rtol=0, atol=bound)


# PyTorch's own imports warn.
@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", MODES)
def test_a_gpt2_gives_the_logits_of_transformers(tmp_path: Path, mode: str, dtype: str) -> None:
    oracle = save(tmp_path, "gpt2").to(DTYPES[dtype]).double()
    model = hf.convert(tmp_path).load(context=16, dtype=dtype)
    given = tokens(1, 9)
    with torch.no_grad():
        wanted = oracle(given).logits
    close_in(model.prefill(given[:, :7]), wanted[:, 6], dtype)
    for at in (7, 8):
        inputs = [given[:, at : at + 1], torch.tensor([at])]
        found = model.run_entry("decode", inputs, compile=MODES[mode])
        close_in(found, wanted[:, at], dtype)


def test_a_gpt2_reads_a_prompt_in_pieces(tmp_path: Path) -> None:
    oracle = save(tmp_path, "gpt2")
    model = hf.convert(tmp_path).load(context=16)
    given = tokens(1, 8)
    model.prefill(given[:, :3])
    model.decode(given[:, 3:4], torch.tensor([3]))
    with torch.no_grad():
        close(model.extend(given[:, 4:], 4), oracle(given).logits[:, -1])


def test_a_position_past_the_table_is_an_error_before_a_state_is_written(tmp_path: Path) -> None:
    save(tmp_path, "gpt2", n_positions=16)
    model = hf.convert(tmp_path).load(context=16, batch=2)
    token = tokens(2, 1)
    model.decode(token, torch.tensor([0, 15]))
    before = {path: model.tensor(path).clone() for path in model.state_paths()}
    for mode in (False, None):
        for wrong in (16, -1, 2**32):
            with pytest.raises(IndexError, match=f"position {wrong} is outside"):
                model.run_entry("decode", [token, torch.tensor([3, wrong])], compile=mode)
        for wrong in (15, -1, 2**32):
            with pytest.raises(IndexError, match="is outside"):
                model.run_entry("extend", [tokens(2, 2), wrong], compile=mode)
    assert all(torch.equal(model.tensor(path), kept) for path, kept in before.items())


@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", MODES)
def test_a_bert_gives_the_vectors_of_transformers(tmp_path: Path, mode: str, dtype: str) -> None:
    oracle = save(tmp_path, "bert").to(DTYPES[dtype]).double()
    model = hf.convert(tmp_path).load(dtype=dtype)
    given, mask = tokens(3, 7), torch.ones(3, 7, dtype=torch.bool)
    mask[1, 4:] = False
    with torch.no_grad():
        wanted = oracle(given, attention_mask=mask.long()).last_hidden_state
    found = model.run_entry("forward", [given, mask], compile=MODES[mode])
    close_in(found[mask], wanted[mask], dtype)
    mean = (wanted * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
    unit = torch.nn.functional.normalize(mean)
    close_in(model.embed(given, mask), unit, dtype)


@pytest.mark.parametrize("family", ["llama", "gpt2", "bert"])
def test_gradients_are_those_of_transformers(tmp_path: Path, family: str) -> None:
    oracle = save(tmp_path, family)
    checkpoint = hf.convert(tmp_path)
    sizes = {} if family == "bert" else {"context": 16}
    model = checkpoint.load(trainable=True, **sizes)
    given = tokens(1, 6)
    if family == "bert":
        mask = torch.ones(1, 6, dtype=torch.bool)
        wanted, found = oracle(given).last_hidden_state, model.forward(given, mask)
    else:
        wanted, found = oracle(given).logits[:, -1], model.prefill(given)
    factors = torch.randn(wanted.shape, dtype=torch.float64)
    (wanted * factors).sum().backward()
    (found * factors.float()).sum().backward()
    theirs = dict(oracle.named_parameters(remove_duplicate=False))
    compared = 0
    for path, parameter in model.named_parameters():
        name = checkpoint.bindings.get(path, path)
        other = theirs.get(name, theirs.get(f"transformer.{name}"))
        assert other is not None, (path, name)
        assert parameter.grad is not None, path
        assert other.grad is not None, name
        bound = 1e-4 * float(other.grad.abs().max().clamp(min=1))
        torch.testing.assert_close(
            parameter.grad.double(), other.grad, rtol=0, atol=bound, msg=path
        )
        compared += 1
    assert compared > 10


@pytest.mark.parametrize("family", ["llama", "gpt2", "bert"])
def test_the_graphs_fit_the_schema(tmp_path: Path, family: str) -> None:
    save(tmp_path, family)
    model = hf.convert(tmp_path).load(**({} if family == "bert" else {"context": 16}))
    one, at = tokens(1, 1), torch.tensor([3])
    if family == "bert":
        mask = torch.ones(1, 1, dtype=torch.bool)
        entries: dict[str, list[Any]] = {"forward": [one, mask], "embed": [one, mask]}
    else:
        entries = {"prefill": [one], "decode": [one, at], "extend": [one, 3]}
    for entry, inputs in entries.items():
        graph = model.graph_for(entry, inputs)
        jsonschema.validate(json.loads(json.dumps(graph.to_json())), SCHEMA)


@pytest.mark.parametrize(
    ("family", "settings", "message"),
    [
        ("llama", {"model_type": []}, "model_type is []; known are bert, gpt2, llama"),
        ("llama", {"rope_parameters": -1}, "rope_parameters must be an object or null, got -1"),
        ("llama", {"rope_scaling": "x"}, "rope_scaling must be an object or null, got 'x'"),
        ("llama", {"rms_norm_eps": 10**400}, "rms_norm_eps must be a positive number, got 1000"),
        ("llama", {"model_type": "mamba"}, "model_type is 'mamba'; known are bert, gpt2, llama"),
        ("llama", {"hidden_act": "gelu"}, "hidden_act is 'gelu'; only 'silu' is understood"),
        (
            "llama",
            {"rope_parameters": {"rope_type": "yarn", "rope_theta": 1.0}},
            "scales rotary positions by 'yarn'",
        ),
        ("llama", {"rope_parameters": None, "rope_scaling": {"type": "linear"}}, "by 'linear'"),
        ("llama", {"hidden_size": "32"}, "hidden_size must be a positive whole number, got '32'"),
        ("llama", {"rms_norm_eps": -1}, "rms_norm_eps must be a positive number, got -1"),
        ("llama", {"tie_word_embeddings": True}, "hold both model.embed_tokens.weight and lm_head"),
        ("gpt2", {"activation_function": "relu"}, "activation_function is 'relu'"),
        ("gpt2", {"n_embd": 33}, "n_embd 33 is no multiple of n_head 4"),
        ("bert", {"position_embedding_type": "relative_key"}, "only 'absolute' is understood"),
    ],
)
def test_settings_that_would_be_computed_wrongly_are_refused(
    tmp_path: Path, family: str, settings: dict[str, Any], message: str
) -> None:
    save(tmp_path, family)
    change(tmp_path, **settings)
    with pytest.raises(CheckpointError) as caught:
        hf.convert(tmp_path)
    assert str(caught.value).startswith(str(tmp_path))
    assert message in str(caught.value)


@pytest.mark.parametrize("settings", [{"head_dim": 7}, {"num_key_value_heads": 3}])
def test_sizes_that_the_source_refuses_name_the_checkpoint(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    save(tmp_path, "llama")
    change(tmp_path, **settings)
    with pytest.raises(CheckpointError, match=r"does not fit \S+llama\.linnet: block Llama needs"):
        hf.convert(tmp_path).load(context=16)


ODD: tuple[Any, ...] = (0, -1, 2**63, 1.5, float("nan"), True, "", "x", [], {}, [1], 7)


@pytest.mark.parametrize("family", ["llama", "gpt2", "bert"])
def test_settings_of_any_kind_are_taken_or_refused(tmp_path: Path, family: str) -> None:
    save(tmp_path, family)
    path = tmp_path / "config.json"
    document = json.loads(path.read_text())
    for key in document:
        for odd in ODD:
            path.write_text(json.dumps({**document, key: odd}))
            try:
                hf.convert(tmp_path)
            except CheckpointError:
                continue


def test_a_folder_without_a_readable_config_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"has no config\.json"):
        hf.convert(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(CheckpointError, match="is not JSON"):
        hf.convert(tmp_path)
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(CheckpointError, match="expected a JSON object, got list"):
        hf.convert(tmp_path)


def rewrite(folder: Path, drop: str = "", **added: Tensor) -> None:
    path = folder / "model.safetensors"
    tensors = {name: t for name, t in load_file(path).items() if name != drop}
    save_file({**tensors, **added}, path)


def test_a_tied_table_may_be_stored_under_either_name(tmp_path: Path) -> None:
    oracle = save(tmp_path, "llama", tie_word_embeddings=True)
    table = load_file(tmp_path / "model.safetensors")["model.embed_tokens.weight"]
    rewrite(tmp_path, drop="model.embed_tokens.weight", **{"lm_head.weight": table})
    model = hf.convert(tmp_path).load(context=16)
    given = tokens(1, 5)
    with torch.no_grad():
        close(model.prefill(given), oracle(given).logits[:, -1])
    assert "lm_head.weight" in model.state_dict()
    assert model.tensor("lm_head.weight").data_ptr() == (
        model.tensor("model.embed_tokens.weight").data_ptr()
    )
    rewrite(tmp_path, drop="lm_head.weight")
    with pytest.raises(CheckpointError, match=r"the weights lack 'model\.embed_tokens\.weight'"):
        hf.convert(tmp_path)


def test_an_untied_model_needs_its_head(tmp_path: Path) -> None:
    save(tmp_path, "llama")
    rewrite(tmp_path, drop="lm_head.weight")
    with pytest.raises(CheckpointError, match=r"but the weights lack lm_head\.weight"):
        hf.convert(tmp_path)


def test_a_head_beside_the_table_of_a_gpt2_must_be_its_copy(tmp_path: Path) -> None:
    oracle = save(tmp_path, "gpt2")
    path = tmp_path / "model.safetensors"
    table = load_file(path)["transformer.wte.weight"]
    rewrite(tmp_path, **{"lm_head.weight": table.clone()})
    given = tokens(1, 5)
    with torch.no_grad():
        close(hf.convert(tmp_path).load().prefill(given), oracle(given).logits[:, -1])
    for other in (table + 1, table[1:], table.double()):
        rewrite(tmp_path, drop="lm_head.weight", **{"lm_head.weight": other})
        with pytest.raises(CheckpointError, match=r"hold 'lm_head\.weight', which differs from"):
            hf.convert(tmp_path)


def test_every_problem_of_the_weights_is_listed_at_once(tmp_path: Path) -> None:
    save(tmp_path, "llama")
    extra = {"extra.weight": torch.zeros(2), "model.norm.weight": torch.zeros(7)}
    rewrite(tmp_path, drop="model.layers.1.mlp.up_proj.weight", **extra)
    with pytest.raises(WeightsError) as caught:
        hf.convert(tmp_path).load(context=16)
    lines = str(caught.value).splitlines()
    assert "3 problems" in lines[0]
    missing = "missing: model.layers.1.mlp.up.weight (as 'model.layers.1.mlp.up_proj.weight')"
    assert any(missing in line for line in lines)
    assert any("shape: model.norm.weight: expected f32[32], got f32[7]" in line for line in lines)
    assert any("unexpected: extra.weight" in line for line in lines)


def test_a_context_past_what_the_model_was_made_for_is_refused(tmp_path: Path) -> None:
    save(tmp_path, "llama")
    with pytest.raises(CheckpointError, match="at most 64 positions, got a context of 65"):
        hf.convert(tmp_path).load(context=65)
