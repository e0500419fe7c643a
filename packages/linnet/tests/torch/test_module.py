"""A loaded model: entries, inputs, states, printing, training, errors."""

from __future__ import annotations

import copy
import pickle
import sys
import traceback
from pathlib import Path

import pytest
import torch
from linnet_helpers.runtime import model_of, random_weights

from linnet.backends.testing import GraphBuilder, two_layer_graph
from linnet.graph import Graph
from linnet.torch import GraphProgram, LinnetModule, load_program

COMPILES = [pytest.param(False, id="interpreted"), pytest.param(None, id="generated")]


def counter(entry: str = "step") -> Graph:
    """total += x; seen keeps the latest x; returns the total before."""
    builder = GraphBuilder(entry=entry)
    x = builder.input("x", (2,))
    total = builder.state("total", (2,))
    builder.state("seen", (2,))
    builder.write("total", builder.step("add", total, x))
    builder.write("seen", x)
    return builder.graph(total)


def gathering(module: str = "demo") -> Graph:
    """Writes x to a state, then reads row `at` of it: fails for a row that is not there."""
    builder = GraphBuilder(module, entry="step")
    x, at = builder.input("x", (2,)), builder.input("at", (), "i64")
    total = builder.state("total", (2,))
    after = builder.step("add", total, x)
    builder.write("total", after)
    return builder.graph(builder.step("element", after, at, shape=(), axes=(0,)))


@pytest.mark.parametrize("compile", COMPILES)
def test_entries_are_methods_and_keep_their_states(compile: bool | None) -> None:
    model = model_of(counter(), compile=compile)
    assert model.state_paths() == ("total", "seen")
    first = model.step(torch.tensor([1.0, 2.0]))
    second = model.step(x=torch.tensor([3.0, 4.0]))
    assert first.tolist() == [0, 0]  # kept, although the state it came from went on
    assert second.tolist() == [1, 2]
    assert model.tensor("total").tolist() == [4, 6]
    assert model.tensor("seen").tolist() == [3, 4]
    model.reset_state()
    assert model.step(torch.zeros(2)).tolist() == [0, 0]


@pytest.mark.parametrize("compile", COMPILES)
def test_a_state_keeps_its_address(compile: bool | None) -> None:
    model = model_of(counter(), compile=compile)
    address = model.tensor("total").data_ptr()
    model.step(torch.ones(2))
    assert model.tensor("total").data_ptr() == address


@pytest.mark.parametrize("compile", COMPILES)
def test_states_may_swap_their_contents(compile: bool | None) -> None:
    builder = GraphBuilder(entry="swap")
    a, b = builder.state("a", (2,)), builder.state("b", (2,))
    builder.write("a", b)
    builder.write("b", a)
    model = model_of(builder.graph(None), compile=compile)
    model.tensor("a").copy_(torch.tensor([1.0, 2.0]))
    assert model.swap() is None
    assert model.tensor("a").tolist() == [0, 0]
    assert model.tensor("b").tolist() == [1, 2]


@pytest.mark.parametrize("compile", COMPILES)
def test_a_call_that_fails_leaves_the_states_as_they_were(compile: bool | None) -> None:
    model = model_of(gathering(), compile=compile)
    assert float(model.step(torch.ones(2), 1)) == 1
    with pytest.raises(IndexError, match="position 2 is outside axis 0 of size 2"):
        model.step(torch.ones(2), 2)
    assert model.tensor("total").tolist() == [1, 1]


@pytest.mark.parametrize("compile", COMPILES)
def test_results_do_not_change_with_later_calls_nor_share_constants(compile: bool | None) -> None:
    builder = GraphBuilder()
    x = builder.input("x", (3,))
    places = builder.step("iota", shape=(3,), dtype="f32")
    model = model_of(builder.graph((places, builder.step("add", x, places))), compile=compile)
    first, _ = model.forward(torch.ones(3))
    first.zero_()
    again, total = model.forward(torch.ones(3))
    assert again.tolist() == [0, 1, 2]
    assert total.tolist() == [1, 2, 3]


