"""What the commands print, write and exit with."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

import linnet
from linnet.commands.inspect import LEVELS
from linnet.commands.main import COMMANDS, main, parser
from linnet.graph import Graph
from linnet.ir.passes import Legality

GOOD = """module m

pub entry run<N: Dim>(x: Tensor[N; f32]) -> Tensor[N; f32] {
    return x + 1.0
}
"""
EXAMPLE = Path(__file__).parents[2] / "examples" / "two_layer.linnet"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "m.linnet"
    path.write_text(GOOD)
    return path


def test_check_says_nothing_about_a_good_file(
    source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(source)]) == 0
    assert capsys.readouterr() == ("", "")


def test_check_prints_errors_and_exits_1(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source.write_text("module m\nfn f() -> f32 { return y }")
    assert main(["check", str(source)]) == 1
    text = capsys.readouterr().err
    assert text.startswith("error E1201: there is no name `y` here")
    assert "1 error" in text
    assert main(["check", "--json", str(source)]) == 1
    assert json.loads(capsys.readouterr().out)["summary"] == {"errors": 1, "warnings": 0}


def test_warnings_fail_lint_and_strict_only(source: Path) -> None:
    source.write_text("module m\nfn f() { let a = 1 }")
    assert main(["check", str(source)]) == 0
    assert main(["check", "--strict", str(source)]) == 1
    assert main(["lint", str(source)]) == 1


def test_bad_command_lines_exit_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path / "none.linnet")]) == 2
    assert "cannot read" in capsys.readouterr().err
    assert main(["frobnicate"]) == 2
    assert main([]) == 2
    assert main(["--version"]) == 0


def test_a_mistyped_command_is_told_what_is_near(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspct"]) == 2
    assert capsys.readouterr().err == (
        "linnet: there is no command `inspct`; did you mean `inspect`?\n"
    )
    assert main(["frobnicate"]) == 2
    assert capsys.readouterr().err == (
        f"linnet: there is no command `frobnicate`; there are: {', '.join(COMMANDS)}\n"
    )
    assert main([]) == 2
    assert "generate text with a language model" in capsys.readouterr().err


def test_a_mistyped_module_of_the_package_is_told_what_lies_beside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "parts.linnet").write_text("module parts\npub const A = 1\n")
    source = tmp_path / "m.linnet"
    source.write_text("module m\nuse crate.prats::{A as _a}\nuse crate.nothing::{B as _b}\n")
    assert main(["check", str(source)]) == 1
    text = capsys.readouterr().err
    assert "there is no module `crate.prats`" in text
    assert text.count("= help: did you mean") == 1
    assert "  = help: did you mean `crate.parts`?" in text


def test_the_package_runs_as_a_module_too(source: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "linnet", "inspect", str(source)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("module m\n")


def test_run_names_a_missing_file_before_it_loads_pytorch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "linnet.generation", None)  # importing it raises
    missing = str(tmp_path / "none.gguf")
    assert main(["run", missing, "--prompt", "x"]) == 2
    assert (
        capsys.readouterr().err
        == f"linnet: {missing}: there is no such file, folder or installed package\n"
    )


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (["--top-p", "1.5"], "top_p must be above 0 and at most 1, got 1.5"),
        (["--max-tokens", "0"], "--max-tokens must be 1 or more, got 0"),
        (["--threads", "0"], "--threads must be 1 or more, got 0"),
    ],
)
def test_run_checks_its_numbers_before_it_reads_the_checkpoint(
    given: list[str], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("tokenizers")
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF")
    assert main(["run", str(broken), "--prompt", "x", *given]) == 2
    assert capsys.readouterr().err == f"linnet: {problem}\n"


def test_a_parameter_said_to_be_present_must_exist(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["graph", str(EXAMPLE), "--entry", "forward", "--bind", "H=4", "B=1", "--present"]
    assert main([*command, "layers.0.proj.bias"]) == 0
    assert "layers.0.proj.bias" in capsys.readouterr().out
    assert main([*command, "layers.0.proj.bia"]) == 2
    out, text = capsys.readouterr()
    assert out == ""
    assert text.startswith(
        "linnet: --present: there is no parameter 'layers.0.proj.bia'; near ones are: "
        "layers.0.proj.bias, "
    )


@pytest.mark.parametrize("name", ["bfloat16", "bf16"])
def test_commands_take_both_names_of_a_dtype(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = parser("run").parse_args(["run", "m.gguf", "--prompt", "x", "--dtype", name])
    assert options.dtype == "bf16"
    sizes = ["--entry", "forward", "--bind", "H=4", "B=1", f"T={name}"]
    assert main(["graph", str(EXAMPLE), *sizes]) == 0
    assert "input     %0: bf16[1, 4] x" in capsys.readouterr().out


def test_a_dtype_that_run_does_not_take_is_told_both_names_of_those_it_does(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["run", "m.gguf", "--prompt", "x", "--dtype", "float64"]) == 2
    assert capsys.readouterr().err.endswith(
        "argument --dtype: expected one of f32 (float32), bf16 (bfloat16), f16 (float16); "
        "got 'float64'\n"
    )


def test_graph_prints_json_that_matches_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["graph", str(EXAMPLE), "--entry", "forward", "--bind", "H=64", "B=2", "--json"]
    assert main(arguments) == 0
    document = json.loads(capsys.readouterr().out)
    schema = Path(linnet.__file__).parent / "graph" / "graph.schema.json"
    jsonschema.validate(document, json.loads(schema.read_text()))
    graph = Graph.from_json(document)
    assert [c.path for c in graph.semantic_calls("std.nn.linear::linear")] == [
        "layers.0.proj",
        "layers.1.proj",
    ]
    assert main(arguments[:-1]) == 0
    assert "contract" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("binding", "complaint"),
    [
        ("H", "takes NAME=VALUE"),
        ("Q=1", "entry forward has no generic 'Q'; it has: B, and block Model has: H, T\n"),
        ("H=x", "takes NAME=VALUE"),
        ("T=i32", "takes a Float dtype"),
    ],
)
def test_graph_refuses_bindings_that_do_not_fit(
    binding: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["graph", str(EXAMPLE), "--entry", "forward", "--bind", "H=4", "B=1", binding])
    assert code == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("H=4", "entry forward: no input tells B; give --bind B=VALUE"),
        ("B=4", "block Model needs values for its generics H; give --bind H=VALUE"),
    ],
)
def test_a_generic_without_a_value_is_asked_for_as_the_command_takes_it(
    given: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["graph", str(EXAMPLE), "--entry", "forward", "--bind", given]) == 2
    assert capsys.readouterr().err == f"linnet: {problem}\n"


def test_fmt_rewrites_in_place_and_keeps_permissions(source: Path) -> None:
    source.write_text("module m\nconst A=1")
    source.chmod(0o640)
    assert main(["fmt", "--check", str(source)]) == 1
    assert source.read_text() == "module m\nconst A=1"
    assert main(["fmt", str(source.parent)]) == 0
    assert source.read_text() == "module m\n\nconst A = 1\n"
    assert source.stat().st_mode & 0o777 == 0o640
    assert main(["fmt", "--check", str(source)]) == 0
    assert [p.name for p in source.parent.iterdir()] == ["m.linnet"]


def test_fmt_leaves_files_with_errors_alone(source: Path) -> None:
    source.write_text("module m\nfn f( {")
    assert main(["fmt", str(source)]) == 1
    assert source.read_text() == "module m\nfn f( {"


def test_spec_test_counts_its_cases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    accepted = "# Title\n```linnet\nmodule m\n```\n\n"
    page.write_text(accepted + "```linnet\n// error: E1201\nmodule m\nconst A = b\n```\n")
    assert main(["spec-test", str(page)]) == 0
    assert capsys.readouterr().out == "2 passed, 0 failed\n"
    page.write_text("# Title\n```linnet\n// error: E2101\nmodule m\n```\n")
    assert main(["spec-test", str(tmp_path)]) == 1
    assert "expected E2101, got no errors" in capsys.readouterr().out


def test_inspect_shows_parameters_and_entries(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(EXAMPLE)]) == 0
    shown = capsys.readouterr().out
    assert "root Model<H: Dim, T: Float>" in shown
    assert "param  layers.*.proj.bias?: T[H]  x 2" in shown
    assert "entry two_layer::Model.forward(x: Tensor[B, H; T]) -> Tensor[B, H; T]" in shown
    assert main(["inspect", "--ir", str(EXAMPLE)]) == 0
    shown = capsys.readouterr().out
    assert "root Model<H: Dim, T: Float>" in shown
    assert "    return %" in shown
    assert main(["inspect", "--ir", "--json", str(EXAMPLE)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {"module", "root", "manifest", "blocks", "functions", "constants"} <= set(document)
    assert main(["inspect", "--root", "Nope", str(EXAMPLE)]) == 2


def test_emit_prints_source_from_a_source_and_from_a_document(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["emit", str(EXAMPLE)]) == 0
    shown = capsys.readouterr().out
    assert main(["inspect", "--ir", "--json", str(EXAMPLE)]) == 0
    document = tmp_path / "ir.json"
    document.write_text(capsys.readouterr().out)
    assert main(["emit", str(document)]) == 0
    assert capsys.readouterr().out == shown
    again = tmp_path / "again.linnet"
    again.write_text(shown)
    assert main(["emit", str(again)]) == 0
    assert capsys.readouterr().out == shown


def test_emit_refuses_sources_with_errors_and_what_is_no_document(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source.write_text("module m\nconst A = b")
    assert main(["emit", str(source)]) == 1
    assert "E1201" in capsys.readouterr().err
    document = tmp_path / "ir.json"
    for content, complaint in (
        ("nonsense", "ir.json: Expecting value"),
        ("[" * 100_000, "nested too deep"),
        ('{"version": 9}', "no IR document of version 1"),
        ('{"version": 1}', "has no functions"),
        ('{"version": 1, "functions": []}', "is damaged"),
    ):
        document.write_text(content)
        assert main(["emit", str(document)]) == 2
        assert complaint in capsys.readouterr().err
    assert main(["emit", str(tmp_path / "none.json")]) == 2


def test_emit_calls_modules_of_the_same_package_crate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "linnet.toml").write_text(
        '[package]\nname = "box"\nversion = "1.0.0"\nlanguage = "0.1"\n'
    )
    folder = tmp_path / "src" / "inner"
    folder.mkdir(parents=True)
    (folder / "lift.linnet").write_text("module lift\npub fn up(x: f32) -> f32 { return x + 1.0 }")
    main_file = tmp_path / "src" / "lib.linnet"
    main_file.write_text(
        "module box\nuse crate.inner.lift::{up}\npub entry go(x: f32) -> f32 { return up(x) }"
    )
    assert main(["emit", str(main_file)]) == 0
    shown = capsys.readouterr().out
    assert "use crate.inner.lift::{up}" in shown
    main_file.write_text(shown)
    assert main(["check", str(main_file)]) == 0


def test_passes_run_before_ir_is_shown_or_emitted(
    source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source.write_text("module m\nfn f(x: f32) -> f32 { return x / 3.0 * 1.0 }")
    assert main(["emit", "--passes", "exact", str(source)]) == 0
    assert "return x / 3.0\n" in capsys.readouterr().out
    assert main(["emit", "--passes", "equivalent", str(source)]) == 0
    assert "return x * 0.3333333333333333\n" in capsys.readouterr().out
    assert main(["inspect", "--ir", "--passes", "exact", str(source)]) == 0
    assert " mul " not in capsys.readouterr().out
    assert main(["inspect", "--ir", "--passes", "wild", str(source)]) == 2
    document = source.with_suffix(".json")
    document.write_text("{}")
    assert main(["emit", "--passes", "exact", str(document)]) == 2


def test_levels_of_passes_are_those_of_the_rules() -> None:
    assert list(LEVELS) == [level.name.lower() for level in Legality]


def test_every_command_is_added_by_the_module_that_the_table_names(
    capsys: pytest.CaptureFixture[str],
) -> None:
    everything = parser("")
    (group,) = [a for a in everything._actions if a.dest == "command" or a.choices is not None]
    assert set(group.choices) == set(COMMANDS)
    for name in COMMANDS:
        assert main([name, "--help"]) == 0
        assert f"usage: linnet {name}" in capsys.readouterr().out


def test_checking_loads_no_other_command() -> None:
    program = (
        "import sys; from linnet.commands.main import main; "
        f"assert main(['check', {str(EXAMPLE)!r}]) == 0; "
        "print([m for m in sys.modules if m.startswith(('linnet.graph', 'linnet.ir', 'torch'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
