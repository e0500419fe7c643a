from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ci.stamp import Stamp, contents_of, digest, files_of
from ci.steps import StepError
from ci.tests.conftest import MakeTree

FILES = {"src/a.cc": "int a;", "src/b.cc": "int b;", ".gitignore": "*.o\n", "src/a.o": "binary"}


def test_lists_tracked_and_new_files_but_no_ignored_ones(make_tree: MakeTree) -> None:
    root = make_tree(FILES)
    subprocess.run(["git", "add", "src/a.cc"], cwd=root, check=True)
    assert files_of(root, ["src"]) == [Path("src/a.cc"), Path("src/b.cc")]


def test_leaves_out_a_deleted_tracked_file(make_tree: MakeTree) -> None:
    root = make_tree(FILES)
    subprocess.run(["git", "add", "src/a.cc"], cwd=root, check=True)
    (root / "src/a.cc").unlink()
    assert files_of(root, ["src"]) == [Path("src/b.cc")]


def test_refuses_a_folder_that_is_no_working_tree(tmp_path: Path) -> None:
    with pytest.raises(StepError, match=r"cannot list the files.*git clone"):
        files_of(tmp_path, ["."])


def test_a_missing_git_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StepError, match="apt-get install git"):
        files_of(tmp_path, ["."])


def test_digest_is_the_same_for_the_same_contents_whatever_the_times(make_tree: MakeTree) -> None:
    root = make_tree(FILES)
    before = digest(root, ["src"], {"compiler": "x"})
    (root / "src/a.cc").touch()
    assert digest(root, ["src"], {"compiler": "x"}) == before


@pytest.mark.parametrize(
    ("name", "text"), [("src/a.cc", "int c;"), ("src/new.cc", ""), (".gitignore", "")]
)
def test_digest_follows_contents_names_and_ignored_files(
    make_tree: MakeTree, name: str, text: str
) -> None:
    root = make_tree(FILES)
    before = digest(root, ["src"], {})
    make_tree({name: text})
    assert digest(root, ["src"], {}) != before


def test_digest_follows_the_facts_and_not_their_order(make_tree: MakeTree) -> None:
    root = make_tree(FILES)
    first = digest(root, ["src"], {"a": "1", "b": "2"})
    assert digest(root, ["src"], {"b": "2", "a": "1"}) == first
    assert digest(root, ["src"], {"a": "1", "b": "3"}) != first


def test_a_stamp_matches_only_what_was_written_last(tmp_path: Path) -> None:
    stamp = Stamp(tmp_path / "build/stamp")
    assert not stamp.matches("one")
    stamp.write("one")
    assert stamp.matches("one")
    assert not stamp.matches("two")
    stamp.clear()
    assert not stamp.matches("one")
    stamp.clear()


def test_contents_follow_names_and_sizes_of_what_is_seen(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/a").write_text("four", encoding="utf-8")

    def contents() -> str:
        return contents_of([tmp_path], ["log"])

    whole = contents()
    (tmp_path / "log").mkdir()
    (tmp_path / "log/b").touch()
    (tmp_path / "sub/log").touch()
    assert contents() == whole
    (tmp_path / "sub/a").write_text("f", encoding="utf-8")
    assert contents() != whole
    (tmp_path / "sub/a").write_text("four", encoding="utf-8")
    assert contents() == whole
    (tmp_path / "sub/a").rename(tmp_path / "a")
    assert contents() != whole
