from __future__ import annotations

import os
from pathlib import Path

import pytest
from build_support import dependencies
from build_support.dependencies import DependencyError

pytestmark = pytest.mark.once


def write(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def make_prefixes(root: Path, lib: str = "lib") -> tuple[Path, Path]:
    runtime, operators = root / "rt", root / "ops"
    write(runtime / "include/infini/rt.h")
    write(runtime / "include/infini/rt/abi.h", "#define INFINI_RT_ABI_VERSION 3\n")
    write(runtime / lib / "libinfinirt.so")
    write(operators / "include/infini/ops.h")
    write(operators / "include/infini/ops/abi.h", "#define INFINI_OPS_ABI_VERSION 5\n")
    write(operators / lib / "libinfiniops.so")
    write(operators / "share/infiniops/operators.json", "{}")
    return runtime, operators


@pytest.mark.parametrize("lib", ["lib", "lib64"])
def test_prefixes_give_headers_libraries_and_operators(tmp_path: Path, lib: str) -> None:
    runtime, operators = make_prefixes(tmp_path, lib)
    found = dependencies.find(
        {"INFINI_RT_PREFIX": str(runtime), "INFINI_OPS_PREFIX": str(operators)}
    )
    assert found.include_dirs == [operators / "include", runtime / "include"]
    assert found.library_dirs == [operators / lib, runtime / lib]
    assert found.operators_json == operators / "share/infiniops/operators.json"
    assert (found.infinirt_abi, found.infiniops_abi) == (3, 5)


def test_folders_replace_prefixes(tmp_path: Path) -> None:
    runtime, operators = make_prefixes(tmp_path)
    (tmp_path / "cuda").mkdir()
    found = dependencies.find(
        {
            "INFINI_RT_INCLUDE_DIRS": os.pathsep.join([str(tmp_path), str(runtime / "include")]),
            "INFINI_RT_LIBRARY_DIRS": str(runtime / "lib"),
            "INFINI_OPS_INCLUDE_DIRS": str(operators / "include"),
            "INFINI_OPS_LIBRARY_DIRS": str(operators / "lib"),
            "CUDA_INCLUDE_DIRS": str(tmp_path / "cuda"),
        }
    )
    assert found.include_dirs == [operators / "include", runtime / "include", tmp_path / "cuda"]
    assert found.operators_json.is_file()


def test_missing_header_is_an_error_that_names_the_variables(tmp_path: Path) -> None:
    runtime, operators = make_prefixes(tmp_path)
    (runtime / "include/infini/rt.h").unlink()
    with pytest.raises(DependencyError) as caught:
        dependencies.find({"INFINI_RT_PREFIX": str(runtime), "INFINI_OPS_PREFIX": str(operators)})
    assert str(caught.value) == (
        f"the header infini/rt.h of infinirt is not in {runtime}; correct INFINI_RT_PREFIX, or "
        f"name the folder that holds it in INFINI_RT_INCLUDE_DIRS"
    )


def test_missing_library_is_an_error(tmp_path: Path) -> None:
    runtime, operators = make_prefixes(tmp_path)
    (operators / "lib/libinfiniops.so").unlink()
    with pytest.raises(DependencyError, match=r"libinfiniops\.so of infiniops is not in"):
        dependencies.find({"INFINI_RT_PREFIX": str(runtime), "INFINI_OPS_PREFIX": str(operators)})


def test_missing_operators_json_is_an_error(tmp_path: Path) -> None:
    runtime, operators = make_prefixes(tmp_path)
    (operators / "share/infiniops/operators.json").unlink()
    with pytest.raises(DependencyError, match=r"operators\.json is not in the prefix"):
        dependencies.find({"INFINI_RT_PREFIX": str(runtime), "INFINI_OPS_PREFIX": str(operators)})


def test_prefix_that_is_no_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DependencyError, match=r"INFINI_RT_PREFIX: .*nowhere is not a directory"):
        dependencies.find({"INFINI_RT_PREFIX": str(tmp_path / "nowhere")})


def test_without_prefix_and_wheel_the_error_names_both(monkeypatch: pytest.MonkeyPatch) -> None:
    libraries = dependencies.standalone.load("_libraries")
    monkeypatch.setattr(libraries, "in_wheel", lambda library: None)
    with pytest.raises(DependencyError, match=r"set INFINI_RT_PREFIX .* or install its wheel"):
        dependencies.find({})


def test_without_prefix_the_wheels_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime, operators = make_prefixes(tmp_path)
    files = {
        "infinirt": runtime / "lib/libinfinirt.so",
        "infiniops": operators / "lib/libinfiniops.so",
    }
    libraries = dependencies.standalone.load("_libraries")
    monkeypatch.setattr(libraries, "in_wheel", lambda library: files[library.distribution])
    assert dependencies.find({}).library_dirs == [operators / "lib", runtime / "lib"]


def test_header_without_an_abi_version_is_an_error(tmp_path: Path) -> None:
    runtime, operators = make_prefixes(tmp_path)
    write(runtime / "include/infini/rt/abi.h", "// nothing\n")
    with pytest.raises(DependencyError, match="does not define INFINI_RT_ABI_VERSION"):
        dependencies.find({"INFINI_RT_PREFIX": str(runtime), "INFINI_OPS_PREFIX": str(operators)})
