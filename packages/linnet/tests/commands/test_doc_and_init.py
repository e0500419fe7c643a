"""Pages from doc comments, and new packages."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import linnet
from linnet.check.sizes import PRELUDE
from linnet.commands.main import main
from linnet.syntax.lexer import KEYWORDS, RESERVED

PACKAGE = Path(__file__).parents[2]
LIBRARY_PAGE = PACKAGE.parents[1] / "docs" / "linnet" / "library.md"
GRAMMAR = PACKAGE / "editors" / "vscode" / "syntaxes" / "linnet.tmLanguage.json"


def test_library_page_is_what_the_doc_comments_say(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doc", str(Path(linnet.__file__).parent / "library")]) == 0
    header, pages = LIBRARY_PAGE.read_text(encoding="utf-8").split("\n## ", 1)
    assert "linnet doc" in header
    assert "## " + pages == capsys.readouterr().out


def test_a_page_shows_heads_and_comments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.linnet"
    path.write_text(
        "/// About m.\nmodule m\n\n/// Two\n/// lines.\npub fn f(x: f32) -> f32 { return x }\n"
        "fn hidden() {}\n// no doc\npub const A = 1\npub block B { }\n"
    )
    assert main(["doc", str(path)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(
        "## m\n\nAbout m.\n\n### `f`\n\n```linnet\npub fn f(x: f32) -> f32\n```"
    )
    assert "Two\nlines." in shown
    assert "hidden" not in shown
    assert "no doc" not in shown
    path.write_text("module m fn (")
    assert main(["doc", str(path)]) == 1


def test_init_makes_a_package_that_checks(tmp_path: Path) -> None:
    folder = tmp_path / "my-model"
    assert main(["init", str(folder)]) == 0
    source = folder / "src" / "lib.linnet"
    assert main(["check", "--strict", str(source)]) == 0
    assert main(["fmt", "--check", str(source)]) == 0
    assert main(["graph", str(source), "--entry", "forward", "--bind", "In=2", "Out=3", "B=1"]) == 0


def test_init_writes_over_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "linnet.toml").write_text("mine")
    assert main(["init", str(tmp_path), "--name", "x"]) == 2
    assert "is there already" in capsys.readouterr().err
    assert (tmp_path / "linnet.toml").read_text() == "mine"
    assert main(["init", str(tmp_path / "new"), "--name", "1x"]) == 2


def test_highlighting_knows_every_word() -> None:
    grammar = json.loads(GRAMMAR.read_text(encoding="utf-8"))
    rules = json.dumps(grammar)
    words = set(re.findall(r"\w+", rules))
    callable_now = PRELUDE - {"pad", "gather", "scatter"}
    assert words >= KEYWORDS
    assert words >= RESERVED
    assert words >= callable_now
    for name in re.findall(r'"match": "((?:[^"\\]|\\.)*)"', rules):
        re.compile(json.loads(f'"{name}"'))
