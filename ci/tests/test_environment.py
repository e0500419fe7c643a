from __future__ import annotations

from pathlib import Path

import pytest

from ci.environment import damage, damage_of_lock_file

RECORD = 'sample/__init__.py,sha256=x,4\n"a,b.py",,\nsample-1.0.dist-info/RECORD,,\n'


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """The folder of packages of an environment `tmp_path` with one package."""
    folder = tmp_path / "lib/python3.11/site-packages"
    files = {"sample/__init__.py": "1234", "a,b.py": "", "sample-1.0.dist-info/RECORD": RECORD}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_an_environment_with_all_its_files_or_none_is_whole(site: Path, tmp_path: Path) -> None:
    assert damage(tmp_path) is None
    assert damage(tmp_path / "absent") is None


@pytest.mark.parametrize("name", ["sample/__init__.py", "a,b.py"])
def test_a_missing_file_is_named_with_its_package(site: Path, tmp_path: Path, name: str) -> None:
    (site / name).unlink()
    assert damage(tmp_path) == f"sample-1.0: {name} is missing"


def test_a_file_that_was_cut_short_is_named(site: Path, tmp_path: Path) -> None:
    (site / "sample/__init__.py").write_text("1", encoding="utf-8")
    assert damage(tmp_path) == "sample-1.0: sample/__init__.py has 1 bytes, not 4"


def test_a_damaged_record_is_damage(site: Path, tmp_path: Path) -> None:
    record = site / "sample-1.0.dist-info/RECORD"
    record.write_text(RECORD[:10], encoding="utf-8")
    assert damage(tmp_path) == "sample-1.0: its RECORD is damaged"
    record.write_text("a,sha256=x,4x\n", encoding="utf-8")
    assert damage(tmp_path) == "sample-1.0: its RECORD is damaged"
    record.write_bytes(b"\xff")
    assert damage(tmp_path) == "sample-1.0: its RECORD cannot be read"
    record.unlink()
    assert damage(tmp_path) == "sample-1.0: its RECORD cannot be read"


def test_a_lock_file_that_is_no_toml_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "uv.lock"
    assert damage_of_lock_file(path) is None
    path.write_text('[[package]]\nname = "a"\n', encoding="utf-8")
    assert damage_of_lock_file(path) is None
    path.write_text('[[package]]\nname = "a', encoding="utf-8")
    assert damage_of_lock_file(path)
    path.write_bytes(b"\xff\0")
    assert damage_of_lock_file(path)