def test_results_keep_the_form_of_the_entry() -> None:
    builder = GraphBuilder()
    x = builder.input("x", (2,))
    y = builder.step("neg", x)
    model = model_of(builder.graph({"pair": (x, y), "none": None, "one": y}))
    result = model.forward(torch.ones(2))
    assert list(result) == ["pair", "none", "one"]
    assert result["none"] is None
    assert torch.equal(result["pair"][1], result["one"])


@pytest.mark.parametrize(
    ("inputs", "error", "text"),
    [
        ([torch.ones(3, 7)], ValueError, r"input x: expected f32\[3, 8\], got f32\[3, 7\]"),
        ([torch.ones(3, 8).double()], TypeError, r"got f64\[3, 8\]; convert it with \.to\(torch.f"),
        ([torch.ones(3, 8, dtype=torch.complex64)], TypeError, "Linnet has no dtype"),
        (
            [torch.ones(3, 8, device="meta")],
            TypeError,
            "expected a dense tensor, got a meta tensor",
        ),
        (
            [torch.ones(3, 8).to_sparse()],
            TypeError,
            "expected a dense tensor, got a tensor of layout sparse",
        ),
        ([2.0], ValueError, r"expected f32\[3, 8\], got the number 2.0"),
        (["text"], TypeError, "expected a tensor, a number, a tuple or a mapping, got str"),
        ([], TypeError, "input 'x' is missing"),
        ([torch.ones(3, 8)] * 2, TypeError, "takes 1 input, got 2"),
        ({"y": torch.ones(3, 8)}, TypeError, "there is no input 'y'; it takes: x"),
        (torch.ones(3, 8), TypeError, "inputs must be a list or a mapping by name, got Tensor"),
        ([(torch.ones(3, 8),)], TypeError, "there is no input 'x.0' at this binding"),
    ],
)
def test_a_wrong_input_is_named_before_anything_runs(
    inputs: object, error: type[Exception], text: str
) -> None:
    model = model_of(two_layer_graph())
    with pytest.raises(error, match=f"entry forward: .*{text}"):
        model.run_entry("forward", inputs)


@pytest.mark.parametrize(
    ("dtype", "number", "error", "text"),
    [
        ("i32", 2**31, ValueError, "2147483648 is out of the range of i32"),
        ("i32", 1.5, TypeError, "expected i32, got 1.5"),
        ("i32", True, TypeError, "expected i32, got True"),
        ("bool", 1, TypeError, "expected bool, got 1"),
        ("f32", True, TypeError, "expected f32, got True"),
    ],
)
def test_a_number_must_fit_its_dtype(
    dtype: str, number: object, error: type[Exception], text: str
) -> None:
    builder = GraphBuilder()
    model = model_of(builder.graph(builder.input("n", (), dtype)))
    with pytest.raises(error, match=f"input n: {text}"):
        model.forward(number)


def test_numbers_are_taken_for_scalars() -> None:
    builder = GraphBuilder()
    n = builder.input("n", (), "i64")
    model = model_of(builder.graph(builder.step("add", n, n)))
    assert model.forward(3).tolist() == 6
    assert model.forward(torch.tensor(4)).tolist() == 8


def test_an_unknown_entry_lists_those_there_are() -> None:
    model = model_of(two_layer_graph())
    with pytest.raises(AttributeError, match="has no entry 'decode'; it has: forward"):
        model.run_entry("decode", [])
    with pytest.raises(AttributeError, match="decode"):
        _ = model.decode


def test_an_unknown_path_names_near_ones() -> None:
    model = model_of(two_layer_graph())
    with pytest.raises(KeyError, match=r"near ones are layers\.0\.norm\.weight"):
        model.tensor("layer.0.norm.weight")


