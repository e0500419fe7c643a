"""Weights in installed Python packages."""

from __future__ import annotations

from pathlib import Path

import pytest
from linnet_helpers.gguf_files import write_llama

from linnet.models import CheckpointError, find
from linnet.models.installed import installed_weights


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that must not be imported."""
    folder = tmp_path / "brought_weights"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    return folder


@pytest.mark.parametrize("name", ["brought-weights", "brought_weights"])
def test_the_one_gguf_file_of_a_package_is_found(package: Path, name: str) -> None:
    file = write_llama(package / "small.gguf")
    assert installed_weights(name) == file
    assert find(name).weights == find(file).weights


def test_a_package_with_none_or_several_is_refused(package: Path) -> None:
    with pytest.raises(CheckpointError, match=r"package with one GGUF file, which has: none$"):
        find("brought-weights")
    for name in ("a", "b"):
        (package / f"{name}.gguf").write_bytes(b"")
    with pytest.raises(CheckpointError, match=r"has: .*a\.gguf, .*b\.gguf$"):
        installed_weights("brought-weights")


@pytest.mark.parametrize("name", ["no_such_package", "os.path", "../x", "x.gguf", ""])
def test_what_is_no_installed_package_is_nothing(name: str) -> None:
    assert installed_weights(name) is None


def test_a_file_of_that_name_comes_first(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_llama(package / "small.gguf")
    monkeypatch.chdir(tmp_path)
    Path("brought-weights").write_text("no checkpoint")
    with pytest.raises(CheckpointError, match="neither a GGUF file nor a folder"):
        find("brought-weights")
