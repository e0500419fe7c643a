"""What a linked build checks when it is imported; `tests/linked` has the operators themselves."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from infini.ops.linked import build_id, read_providers, require_unchanged


@pytest.fixture
def library() -> Path:
    """Some ELF file of this machine: the interpreter."""
    return Path(sys.executable).resolve()


def record(
    folder: Path, library: Path, transport: str = "tvm_ffi", torch: str = "", **changes: Any
) -> Path:
    item = {
        "id": "torch/cpu/lib",
        "distribution": "somebody",
        "version": "1.2",
        "path": str(library),
        "size": library.stat().st_size if library.exists() else 0,
        "build_id": build_id(library) if library.exists() else None,
        **changes,
    }
    row = {
        "operator": "add",
        "device": "cpu",
        "slot": 16,
        "name": "lib",
        "transport": transport,
        "library": "torch/cpu/lib",
        "link_libraries": [],
    }
    file = folder / "linked.json"
    file.write_text(json.dumps({"libraries": [item], "implementations": [row], "torch": torch}))
    return file


def test_providers_are_listed_with_what_calls_them(library: Path, tmp_path: Path) -> None:
    (provider,) = read_providers(record(tmp_path, library))
    assert provider == ("somebody", "1.2", library, (("add", "cpu", 16, "lib"),))


def test_a_provider_that_is_as_it_was_is_accepted(library: Path, tmp_path: Path) -> None:
    require_unchanged(str(record(tmp_path, library)))


def test_a_build_id_is_what_readelf_shows(library: Path) -> None:
    text = subprocess.run(
        ["readelf", "-n", library], capture_output=True, text=True, check=True
    ).stdout
    match = re.search(r"Build ID: (\w+)", text)
    assert build_id(library) == (match[1] if match else None)


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"\x7fELF\x02\x01" + b"\xff" * 200, b"#!"])
def test_a_file_that_is_no_elf_file_has_no_build_id(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert build_id(path) is None


def test_a_provider_that_changed_is_named(library: Path, tmp_path: Path) -> None:
    start = "infini.ops was built against libraries that are not there as they were: "
    end = ". Build and install infiniops again in this environment."
    title = f"{library} of somebody 1.2"
    size = library.stat().st_size
    gone = tmp_path / "gone.so"
    for changes, text in (
        ({"size": size + 1}, f"{title} has {size} bytes instead of {size + 1}"),
        ({"build_id": "00"}, f"{title} has build id {build_id(library)} instead of 00"),
        ({"path": str(gone)}, f"{gone} of somebody 1.2: No such file or directory"),
    ):
        with pytest.raises(ImportError) as error:
            require_unchanged(str(record(tmp_path, library, **changes)))
        assert str(error.value) == start + text + end


def install_torch(folder: Path, version: str) -> None:
    metadata = folder / f"torch-{version}.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text(f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n")
    (folder / "torch").mkdir()


def test_a_torch_that_no_folder_s_name_tells_of_is_asked_for_its_version(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that was built from source, whose metadata has another name."""
    (tmp_path / "site" / "torch").mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site"), *sys.path])
    monkeypatch.setattr("importlib.metadata.version", lambda name: "2.13.0")
    require_unchanged(str(record(tmp_path, library, "torch", "2.13.0")))


def test_another_torch_than_the_build_s_is_named(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(record(tmp_path, library, "torch", "2.13.0"))
    first, second = tmp_path / "first", tmp_path / "second"
    install_torch(second, "2.13.0")
    monkeypatch.setattr(sys, "path", [str(first), str(second), *sys.path])
    require_unchanged(file)
    # The one that Python would import counts.
    install_torch(first, "2.12.1")
    with pytest.raises(ImportError, match=r": torch is 2\.12\.1 instead of 2\.13\.0\. Build and"):
        require_unchanged(file)
    # Nothing of torch is called over another transport.
    require_unchanged(str(record(tmp_path, library, "tvm_ffi", "2.13.0")))


def test_a_torch_that_is_gone_is_named(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.version", absent)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(ImportError, match=r": torch 2\.13\.0 is not installed\. Build and"):
        require_unchanged(str(record(tmp_path, library, "torch", "2.13.0")))