def test_printing_shows_names_shapes_and_kinds() -> None:
    builder = GraphBuilder()
    x = builder.input("x", (2,))
    table = builder.parameter("rope.table", (4, 2), "bf16", kind="buffer")
    builder.state("cache", (1, 2))
    gain = builder.parameter("gain", (2,))
    model = model_of(builder.graph((builder.step("mul", x, gain), table)))
    text = repr(model)
    for line in ("buffer table: bf16[4, 2]", "state cache: f32[1, 2]", "gain: f32[2]"):
        assert line in text


def test_state_dict_has_linnet_paths_and_no_states() -> None:
    model = model_of(counter())
    assert list(model.state_dict()) == []
    weights = random_weights(two_layer_graph())
    assert set(model_of(two_layer_graph()).state_dict()) == set(weights)


def test_a_trainable_model_gives_the_gradients_of_the_interpreter() -> None:
    graph = two_layer_graph(joined=True)
    gradients = []
    for compile in (False, True):
        model = model_of(graph, trainable=True, compile=compile)
        model.forward(torch.ones(3, 8)).square().sum().backward()
        gradients.append({n: p.grad for n, p in model.named_parameters()})
    for name, gradient in gradients[0].items():
        other = gradients[1][name]
        assert gradient is not None
        assert other is not None
        assert torch.allclose(gradient, other, rtol=1e-4, atol=1e-4), name


def test_states_carry_no_gradient() -> None:
    builder = GraphBuilder(entry="step")
    w = builder.parameter("w", (2,))
    total = builder.state("total", (2,))
    after = builder.step("add", total, w)
    builder.write("total", after)
    model = model_of(builder.graph(after), trainable=True)
    for _ in range(2):
        model.step().sum().backward()
    assert not model.tensor("total").requires_grad
    gradient = model.tensor("w").grad
    assert gradient is not None
    assert gradient.tolist() == [2, 2]


def test_a_replaced_or_written_weight_is_seen_by_what_was_prepared_from_it() -> None:
    builder = GraphBuilder()
    x, w = builder.input("x", (2,)), builder.parameter("w", (2,))
    doubled = builder.step("add", w, w)
    model = model_of(builder.graph(builder.step("mul", x, doubled)))
    ones = torch.ones(2)
    model.forward(ones)
    assert "PREPARED_FROM = [\n    'w',\n]" in model.generated_source("forward")
    with torch.no_grad():
        model.get_parameter("w").fill_(3)
    assert model.forward(ones).tolist() == [6, 6]
    model.w = torch.nn.Parameter(torch.full((2,), 5.0), requires_grad=False)
    assert model.forward(ones).tolist() == [10, 10]


def test_a_copied_model_has_states_of_its_own() -> None:
    model = model_of(counter())
    twin = copy.deepcopy(model)
    model.step(torch.ones(2))
    assert twin.tensor("total").tolist() == [0, 0]
    twin.step(torch.full((2,), 5.0))
    assert model.tensor("total").tolist() == [1, 1]


def test_a_model_that_ran_is_copied_and_runs() -> None:
    model = model_of(counter())
    model.step(torch.ones(2))
    twin = copy.deepcopy(model)
    assert twin.step(torch.ones(2)).tolist() == model.step(torch.ones(2)).tolist()


def test_pickling_says_what_to_save_instead() -> None:
    with pytest.raises(TypeError, match=r"cannot be pickled; save its state_dict\(\)"):
        pickle.dumps(model_of(counter()))


@pytest.mark.parametrize("compile", COMPILES)
@pytest.mark.parametrize(
    ("tensor", "text"),
    [
        (torch.ones(1), r"w: expected f32\[2\], got f32\[1\]"),
        (torch.ones(2).bfloat16(), r"w: expected f32\[2\], got bf16\[2\]"),
        (torch.ones(2).to_sparse(), r"w: expected f32\[2\], got a tensor of layout sparse_coo"),
        (torch.ones(2, device="meta"), r"w: expected f32\[2\], got a meta tensor"),
    ],
    ids=["shape", "dtype", "layout", "meta"],
)
def test_a_weight_replaced_by_one_that_does_not_fit_is_named(
    compile: bool | None, tensor: torch.Tensor, text: str
) -> None:
    builder = GraphBuilder()
    x, w = builder.input("x", (2,)), builder.parameter("w", (2,))
    model = model_of(builder.graph(builder.step("mul", x, w)))
    model.run_entry("forward", [torch.ones(2)], compile=compile)
    model._parameters["w"] = torch.nn.Parameter(tensor, requires_grad=False)
    graph = model.graph_for("forward", [torch.ones(2)])
    with pytest.raises(ValueError, match=text):
        model.run_graph(graph, [torch.ones(2)], compile)


