"""Whole models: the same text and the same losses as on the CPU, and nothing runs there."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import nn
from torch.nn import functional

from torch_infini import _native

NEEDED = {"aten::where.self_out", "aten::mean.out", "aten::sum.IntList_out", "aten::argmax.out"}

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(
        not set(_native.registered_overloads()) >= NEEDED,
        reason="the InfiniOps of this build has too few operators for a model",
    ),
]


@pytest.fixture(autouse=True)
def _nothing_falls_back() -> Iterator[None]:
    assert "TORCH_INFINI_ENABLE_CPU_FALLBACK" not in os.environ
    before = _native.fallback_counts()
    yield
    assert _native.fallback_counts() == before


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("batch", [1, 2])
def test_llama_writes_the_same_text(attention: str, batch: int) -> None:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        attn_implementation=attention,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=None,
    )
    model = transformers.LlamaForCausalLM(config).eval()
    prompt = torch.randint(2, 64, (batch, 7))
    options = {"max_new_tokens": 24, "do_sample": False}
    mask = torch.ones_like(prompt)
    expected = model.generate(prompt, attention_mask=mask, **options)
    there = copy.deepcopy(model).to("infini")
    found = there.generate(prompt.to("infini"), attention_mask=mask.to("infini"), **options)
    assert found.device.type == "infini"
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_bert_gives_the_same_states(attention: str) -> None:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        attn_implementation=attention,
    )
    model = transformers.BertModel(config).eval()
    tokens, mask = torch.randint(1, 64, (2, 9)), torch.ones(2, 9, dtype=torch.int64)
    mask[1, 6:] = 0
    there = copy.deepcopy(model).to("infini")
    with torch.no_grad():
        expected = model(tokens, attention_mask=mask)
        found = there(tokens.to("infini"), attention_mask=mask.to("infini"))
    for name in ("last_hidden_state", "pooler_output"):
        torch.testing.assert_close(found[name].cpu(), expected[name], rtol=1e-4, atol=1e-5)


def mlp() -> nn.Module:
    return nn.Sequential(
        nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 4)
    )


def block() -> nn.Module:
    return nn.Sequential(
        nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True),
        nn.Flatten(),
        nn.Linear(8 * 3, 4),
    )


OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "sgd": lambda parameters, **mode: torch.optim.SGD(parameters, lr=0.05, momentum=0.9, **mode),
    "adam": lambda parameters, **mode: torch.optim.Adam(parameters, lr=0.01, **mode),
    "adamw": lambda parameters, **mode: torch.optim.AdamW(
        parameters, lr=0.01, amsgrad=True, **mode
    ),
}

MODES = {"plain": {"foreach": False}, "foreach": {"foreach": True}, "fused": {"fused": True}}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize(("make", "shape"), [(mlp, (6, 8)), (block, (6, 3, 8))])
def test_training_loses_as_on_the_cpu(
    make: Callable[[], nn.Module], shape: tuple[int, ...], optimizer: str, mode: str
) -> None:
    torch.manual_seed(1)
    model = make()
    data = [(torch.randn(shape), torch.randint(4, (shape[0],))) for _ in range(5)]
    losses: dict[str, list[float]] = {}
    for device in ("cpu", "infini"):
        net = copy.deepcopy(model).to(device)
        steps = OPTIMIZERS[optimizer](net.parameters(), **MODES[mode])
        losses[device] = []
        for step in range(50):
            x, y = (tensor.to(device) for tensor in data[step % len(data)])
            loss = functional.cross_entropy(net(x), y)
            steps.zero_grad()
            loss.backward()
            steps.step()
            losses[device].append(loss.item())
    assert losses["cpu"][-1] < losses["cpu"][0]
    torch.testing.assert_close(
        torch.tensor(losses["infini"]), torch.tensor(losses["cpu"]), rtol=2e-3, atol=2e-3
    )


@pytest.mark.parametrize("mode", MODES)
def test_scaled_gradients_step_and_a_broken_one_is_skipped(mode: str) -> None:
    torch.manual_seed(0)
    net = mlp().to("infini")
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, **MODES[mode])
    scaler = torch.amp.GradScaler("infini", init_scale=1024.0)
    x, y = torch.randn(6, 8).to("infini"), torch.randint(4, (6,)).to("infini")
    before = [p.detach().cpu().clone() for p in net.parameters()]

    def step(factor: float) -> None:
        with torch.autocast("infini", dtype=torch.float16):
            loss = functional.cross_entropy(net(x), y) * factor
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    step(float("inf"))
    for parameter, old in zip(net.parameters(), before, strict=True):
        assert torch.equal(parameter.cpu(), old)
    assert scaler.get_scale() == 512.0
    step(1.0)
    assert any(
        not torch.equal(parameter.cpu(), old)
        for parameter, old in zip(net.parameters(), before, strict=True)
    )
