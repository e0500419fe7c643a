"""Every example computes what PyTorch's own modules compute, however it is run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import torch
from linnet_helpers.examples import EXAMPLES, FOLDER, Example
from torch import Tensor

import linnet.graph
from linnet.torch.dtypes import torch_dtype

SCHEMA = json.loads((Path(linnet.graph.__file__).parent / "graph.schema.json").read_text())
MODES = {"interpreted": False, "generated": None, "inductor": "inductor"}
NAMES = [example.name for example in EXAMPLES]


def results(found: Any) -> list[Tensor]:
    return list(found) if isinstance(found, tuple) else [found]


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("mode", ["interpreted", "generated"])
@pytest.mark.parametrize("example", EXAMPLES, ids=NAMES)
def test_an_example_computes_what_pytorch_does(example: Example, mode: str, dtype: str) -> None:
    check(example, MODES[mode], dtype)


@pytest.mark.parametrize("numerics", ["exact", "equivalent"])
@pytest.mark.parametrize("example", EXAMPLES, ids=NAMES)
def test_other_numerics_compute_it_too(example: Example, numerics: str) -> None:
    check(example, None, "f32", numerics=numerics)
    check(example, None, "bf16", numerics=numerics)


# PyTorch's own imports warn.
@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("example", EXAMPLES, ids=NAMES)
def test_inductor_computes_it_too(example: Example, dtype: str) -> None:
    check(example, "inductor", dtype)


def check(example: Example, mode: Any, dtype: str, **options: Any) -> None:
    model = example.model(dtype, **options)
    inputs = example.inputs(torch_dtype(dtype))
    wanted = example.wanted(model, inputs)
    found = results(model.run_entry(example.entry, inputs, compile=mode))
    step = 1e-5 if dtype == "f32" else 2**-8
    for one, other in zip(found, wanted, strict=True):
        # Roundings of a few layers, against the size of the result as a whole.
        bound = 8 * step * float(other.abs().max().clamp(min=1))
        assert one.dtype == torch_dtype(dtype)
        torch.testing.assert_close(one.double(), other, rtol=0, atol=bound)


@pytest.mark.parametrize("mode", ["interpreted", "generated"])
@pytest.mark.parametrize("example", EXAMPLES, ids=NAMES)
def test_gradients_are_those_of_autograd(example: Example, mode: str) -> None:
    model = example.model("f32", trainable=True)
    inputs = example.inputs(torch.float32)
    weights = {p: t.detach().double().requires_grad_() for p, t in model.named_parameters()}
    fixed = {p: t.double() for p, t in model.state_dict().items() if p not in weights}
    if example.name == "rnn":
        oracle: Any = plain_rnn  # `nn.RNN` keeps its weights apart from ours
    elif example.name == "transformer":
        oracle = plain_transformer
    else:
        oracle = example.oracle
    wide = [x.double() if x.is_floating_point() else x for x in inputs]
    wanted = oracle({**weights, **fixed}, wide)
    factors = [torch.randn(other.shape, dtype=torch.float64) for other in wanted]
    sum((other * f).sum() for other, f in zip(wanted, factors, strict=True)).backward()
    found = results(model.run_entry(example.entry, inputs, compile=MODES[mode]))
    sum((one * f.float()).sum() for one, f in zip(found, factors, strict=True)).backward()
    for path, parameter in model.named_parameters():
        assert parameter.grad is not None, path
        other = weights[path].grad
        assert other is not None
        bound = 3e-5 * float(other.abs().max().clamp(min=1))
        torch.testing.assert_close(parameter.grad.double(), other, rtol=0, atol=bound, msg=path)


def plain_rnn(w: Any, x: Any) -> list[Tensor]:
    hidden, outputs = x[1], []
    for one in x[0]:
        inner = one @ w["input.weight"].T + w["input.bias"]
        hidden = torch.tanh(inner + hidden @ w["recurrent.weight"].T + w["recurrent.bias"])
        outputs.append(hidden)
    return [torch.stack(outputs), hidden]


def plain_transformer(w: Any, x: Any) -> list[Tensor]:
    def product(y: Tensor, name: str) -> Tensor:
        return y @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def norm(y: Tensor, name: str) -> Tensor:
        centred = y - y.mean(-1, keepdim=True)
        scale = (centred.square().mean(-1, keepdim=True) + 1e-5).rsqrt()
        return centred * scale * w[f"{name}.weight"] + w[f"{name}.bias"]

    rows, length = x[0].shape
    y = w["tokens.weight"][x[0]] + w["places.weight"][:length]
    for n in range(2):
        normal = norm(y, f"layers.{n}.before")
        query, key, value = (
            product(normal, f"layers.{n}.{name}").view(rows, length, 2, 8).transpose(1, 2)
            for name in ("query", "key", "value")
        )
        scores = query @ key.transpose(-1, -2) / 8**0.5
        scores = scores.masked_fill(~torch.ones(length, length).tril().bool(), -torch.inf)
        mixed = (scores.softmax(-1) @ value).transpose(1, 2).reshape(rows, length, 16)
        y = y + product(mixed, f"layers.{n}.output")
        wide = product(norm(y, f"layers.{n}.between"), f"layers.{n}.up")
        y = y + product(wide * 0.5 * (1 + torch.erf(wide / 2**0.5)), f"layers.{n}.down")
    return [product(norm(y, "norm"), "head")]


@pytest.mark.parametrize("example", EXAMPLES, ids=NAMES)
def test_the_graph_of_an_example_fits_the_schema(example: Example) -> None:
    model = example.model("f32")
    graph = model.graph_for(example.entry, example.inputs(torch.float32))
    jsonschema.validate(json.loads(json.dumps(graph.to_json())), SCHEMA)


def test_every_example_is_tested() -> None:
    elsewhere = {"bert", "gpt2", "llama", "quantized_llama", "two_layer"}
    assert {path.stem for path in FOLDER.glob("*.linnet")} == {*NAMES, *elsewhere}
