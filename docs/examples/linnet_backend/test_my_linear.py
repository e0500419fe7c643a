"""The back end computes what the generated source does, and takes part in plans."""

import pytest
import torch
from my_linear import MyLinear

from linnet.backends import available
from linnet.backends.testing import two_layer_graph
from linnet.torch import GraphProgram, load_program


@pytest.fixture
def model():
    """Two layers of `x + down(up(norm(x)))` with random weights."""
    graph = two_layer_graph()
    weights = {p.path: torch.randn(p.shape) for p in graph.parameters}
    return load_program(GraphProgram([graph]), weights=weights)


def test_it_is_installed():
    """`pip install -e .` first."""
    assert "my-linear" in [backend.name for backend in available()]


def test_each_region_conforms(model):
    """On inputs as given, large, tiny and zero."""
    findings = model.conform("forward", [torch.randn(3, 8)], MyLinear(), stress=True)
    assert len({finding.region.steps for finding in findings}) == 4  # up and down of two layers
    assert all(finding.passed for finding in findings), findings


def test_a_planned_model_computes_the_same(model):
    """As the interpreter, which runs the source step by step."""
    x = torch.randn(3, 8)
    plan = model.plan_for("forward", [x], [MyLinear()], measure=False)
    assert len(plan.regions) == 4
    (made,) = plan.run([x], model.context_for(plan))
    assert torch.allclose(made, model.run_entry("forward", [x], compile=False), atol=1e-4)
