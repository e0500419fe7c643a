"""A captured step sees weights that were replaced, written or moved."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from linnet_helpers.decoder import at, decoder, tokens
from linnet_helpers.runtime import Reference, batch, captured, model_of

from linnet.backends.testing import two_layer_graph
from linnet.torch import LinnetModule, load
from linnet.torch.planned import Captured
from linnet.torch.planned.context import LookWarning


def replace_parameter(model: LinnetModule) -> None:
    up = model.get_submodule("layers.0.up")
    up.weight = torch.nn.Parameter(torch.full((16, 8), 0.5), requires_grad=False)


def write_parameter(model: LinnetModule) -> None:
    with torch.no_grad():
        model.get_parameter("layers.0.up.weight").mul_(0.5)


def replace_data(model: LinnetModule) -> None:
    model.get_parameter("layers.0.up.weight").data = torch.full((16, 8), 0.25)


def transpose_data(model: LinnetModule) -> None:
    weight = model.get_parameter("layers.0.up.weight")
    weight.data = weight.data.view(8, 16).t()


def replace_child(model: LinnetModule) -> None:
    other = model_of(two_layer_graph(), trainable=False)
    with torch.no_grad():
        other.get_parameter("layers.0.up.weight").fill_(0.125)
    model.get_submodule("layers")._modules["0"] = other.get_submodule("layers.0")


def load_other(model: LinnetModule) -> None:
    model.load_state_dict({k: v * 0.5 for k, v in model.state_dict().items()})


@pytest.mark.parametrize(
    "change",
    [
        replace_parameter,
        write_parameter,
        replace_data,
        transpose_data,
        replace_child,
        load_other,
    ],
)
@pytest.mark.parametrize("records", [False, True])
def test_a_weight_that_changed_is_seen(
    change: Callable[[LinnetModule], None], records: bool
) -> None:
    model = model_of(two_layer_graph())
    step = captured(model, [batch(0)], Reference(records=records))
    before = [step([batch(0)])[0] for _ in range(3)][-1]
    change(model)
    (made,) = step([batch(0)])
    assert not torch.allclose(made, before)
    expected = model.run_entry("forward", [batch(0)], compile=False)
    assert torch.allclose(made, expected, rtol=1e-5, atol=1e-5)
    (again,) = step([batch(7)])
    expected = model.run_entry("forward", [batch(7)], compile=False)
    assert torch.allclose(again, expected, rtol=1e-5, atol=1e-5)


def test_a_written_weight_that_is_read_in_place_needs_no_prepare() -> None:
    model = model_of(two_layer_graph())
    backend = Reference()
    backend.reads_in_place = True
    plan = model.plan_for("forward", [batch(0)], backends=[backend], measure=False)
    context = model.context_for(plan)
    before = len(backend.prepared)
    up = model.get_submodule("layers.0.up")
    with torch.no_grad():
        up.get_parameter("weight").mul_(2)
    assert not context.changed()
    (made,) = plan.run([batch(0)], context)
    assert len(backend.prepared) == before
    expected = model.run_entry("forward", [batch(0)], compile=False)
    assert torch.allclose(made, expected, rtol=1e-5, atol=1e-5)
    up.weight = torch.nn.Parameter(torch.ones(16, 8), requires_grad=False)
    assert context.changed()
    (made,) = plan.run([batch(0)], context)
    assert len(backend.prepared) == before + 1
    expected = model.run_entry("forward", [batch(0)], compile=False)
    assert torch.allclose(made, expected, rtol=1e-5, atol=1e-5)


class Glance:
    """A look that counts, and holds until it is told otherwise."""

    def __init__(self) -> None:
        self.looks = 0
        self.same = True

    def holds(self) -> bool:
        self.looks += 1
        return self.same


def test_a_back_end_that_looks_is_asked_where_contents_do_not_count() -> None:
    glances = [Glance() for _ in range(2)]
    waiting = list(glances)
    seen: list[Any] = []

    def look(places: Any, tensors: Any) -> Glance | None:
        seen.append((places, tensors))
        return waiting.pop() if tensors else None

    backend: Any = Reference()
    backend.reads_in_place = True
    backend.look = look
    model = model_of(two_layer_graph())
    plan = model.plan_for("forward", [batch(0)], backends=[backend], measure=False)
    step = Captured(plan, model.context_for(plan))
    weight = model.get_parameter("layers.0.up.weight")
    places, tensors = seen[0]
    assert any(tensor is weight for tensor in tensors)
    assert all(table[name] is found for table, name, found in places)
    for _ in range(3):
        step([batch(0)])
    renewed = len(seen)
    assert glances[1].looks > 0
    glances[1].same = False
    step([batch(0)])
    assert len(seen) > renewed
    step([batch(0)])
    assert glances[0].looks > 0


def test_a_look_that_fails_is_warned_of_and_not_used() -> None:
    def look(places: Any, tensors: Any) -> Glance:
        raise RuntimeError("blinded")

    backend: Any = Reference()
    backend.reads_in_place = True
    backend.look = look
    model = model_of(two_layer_graph())
    plan = model.plan_for("forward", [batch(0)], backends=[backend], measure=False)
    with pytest.warns(LookWarning, match="reference: look failed: RuntimeError: blinded"):
        context = model.context_for(plan)
    assert not context.changed()
    replace_parameter(model)
    assert context.changed()


def narrow(model: LinnetModule) -> None:
    model.half()


def reshape_data(model: LinnetModule) -> None:
    weight = model.get_parameter("layers.0.up.weight")
    weight.data = weight.data.view(8, 16)


def cut_off(model: LinnetModule) -> None:
    weight = model.get_parameter("layers.0.up.weight")
    weight.data = weight.data[:8]


def drop(model: LinnetModule) -> None:
    model.get_submodule("layers.0.up")._parameters["weight"] = None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (narrow, r"layers\.0\.norm\.weight: expected f32\[8\], got f16\[8\]"),
        (reshape_data, r"layers\.0\.up\.weight: expected f32\[16, 8\], got f32\[8, 16\]"),
        (cut_off, r"layers\.0\.up\.weight: expected f32\[16, 8\], got f32\[8, 8\]"),
        (drop, r"has no tensor at 'layers\.0\.up\.weight'"),
    ],
)
@pytest.mark.parametrize("captures", [False, True])
@pytest.mark.parametrize("backends", [[], [Reference()]], ids=["source", "reference"])
def test_a_weight_that_no_longer_fits_is_named(
    change: Callable[[LinnetModule], None], message: str, captures: bool, backends: list[Any]
) -> None:
    model = model_of(two_layer_graph())
    plan = model.plan_for("forward", [batch(0)], backends=backends, measure=False)
    context = model.context_for(plan)
    step: Any = Captured(plan, context) if captures else lambda given: plan.run(given, context)
    for _ in range(3):
        step([batch(0)])
    change(model)
    for _ in range(2):
        with pytest.raises((ValueError, KeyError), match=message):
            step([batch(0)])


@pytest.mark.parametrize("captures", [False, True])
def test_a_state_that_no_longer_fits_is_named_and_no_other_is_written(captures: bool) -> None:
    model = decoder()
    inputs = [tokens(0, 1), at(0)]
    plan = model.plan_for("decode", inputs, backends=[Reference()], measure=False)
    context = model.context_for(plan)
    step: Any = Captured(plan, context) if captures else lambda given: plan.run(given, context)
    for _ in range(3):
        step(inputs)
    path = "model.layers.0.self_attn.keys"
    block = model.get_submodule(path.rpartition(".")[0])
    whole = model.tensor(path)
    before = {name: model.tensor(name).clone() for name in model.state_paths()}
    for wrong in (whole[:, :, :8].contiguous(), whole.bfloat16(), torch.cat((whole, whole), 2)):
        block._buffers["keys"] = wrong
        with pytest.raises(ValueError, match=rf"{path}: expected f32\[2, 2, 16, 8\], got "):
            step([tokens(1, 1), at(1)])
    block._buffers["keys"] = whole
    assert all(torch.equal(model.tensor(name), kept) for name, kept in before.items())
    step([tokens(1, 1), at(1)])


def test_a_step_whose_model_came_back_from_another_device_runs_again() -> None:
    model = model_of(two_layer_graph())
    step = captured(model, [batch(0)], Reference())
    expected = [step([batch(0)])[0] for _ in range(3)]
    kept = {path: model.tensor(path).clone() for path in model.bound}
    model.to("meta")
    with pytest.raises(ValueError, match="the model is on meta"):
        step([batch(0)])
    for path, tensor in kept.items():
        *parents, name = path.split(".")
        block = model.get_submodule(".".join(parents))
        block._parameters[name] = torch.nn.Parameter(tensor, requires_grad=False)
    torch.testing.assert_close(step([batch(0)])[0], expected[0])


def test_a_model_made_in_inference_mode_is_captured_and_its_changes_are_seen() -> None:
    with torch.inference_mode():
        weight = torch.ones(2)
        model = load(
            "module m\npub block M { param w: Tensor[2; f32]\n"
            "pub entry forward(x: Tensor[2; f32]) -> Tensor[2; f32] { return x * w } }",
            weights={"w": weight},
        )
    step = captured(model, [torch.ones(2)], Reference())
    for _ in range(3):
        assert step([torch.ones(2)])[0].tolist() == [1, 1]
    with torch.no_grad():
        model.tensor("w").fill_(3)
    assert step([torch.ones(2)])[0].tolist() == [3, 3]


def test_a_weight_of_inference_mode_is_refused() -> None:
    model = model_of(two_layer_graph())
    with torch.inference_mode():
        weight = torch.ones(16, 8)
    model.get_submodule("layers.0.up")._parameters["weight"] = weight
    with pytest.raises(ValueError, match=r"torch\.inference_mode"):
        captured(model, [batch(0)], Reference())


def test_the_old_recording_is_freed_before_the_new_one_is_made() -> None:
    model = model_of(two_layer_graph())
    backend = Reference()
    step = captured(model, [batch(0)], backend)
    step([batch(0)])
    step([batch(0)])
    old = weakref.ref(step._step)
    assert old() is not None
    replace_parameter(model)
    step([batch(0)])
    gc.collect()
    assert old() is None
