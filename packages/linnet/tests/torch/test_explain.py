"""`explain` says what generated source does with each op; failures name lines of Linnet source."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import pytest
import torch

from linnet.commands.main import main
from linnet.torch import load

EXAMPLES = Path(__file__).parents[2] / "examples"
SIZES = [
    *("Vocab=24", "H=16", "Inner=24", "Layers=3", "Heads=4", "KeyHeads=2", "D=4"),
    *("Batch=1", "Context=8"),
]
LLAMA = [str(EXAMPLES / "llama.linnet"), "--entry", "decode", "--bind", *SIZES]


def run(*arguments: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


def test_choices_are_listed_with_their_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    text = run("explain", *LLAMA, "T=bf16", capsys=capsys)
    lines = text.splitlines()

    def reason(head: str) -> str:
        return lines[lines.index(head) + 1].strip()

    assert reason("std.nn.linear::linear in model.layers.*.self_attn.q_proj x3") == (
        "one product: 3 products of one input are one, over weights laid side by side "
        "(of body, operations.row_linear, one product)"
    )
    assert reason("std.nn.cache::write_rows in model.layers.*.self_attn x6").startswith("in place:")
    assert reason("std.nn.norm::rms_norm in model.norm") == (
        "functional.rms_norm: it computes the op in fast numerics (of body, functional.rms_norm)"
    )
    text = run("explain", *LLAMA, "T=bf16", "--numerics", "equivalent", capsys=capsys)
    assert "body: the function rounds otherwise than the body, which equivalent" in text
    text = run("explain", *LLAMA, "T=f32", "--numerics", "exact", capsys=capsys)
    assert "functional" not in text.replace("(of body, functional", "")
    text = run("explain", *LLAMA, "T=f32", "--training", capsys=capsys)
    assert "one product" not in text
    assert "body: the old content is read elsewhere, it is no state, or something later" in text


def test_torch_prints_what_load_runs(capsys: pytest.CaptureFixture[str]) -> None:
    path = EXAMPLES / "two_layer.linnet"
    bind = ["--entry", "forward", "--bind", "H=8", "B=3", "T=f32"]
    text = run("torch", str(path), *bind, capsys=capsys)
    weights = {
        f"layers.{n}.{name}.weight": torch.randn(shape)
        for n in range(2)
        for name, shape in (("norm", (8,)), ("proj", (8, 8)))
    }
    model = load(path, generics={"H": 8}, weights=weights)
    assert text == model.generated_source("forward", [torch.zeros(3, 8)])
    again = run("torch", str(path), *bind, capsys=capsys)
    assert again == text
    names: dict[str, Any] = {}
    exec(compile(text, "generated", "exec"), names)
    x = torch.randn(3, 8)
    parameters = [model.tensor(path) for path in names["PARAMETERS"]]
    (found,) = names["main"]([x], parameters, [], (), (), torch.device("cpu"))
    torch.testing.assert_close(found, model.forward(x))


def test_bad_bindings_and_sources_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(EXAMPLES / "two_layer.linnet")
    assert main(["torch", path, "--entry", "nothing", "--bind", "H=8"]) == 2
    assert "has no entry 'nothing'" in capsys.readouterr().err
    assert main(["explain", path, "--entry", "forward"]) == 2
    assert "needs values for its generics H" in capsys.readouterr().err
    broken = tmp_path / "m.linnet"
    broken.write_text("module m\nfn f() -> f32 { return y }")
    assert main(["torch", str(broken), "--entry", "f"]) == 1


def test_a_failing_line_names_the_line_of_the_source() -> None:
    source = "\n".join(
        (
            "module m",
            "pub entry pick(x: Tensor[4; f32], at: i64) -> f32 {",
            "    let y = x * 2.0",
            "    return y[at]",
            "}",
        )
    )
    model = load(source)
    assert float(model.pick(torch.arange(4.0), 3)) == 6
    with pytest.raises(IndexError) as caught:
        model.pick(torch.arange(4.0), 4)
    place, _, message = str(caught.value).partition(": ")
    assert place.endswith(":4")
    assert message == "position 4 is outside axis 0 of size 4"
    frames = traceback.extract_tb(caught.value.__cause__.__traceback__)  # type: ignore[union-attr]  # it has one
    generated = next(frame for frame in frames if "generated" in frame.filename)
    assert "operations.element" in (generated.line or "")
