from __future__ import annotations

import sys
from pathlib import Path

import pytest
from packaging.version import Version

from ci.local_wheels import find_links, local_torch

LOCK = """
[[package]]
name = "torch"
version = "2.13.0"
[[package]]
name = "nvidia-cublas"
version = "13.1"
[[package]]
name = "numpy"
version = "2.0"
"""
HERE = f"cp{sys.version_info[0]}{sys.version_info[1]}"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder with a lock file and a folder `wheels`."""
    (tmp_path / "wheels").mkdir()
    (tmp_path / "uv.lock").write_text(LOCK, encoding="utf-8")
    return tmp_path


def _offer(tree: Path, name: str) -> None:
    (tree / "wheels" / name).touch()


def test_a_local_build_of_the_locked_version_takes_the_place_of_torch_and_its_gpu_parts(
    tree: Path,
) -> None:
    _offer(tree, "torch-2.13.0+cpu-py3-none-any.whl")
    found = local_torch(tree, f",{tree / 'absent'},{tree / 'wheels'}")
    assert found is not None
    assert found.version == Version("2.13.0+cpu")
    assert found.replaced == ("nvidia-cublas", "torch", "torch-infini")


@pytest.mark.parametrize(
    "name",
    [
        "torch-2.12.0+cpu-py3-none-any.whl",
        "torch-2.13.0+cpu-cp27-cp27m-win32.whl",
        "torchvision-2.13.0-py3-none-any.whl",
        "torch-nonsense.whl",
    ],
)
def test_other_versions_interpreters_and_packages_are_left_aside(tree: Path, name: str) -> None:
    _offer(tree, name)
    assert local_torch(tree, str(tree / "wheels")) is None


def test_a_wheel_for_this_interpreter_alone_is_taken(tree: Path) -> None:
    _offer(tree, f"torch-2.13.0+cpu-{HERE}-none-any.whl")
    assert local_torch(tree, str(tree / "wheels")) is not None


def test_no_folder_offers_nothing(tree: Path) -> None:
    assert local_torch(tree, "") is None


def test_uvs_setting_wins_over_pips_whose_spaces_become_commas() -> None:
    assert find_links({"PIP_FIND_LINKS": "/a /b"}) == "/a,/b"
    assert find_links({"PIP_FIND_LINKS": "/a", "UV_FIND_LINKS": "/c"}) == "/c"
    assert find_links({}) == ""
