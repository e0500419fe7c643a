"""Generated source of a whole entry as one graph of the device: `compile="reduce-overhead"`."""

from __future__ import annotations

from functools import partial

from linnet.backends import Options
from linnet.graph import Graph
from linnet.torch.module import LinnetModule
from linnet.torch.planned.captured import Captured
from linnet.torch.planned.device_graph import device_graphs
from linnet.torch.planned.items import arrange
from linnet.torch.planned.plan import Plan, StepTimes
from linnet.torch.planned.target import target_for


def capture_source(model: LinnetModule, graph: Graph) -> Captured:
    """A captured step that runs the generated source of `graph` and no back end. ValueError for a
    model whose device has no graphs, or that is trained: graphs keep no gradients.
    """
    graphs = device_graphs(model.device)
    if graphs is None:
        raise ValueError(
            f'compile="reduce-overhead" replays CUDA graphs, and the model is on {model.device}; '
            "use compile=True there, or a plan"
        )
    if model.trainable:
        raise ValueError('compile="reduce-overhead" computes no gradients; load without trainable')
    items = arrange(graph, [], partial(model.slice_runner, graph))
    plan = Plan(model, graph, items, [], target_for(model.device), Options(), StepTimes())
    return Captured(plan, model.context_for(plan), graphs)
