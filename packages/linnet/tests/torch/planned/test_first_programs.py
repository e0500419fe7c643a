"""The programs that introduce plans and back ends run as they are written, on the CPU."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from linnet_helpers.fake_cublaslt import FakeLibrary
from linnet_helpers.host_graphs import HostGraphs
from linnet_helpers.install import environment, install
from safetensors.torch import save_file

from linnet.backends import Capabilities, Target
from linnet.torch import cublaslt, load
from linnet.torch.planned import captured

MODEL = """
module llama
use std.nn.embedding::{Embedding}
use std.nn.linear::{Linear}

pub block Llama {
    sub embed: Embedding<16, 8, f32>
    sub query: Linear<8, 8, f32>
    sub key: Linear<8, 4, f32>
    sub head: Linear<8, 16, f32>
    state seen: Tensor[4, 8; f32]

    pub entry decode(token: Tensor[1; i64], pos: Tensor[1; i64]) -> Tensor[1, 16; f32] {
        let x = embed.forward(token)
        let here[p, h] = select(iota(4)[p] == pos[0], x[0, h], seen[p, h])
        seen = here
        let mixed[h] = sum[p] here[p, h]
        let q = query.forward(x)
        let k = key.forward(x)
        let y[b, h] = q[b, h] + mixed[h] * (sum[n] k[b, n])
        return head.forward(y)
    }
}
"""

PLANNING = """
model = load("llama.linnet", weights="model.safetensors", device="cpu", compile=True)
plan = model.plan_for("decode", [token, pos], backends=[CublasLt()], compile="eager")
step = Captured(plan, model.context_for(plan))
logits, = step([token, pos])
"""

WRITING = """
import my_library
from linnet.backends import Capabilities, ExecutableMeta, Region

class MyLinear:
    name = "my-linear"
    version = "0.1"
    contract = 1  # the contract version it was written for

    def probe(self, target):
        return Capabilities() if target.kind in ("cuda", "cpu") else None

    def match(self, graph, target):
        return [
            Region.of(graph, call.start, call.stop, call.index)
            for call in graph.semantic_calls("std.nn.linear::linear")
        ]

    def compile(self, region, target, options):
        return MyLinearCall(region.parameters[0])

    def estimate_cost(self, region, target):
        return None  # or Cost(seconds)

class MyLinearCall:
    def __init__(self, weight):
        self.weight = weight
        self.meta = ExecutableMeta((), ())

    def prepare(self, context):
        pass

    def execute(self, inputs, outputs, context):
        return [my_library.linear(inputs[0], context.parameters[self.weight])]
"""

USING = """
import linnet.backends, torch
from linnet.torch import load
from my_package import MyLinear

token, pos = torch.tensor([3]), torch.tensor([0])
model = load("llama.linnet", weights="model.safetensors")
found = [b for b in linnet.backends.available() if b.name == "my-linear"]
plan = model.plan_for("decode", [token, pos], found, measure=False)
print(len(plan.regions), plan.run([token, pos], model.context_for(plan))[0].shape)
for finding in model.conform("decode", [token, pos], MyLinear()):
    print(finding.region.start, finding.difference, finding.passed)
print([s.reason for s in linnet.backends.skipped() if s.name == "my-other"])
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the model's source and weights, to run in."""
    (tmp_path / "llama.linnet").write_text(MODEL)
    shapes = {"embed": (16, 8), "query": (8, 8), "key": (4, 8), "head": (16, 8)}
    weights = {f"{name}.weight": torch.randn(shape) for name, shape in shapes.items()}
    save_file(weights, tmp_path / "model.safetensors")
    monkeypatch.chdir(tmp_path)
    return tmp_path


class CublasLt(cublaslt.CublasLt):
    """With a library that computes on the host."""

    def __init__(self) -> None:
        super().__init__(FakeLibrary())

    def probe(self, target: Target) -> Capabilities | None:
        return super().probe(Target("cuda", 0, "", (9, 0)))


def test_planning_and_capturing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = HostGraphs()
    monkeypatch.setattr(captured, "device_graphs", lambda device: graphs)
    names: dict[str, Any] = {
        "load": load,
        "CublasLt": CublasLt,
        "Captured": captured.Captured,
        "token": torch.tensor([3]),
        "pos": torch.tensor([0]),
    }
    exec(PLANNING, names)
    model, step = names["model"], names["step"]
    # Planning may have captured too, to time what it chose from.
    captures, replays = graphs.captures, graphs.replays
    other = load(folder / "llama.linnet", weights=folder / "model.safetensors")
    (logits, at) = (names["logits"], 0)
    while True:
        expected = other.run_entry("decode", [torch.tensor([3]), torch.tensor([at])], compile=False)
        assert torch.allclose(logits, expected, rtol=1e-4, atol=1e-4)
        at += 1
        if at == 4:
            break
        (logits,) = step([torch.tensor([3]), torch.tensor([at])])
    assert torch.equal(model.tensor("seen"), other.tensor("seen"))
    assert (graphs.captures - captures, graphs.replays - replays) == (1, 3)


def test_writing_installing_and_checking(folder: Path) -> None:
    project = folder / "project"
    (project / "my_package").mkdir(parents=True)
    (project / "my_package" / "__init__.py").write_text(WRITING)
    (project / "my_library.py").write_text("from torch.nn.functional import linear\n")
    (project / "pyproject.toml").write_text(
        '[project]\nname = "my-package"\nversion = "0.1"\n'
        '[project.entry-points."linnet.backends"]\n'
        'my-linear = "my_package:MyLinear"\nmy-other = "my_package:Missing"\n'
    )
    site = folder / "site"
    site.mkdir()
    install(site, project)
    done = subprocess.run(
        [sys.executable, "-c", USING],
        env=environment(site),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    first, *findings, skipped = done.stdout.splitlines()
    assert first == "3 torch.Size([1, 16])"
    assert [line.split()[2] for line in findings] == ["True"] * 3
    assert all(float(line.split()[1]) <= 0.01 for line in findings)
    assert "has no attribute 'Missing'" in skipped
