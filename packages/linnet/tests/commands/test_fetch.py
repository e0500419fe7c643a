"""Git dependencies from local repositories: pinned, cached, offline, never executed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from linnet.commands.main import main

SCALE = "module shared\n\npub fn scaled(x: f32) -> f32 {{\n    return x * {factor}.0\n}}\n"


def git(folder: Path, *arguments: str) -> str:
    name = ["-c", "user.name=Test", "-c", "user.email=test@example.invalid"]
    done = subprocess.run(
        ["git", *name, "-C", str(folder), *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


class Repository:
    """A work tree whose commits are pushed to a bare repository."""

    def __init__(self, folder: Path) -> None:
        self.work = folder / "work"
        self.bare = folder / "shared.git"
        (self.work / "lib" / "src").mkdir(parents=True)
        git(folder, "init", "--quiet", "--bare", "--initial-branch=main", str(self.bare))
        git(self.work, "init", "--quiet", "--initial-branch=main")
        git(self.work, "remote", "add", "origin", str(self.bare))

    def commit(self, factor: int, tag: str | None = None) -> str:
        lib = self.work / "lib"
        (lib / "linnet.toml").write_text(
            '[package]\nname = "shared"\nversion = "1.0"\nlanguage = "0.1"\n'
        )
        (lib / "src" / "lib.linnet").write_text(SCALE.format(factor=factor))
        git(self.work, "add", "-A")
        git(self.work, "commit", "--quiet", "-m", f"factor {factor}")
        if tag:
            git(self.work, "tag", tag)
        git(self.work, "push", "--quiet", "--tags", "origin", "main")
        return git(self.work, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    monkeypatch.setenv("LINNET_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("LINNET_OFFLINE", raising=False)
    return Repository(tmp_path)


def package(folder: Path, repository: Repository, wanted: str) -> Path:
    (folder / "app" / "src").mkdir(parents=True)
    (folder / "app" / "linnet.toml").write_text(
        '[package]\nname = "app"\nversion = "1.0"\nlanguage = "0.1"\n\n[dependencies]\n'
        f'shared = {{ git = "{repository.bare}", {wanted}, subdir = "lib" }}\n'
    )
    (folder / "app" / "src" / "lib.linnet").write_text(
        "module app\nuse shared::{scaled}\npub fn f(x: f32) -> f32 { return scaled(x) }\n"
    )
    return folder / "app"


def test_a_package_checks_once_its_dependency_is_fetched(
    tmp_path: Path, repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    commit = repository.commit(2, tag="v1")
    app = package(tmp_path, repository, 'tag = "v1"')
    source = str(app / "src" / "lib.linnet")
    assert main(["check", source]) == 1
    assert "run `linnet fetch`" in capsys.readouterr().err
    assert main(["fetch", str(app)]) == 0
    assert commit in (app / "linnet.lock").read_text()
    assert main(["check", "--strict", source]) == 0


def test_fetch_keeps_the_pinned_commit_and_update_moves_on(
    tmp_path: Path, repository: Repository
) -> None:
    first = repository.commit(2)
    app = package(tmp_path, repository, 'branch = "main"')
    assert main(["fetch", str(app)]) == 0
    second = repository.commit(3)
    assert main(["fetch", str(app)]) == 0
    assert first in (app / "linnet.lock").read_text()
    assert main(["update", str(app)]) == 0
    lock = (app / "linnet.lock").read_text()
    assert second in lock
    assert first not in lock


def test_offline_uses_what_is_there_and_refuses_the_rest(
    tmp_path: Path,
    repository: Repository,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    commit = repository.commit(2)
    app = package(tmp_path, repository, f'rev = "{commit}"')
    monkeypatch.setenv("LINNET_OFFLINE", "1")
    assert main(["fetch", str(app)]) == 2
    assert "LINNET_OFFLINE=1" in capsys.readouterr().err
    monkeypatch.delenv("LINNET_OFFLINE")
    assert main(["fetch", str(app)]) == 0
    monkeypatch.setenv("LINNET_OFFLINE", "1")
    assert main(["fetch", str(app)]) == 0


def test_links_in_a_repository_are_left_out(tmp_path: Path, repository: Repository) -> None:
    (repository.work / "lib" / "src" / "evil.linnet").symlink_to("/etc/passwd")
    commit = repository.commit(2)
    app = package(tmp_path, repository, 'branch = "main"')
    assert main(["fetch", str(app)]) == 0
    (snapshot,) = (tmp_path / "home" / "git").glob(f"*/snapshots/{commit}")
    assert [p.name for p in sorted((snapshot / "lib" / "src").iterdir())] == ["lib.linnet"]


@pytest.mark.parametrize(
    ("wanted", "complaint"),
    [
        ('tag = "v9"', "git"),
        ('tag = "v1", branch = "main"', "one of tag, branch, rev"),
        ('rev = "--upload-pack=x"', "starts with `-`"),
    ],
)
def test_bad_sources_are_refused(
    tmp_path: Path,
    repository: Repository,
    wanted: str,
    complaint: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    repository.commit(2)
    app = package(tmp_path, repository, wanted)
    assert main(["fetch", str(app)]) == 2
    assert complaint in capsys.readouterr().err
    assert not (app / "linnet.lock").exists()


def test_a_broken_lock_file_is_one_error(
    tmp_path: Path, repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    repository.commit(2)
    app = package(tmp_path, repository, 'branch = "main"')
    (app / "linnet.lock").write_text("[[git]\n")
    assert main(["check", str(app / "src" / "lib.linnet")]) == 1
    assert "error E5001" in capsys.readouterr().err


def test_what_a_dependency_needs_is_fetched_and_pinned_too(
    tmp_path: Path, repository: Repository
) -> None:
    repository.commit(2)
    (tmp_path / "middle" / "src").mkdir(parents=True)
    (tmp_path / "middle" / "linnet.toml").write_text(
        '[package]\nname = "middle"\nversion = "1.0"\nlanguage = "0.1"\n\n[dependencies]\n'
        f'shared = {{ git = "{repository.bare}", branch = "main", subdir = "lib" }}\n'
    )
    (tmp_path / "middle" / "src" / "lib.linnet").write_text(
        "module middle\nuse shared::{scaled}\npub fn g(x: f32) -> f32 { return scaled(x) }\n"
    )
    app = tmp_path / "app"
    (app / "src").mkdir(parents=True)
    (app / "linnet.toml").write_text(
        '[package]\nname = "app"\nversion = "1.0"\nlanguage = "0.1"\n\n[dependencies]\n'
        'middle = { path = "../middle" }\n'
    )
    source = app / "src" / "lib.linnet"
    source.write_text("module app\nuse middle::{g}\npub fn f(x: f32) -> f32 { return g(x) }\n")
    assert main(["fetch", str(app)]) == 0
    assert main(["check", "--strict", str(source)]) == 0
