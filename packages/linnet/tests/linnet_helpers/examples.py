"""The examples at small sizes, each with a model of PyTorch's own modules and functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from linnet.torch import LinnetModule, load
from linnet.torch.dtypes import torch_dtype

FOLDER = Path(__file__).parents[2] / "examples"
#: Weights by path, then the inputs; both in float64. Gives the flat results.
Oracle = Callable[[Mapping[str, Tensor], Sequence[Tensor]], Sequence[Tensor]]


@dataclass(frozen=True)
class Example:
    """An example at small sizes. `inputs` makes fresh random ones for a dtype."""

    name: str
    generics: Mapping[str, int]
    inputs: Callable[[torch.dtype], list[Tensor]]
    oracle: Oracle
    entry: str = "forward"

    @property
    def source(self) -> Path:
        return FOLDER / f"{self.name}.linnet"

    def model(self, dtype: str, **options: Any) -> LinnetModule:
        """The model in a dtype with random weights, buffers of variances being positive."""
        generics = {**self.generics, "T": dtype}
        from linnet.torch import read_program

        weights = {}
        for one in read_program(self.source, None, generics).declared(None):
            if one.kind == "state":
                continue
            value = torch.randn(one.shape) * 0.4
            if one.path.endswith("variance"):
                value = value.abs() + 0.5
            weights[one.path] = value.to(torch_dtype(one.dtype))
        return load(self.source, generics=generics, weights=weights, **options)

    def wanted(self, model: LinnetModule, inputs: Sequence[Tensor]) -> list[Tensor]:
        """What the oracle gives for the model's weights and these inputs."""
        weights = {p: t.detach().double() for p, t in model.state_dict().items()}
        wide = [x.double() if x.is_floating_point() else x for x in inputs]
        return list(self.oracle(weights, wide))


def linear(w: Mapping[str, Tensor], x: Sequence[Tensor]) -> Sequence[Tensor]:
    return [x[0] @ w["map.weight"].T + w["map.bias"]]


def mlp(w: Mapping[str, Tensor], x: Sequence[Tensor]) -> Sequence[Tensor]:
    y = x[0]
    for name in ("first", "second", "last"):
        y = y @ w[f"{name}.weight"].T + w[f"{name}.bias"]
        y = y if name == "last" else y * 0.5 * (1 + torch.erf(y / 2**0.5))
    return [y]


def transformer(w: Mapping[str, Tensor], x: Sequence[Tensor]) -> Sequence[Tensor]:
    """`nn.TransformerEncoder` with norms first and a causal mask."""
    width, inner, heads, layers = 16, 24, 2, 2
    layer = nn.TransformerEncoderLayer(
        width, heads, inner, 0.0, "gelu", batch_first=True, norm_first=True, dtype=torch.float64
    )
    net = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False).eval()
    net.requires_grad_(False)
    names = {
        "norm1": "before",
        "norm2": "between",
        "self_attn.out_proj": "output",
        "linear1": "up",
        "linear2": "down",
    }
    content = {}
    for n in range(layers):
        for kind in ("weight", "bias"):
            parts = [w[f"layers.{n}.{part}.{kind}"] for part in ("query", "key", "value")]
            content[f"layers.{n}.self_attn.in_proj_{kind}"] = torch.cat(parts)
            for theirs, ours in names.items():
                content[f"layers.{n}.{theirs}.{kind}"] = w[f"layers.{n}.{ours}.{kind}"]
    net.load_state_dict(content)
    length = x[0].shape[1]
    y = w["tokens.weight"][x[0]] + w["places.weight"][:length]
    mask = nn.Transformer.generate_square_subsequent_mask(length, dtype=torch.float64)
    y = net(y, mask=mask, is_causal=True)
    y = functional.layer_norm(y, (width,), w["norm.weight"], w["norm.bias"])
    return [y @ w["head.weight"].T + w["head.bias"]]


def convnet(w: Mapping[str, Tensor], x: Sequence[Tensor]) -> Sequence[Tensor]:
    def norm(y: Tensor, name: str) -> Tensor:
        kept = [w[f"{name}.{part}"] for part in ("mean", "variance", "weight", "bias")]
        return functional.batch_norm(y, *kept)

    y = functional.conv2d(x[0], w["first.weight"], w["first.bias"], padding=1)
    y = functional.max_pool2d(functional.relu(norm(y, "first_norm")), 2)
    y = functional.conv2d(y, w["second.weight"], w["second.bias"], stride=2, padding=1)
    y = functional.relu(norm(y, "second_norm")).mean((2, 3))
    return [y @ w["head.weight"].T + w["head.bias"]]


def rnn(w: Mapping[str, Tensor], x: Sequence[Tensor]) -> Sequence[Tensor]:
    net = nn.RNN(6, 8, dtype=torch.float64)
    names = {"ih": "input", "hh": "recurrent"}
    for theirs, ours in names.items():
        for kind in ("weight", "bias"):
            net.get_parameter(f"{kind}_{theirs}_l0").data = w[f"{ours}.{kind}"]
    outputs, last = net(x[0], x[1][None])
    return [outputs.detach(), last[0].detach()]


EXAMPLES = (
    Example("linear", {"In": 6, "Out": 5}, lambda d: [torch.randn(3, 6).to(d)], linear),
    Example("mlp", {"In": 6, "Inner": 10, "Classes": 4}, lambda d: [torch.randn(3, 6).to(d)], mlp),
    Example(
        "transformer",
        {"Vocab": 19, "Positions": 12, "Heads": 2, "D": 8, "Inner": 24, "Layers": 2},
        lambda d: [torch.randint(0, 19, (2, 7))],
        transformer,
    ),
    Example(
        "convnet",
        {"Size": 8, "In": 3, "C": 4, "Classes": 5},
        lambda d: [torch.randn(2, 3, 8, 8).to(d)],
        convnet,
    ),
    Example(
        "rnn",
        {"In": 6, "H": 8},
        lambda d: [torch.randn(4, 3, 6).to(d), torch.randn(3, 8).to(d)],
        rnn,
    ),
)
