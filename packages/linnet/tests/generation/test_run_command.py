"""`linnet run`: what it prints, when, and what it exits with."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest
from linnet_helpers.gguf_files import write_llama

from linnet.commands.main import COMMANDS, main
from linnet.generation import Tokenizer, generate
from linnet.models import find

SUMMARY = (
    r"3 tokens read in \d+\.\d\d s, \d+ written at \d+\.\d tokens/s \((end|length|context)\)\n"
)


class Recorded(io.StringIO):
    """A stream that keeps the text of each flush, and may be a terminal."""

    def __init__(self, terminal: bool = False) -> None:
        super().__init__()
        self.terminal = terminal
        self.flushed: list[str] = []

    def isatty(self) -> bool:
        return self.terminal

    def flush(self) -> None:
        self.flushed.append(self.getvalue())


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return write_llama(tmp_path / "m.gguf")


def test_text_is_streamed_and_the_rate_comes_last(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written = Recorded()
    monkeypatch.setattr(sys, "stdout", written)
    command = ["run", str(checkpoint), "--prompt", "a b", "--dtype", "f32", "--max-tokens", "9"]
    assert main(command) == 0
    read = find(checkpoint, dtype="f32")
    found = generate(read.load(context=32), Tokenizer.read(read), "a b", max_tokens=9)
    pieces = list(found)
    assert written.getvalue() == "".join(pieces) + "\n"
    assert len(pieces) > 1
    assert len(set(written.flushed)) >= len(pieces)  # each piece as it comes
    assert re.fullmatch(SUMMARY, capsys.readouterr().err)


def test_a_package_that_brings_the_weights_is_named_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "brought_text_weights"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    write_llama(folder / "m.gguf")
    monkeypatch.syspath_prepend(tmp_path)
    assert main(["run", "brought-text-weights", "--prompt", "a b", "--max-tokens", "2"]) == 0
    assert re.fullmatch(SUMMARY, capsys.readouterr().err)


def test_the_threads_are_those_asked_for(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr("torch.set_num_threads", asked.append)
    command = ["run", str(checkpoint), "--prompt", "a b", "--max-tokens", "2"]
    assert main(command) == 0
    assert asked == []
    assert main([*command, "--threads", "3"]) == 0
    assert asked == [3]


def test_a_terminal_shows_the_conversion_and_a_second_start_has_none(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = []
    for _ in range(2):
        errors = Recorded(terminal=True)
        monkeypatch.setattr(sys, "stderr", errors)
        assert main(["run", str(checkpoint), "--prompt", "a b", "--max-tokens", "2"]) == 0
        shown.append(errors.getvalue())
    assert "converting" in shown[0]
    assert "converting" not in shown[1]
    assert re.search(SUMMARY, shown[1])


def test_what_cannot_be_run_is_one_message_and_exit_code_2(
    checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(checkpoint.read_bytes()[:-1000])
    odd = tmp_path / "odd.gguf"
    odd.write_bytes(b"GGUF" + b"\xff" * 60)
    wrong = [
        [str(tmp_path / "none.gguf")],
        ["no-such-package"],
        ["linnet"],  # a package without weights
        [str(cut)],
        [str(odd)],
        ["m.linnet"],
        [str(checkpoint), "--weights", str(checkpoint)],
        [str(checkpoint), "--device", "nonsense"],
        [str(checkpoint), "--device", "xpu:99"],
        [str(checkpoint), "--context", "0"],
        [str(checkpoint), "--context=-5"],
        [str(checkpoint), "--context=100000"],
        [str(checkpoint), "--max-tokens=-1"],
        [str(checkpoint), "--temperature", "-1"],
    ]
    for arguments in wrong:
        assert main(["run", *arguments, "--prompt", "a"]) == 2, arguments
        out, text = capsys.readouterr()
        assert out == "", arguments
        assert text.strip(), arguments
        assert "Traceback" not in text, arguments


BROKEN = {
    "syntax": "module m\nfn f( -> f32 { return 1.0 }\n",
    "names": "module m\npub entry run(x: Tensor[2; f32]) -> Tensor[2; f32] { return y }\n",
}


@pytest.mark.parametrize("kind", BROKEN)
@pytest.mark.parametrize(
    "command", sorted(set(COMMANDS) - {"fetch", "update", "init", "spec-test", "doc"})
)
def test_a_source_with_errors_is_refused_by_every_command(
    command: str,
    kind: str,
    checkpoint: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if (command, kind) == ("fmt", "names"):
        pytest.skip("the formatter takes what parses")
    source = tmp_path / "m.linnet"
    source.write_text(BROKEN[kind])
    options = {
        "run": ["--weights", str(checkpoint), "--prompt", "a"],
        "graph": ["--entry", "run"],
        "torch": ["--entry", "run"],
        "explain": ["--entry", "run"],
    }
    assert main([command, str(source), *options.get(command, [])]) == 1
    out, text = capsys.readouterr()
    assert out == ""
    assert re.search(r"error E\d{4}: ", text)
    assert "m.linnet:2:" in text
    assert "Traceback" not in text
    assert source.read_text() == BROKEN[kind]