def test_a_negative_view_is_read_by_its_values() -> None:
    builder = GraphBuilder()
    model = model_of(builder.graph(builder.step("neg", builder.input("x", (2,)))))
    x = torch._neg_view(torch.ones(2))
    (bound,) = model.bind(model.graph_for("forward", [x]), [x])
    assert not bound.is_neg()
    assert bound.tolist() == [-1, -1]


def test_members_may_be_called_like_methods_of_a_module() -> None:
    builder = GraphBuilder()
    x, half = builder.input("x", (2,)), builder.parameter("half", (2,))
    model = model_of(builder.graph(builder.step("mul", x, half)))
    assert torch.equal(model.forward(torch.ones(2)), model.tensor("half"))
    assert "half" in model.state_dict()


def test_generated_source_needs_sizes_or_a_run() -> None:
    model = model_of(two_layer_graph())
    with pytest.raises(ValueError, match="give `inputs`, or run it first"):
        model.generated_source("forward")
    text = model.generated_source("forward", [torch.ones(3, 8)])
    assert model.generated_source("forward") == text


def test_generated_source_is_a_file_that_tracebacks_show(linnet_home: Path) -> None:
    model = model_of(gathering("a_module_of_its_own"))
    with pytest.raises(IndexError) as caught:
        model.step(torch.ones(2), 9)
    assert caught.value.__cause__ is not None
    frames = traceback.extract_tb(caught.value.__cause__.__traceback__)
    frame = next(f for f in frames if f.name == "main")
    assert Path(frame.filename).parent == linnet_home / "generated"
    assert "operations.element" in (frame.line or "")
    assert Path(frame.filename).read_text() == model.generated_source("step")


def test_a_home_that_cannot_be_written_does_not_stop_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LINNET_HOME", str(tmp_path / "file" / "home"))
    graph = two_layer_graph(rows=1, width=6)
    model = model_of(graph)
    x = torch.ones(1, 6)
    expected = model.run_entry("forward", [x], compile=False)
    assert torch.allclose(model.forward(x), expected, rtol=1e-5, atol=1e-5)


def test_an_altered_file_in_the_home_is_not_run(linnet_home: Path) -> None:
    graph = two_layer_graph(rows=2, width=10)
    text = model_of(graph).generated_source("forward", [torch.ones(2, 10)])
    (path,) = (linnet_home / "generated").iterdir()
    path.write_text("raise SystemExit('altered')")
    del sys.modules[f"linnet_generated_{path.stem}"]
    model_of(graph).forward(torch.ones(2, 10))
    assert path.read_text() == text


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_torch_compile_back_end_runs_the_generated_source(backend: str) -> None:
    model = model_of(two_layer_graph())
    x = torch.randn(3, 8)
    expected = model.run_entry("forward", [x], compile=False)
    made = model.run_entry("forward", [x], compile=backend)
    assert torch.allclose(made, expected, rtol=1e-5, atol=1e-5)


def test_a_model_of_graphs_lists_them_all() -> None:
    program = GraphProgram([counter("one"), counter("two")])
    model = load_program(program)
    assert isinstance(model, LinnetModule)
    assert program.entries == ("one", "two")
    assert model.state_paths() == ("total", "seen")
    with pytest.raises(ValueError, match="two graphs of one entry"):
        GraphProgram([counter(), counter()])
