"""`compile="reduce-overhead"`, with graphs that record on the host."""

from __future__ import annotations

import pytest
import torch
from linnet_helpers.host_graphs import HostGraphs
from linnet_helpers.runtime import close, model_of

from linnet.backends.testing import GraphBuilder, two_layer_graph
from linnet.graph import Graph
from linnet.torch.planned import whole_graph


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> HostGraphs:
    made = HostGraphs()
    monkeypatch.setattr(whole_graph, "device_graphs", lambda device: made)
    return made


def counting() -> Graph:
    builder = GraphBuilder()
    x, total = builder.input("x", (3,)), builder.state("total", (3,))
    after = builder.step("add", total, x)
    builder.write("total", after)
    return builder.graph((after, total))


def test_an_entry_is_captured_once_and_replayed(graphs: HostGraphs) -> None:
    model = model_of(counting(), compile="reduce-overhead")
    for n in range(1, 6):
        after, before = model.forward(torch.ones(3))
        assert after.tolist() == [n] * 3
        assert before.tolist() == [n - 1] * 3
    assert (graphs.captures, graphs.replays) == (1, 4)


def test_it_can_be_asked_for_by_call(graphs: HostGraphs) -> None:
    model = model_of(two_layer_graph())
    for seed in range(3):
        x = torch.randn(3, 8, generator=torch.Generator().manual_seed(seed))
        made = model.run_entry("forward", [x], compile="reduce-overhead")
        assert close(made, model.run_entry("forward", [x], compile=False))
    assert graphs.captures == 1


def test_a_device_without_graphs_is_refused() -> None:
    model = model_of(two_layer_graph(), compile="reduce-overhead")
    with pytest.raises(ValueError, match="replays CUDA graphs, and the model is on cpu"):
        model.forward(torch.zeros(3, 8))


def test_a_trained_model_is_refused(graphs: HostGraphs) -> None:
    model = model_of(two_layer_graph(), compile="reduce-overhead", trainable=True)
    with pytest.raises(ValueError, match="computes no gradients"):
        model.forward(torch.zeros(3, 8))
