import json
from pathlib import Path

import pytest

from torch_infini import _record
from torch_infini._record import BuildRecord

pytestmark = pytest.mark.once

RECORD = BuildRecord(
    version="0.1.0",
    torch="2.13.0+cpu",
    torch_major_minor="2.13",
    cxx11_abi=True,
    infinirt_abi=1,
    infiniops_abi=1,
    infiniops="0.1.0",
)


def write(path: Path, **changes: object) -> Path:
    document = {**json.loads(RECORD.to_json()), **changes}
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_record_survives_its_file(tmp_path: Path) -> None:
    path = tmp_path / _record.FILE_NAME
    path.write_text(RECORD.to_json(), encoding="utf-8")
    assert _record.read(path) == RECORD


@pytest.mark.parametrize(
    "version",
    [
        "2.13.0",
        "2.13.1",
        "2.13.0+cpu",
        "2.13.0+cu130",
        "2.13.0.dev20260101",
        "2.13.0a0+git1",
        "2.13.0b1",
        "2.13.0rc2",
        "2.13",
    ],
)
def test_patch_versions_and_suffixes_may_differ(version: str) -> None:
    _record.check_torch(RECORD, version, True)


@pytest.mark.parametrize("version", ["2.12.0", "2.1.3", "2.14.0", "3.13.0", "2.130.0"])
def test_another_minor_version_is_refused_with_both_versions(version: str) -> None:
    with pytest.raises(ImportError) as caught:
        _record.check_torch(RECORD, version, True)
    assert str(caught.value) == (
        f"torch_infini was built for torch 2.13 (with 2.13.0+cpu), but this is torch {version}. "
        f"Rebuild it against the installed versions: pip install --no-build-isolation --no-deps "
        f"--force-reinstall torch-infini, or install torch 2.13"
    )


def test_another_cxx11_abi_mode_is_refused() -> None:
    with pytest.raises(ImportError, match=r"CXX11 ABI mode True, but this torch .* with False"):
        _record.check_torch(RECORD, "2.13.0", False)


def test_another_abi_of_a_library_is_refused() -> None:
    _record.check_library("libinfinirt.so", 1, 1)
    with pytest.raises(ImportError, match=r"built for ABI version 1 of libinfinirt.* version 2"):
        _record.check_library("libinfinirt.so", 1, 2)


def test_missing_record_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportError, match=r"has no build record \(_build_record\.json is missing"):
        _record.read(tmp_path / _record.FILE_NAME)


@pytest.mark.parametrize("text", ["", "{", "not json", "\x00"])
def test_corrupt_record_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / _record.FILE_NAME
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ImportError, match=r"_build_record\.json cannot be read"):
        _record.read(path)


@pytest.mark.parametrize("text", ["[]", "1", '{"schema": 2}', "{}"])
def test_record_of_another_schema_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / _record.FILE_NAME
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ImportError, match="is not of schema 1"):
        _record.read(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [("torch", None), ("cxx11_abi", 1), ("infinirt_abi", "1"), ("infiniops_abi", True)],
)
def test_field_of_another_type_is_refused(tmp_path: Path, name: str, value: object) -> None:
    path = write(tmp_path / _record.FILE_NAME, **{name: value})
    with pytest.raises(ImportError, match=f"expected `{name}` to be a .*, got {value!r}"):
        _record.read(path)


@pytest.mark.parametrize("version", ["", "2", "two.13", "v2.13"])
def test_what_is_no_version_is_refused(version: str) -> None:
    with pytest.raises(ValueError, match="expected a version"):
        _record.major_minor(version)
