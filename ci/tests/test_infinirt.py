from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ci import infinirt, toolchain
from ci.native import ROOT
from ci.steps import StepError


def _library(folder: Path, *flags: str) -> Path:
    folder.mkdir(parents=True)
    library = folder / "libsample.so"
    command: list[str | Path] = [toolchain.compiler().path, "-shared", "-o", library, *flags]
    command += ["-x", "c++", "-"]
    subprocess.run(command, input="int f() { return 1; }", text=True, check=True)
    return library


def test_a_run_path_relative_to_the_library_is_right(tmp_path: Path) -> None:
    library = _library(tmp_path / "lib", "-Wl,-rpath,$ORIGIN:$ORIGIN/../lib64")
    assert infinirt.run_path_problems(library) == []


@pytest.mark.parametrize("entries", ["/build/lib", "$ORIGIN:/build/lib", "$ORIGIN::$ORIGIN/x"])
def test_an_absolute_or_empty_run_path_entry_is_a_problem(tmp_path: Path, entries: str) -> None:
    library = _library(tmp_path / "lib", f"-Wl,-rpath,{entries}")
    assert len(infinirt.run_path_problems(library)) == 1


def test_an_installed_file_that_names_the_build_tree_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/config.cmake").write_text('set(root "/secret/build/x")', encoding="utf-8")
    infinirt.refuse_paths_inside(tmp_path, [Path("/other")])
    with pytest.raises(StepError, match=r"config\.cmake names /secret/build"):
        infinirt.refuse_paths_inside(tmp_path, [Path("/secret/build")])


def test_a_library_with_an_absolute_run_path_is_refused(tmp_path: Path) -> None:
    _library(tmp_path / "lib", "-Wl,-rpath,/build/lib")
    with pytest.raises(StepError, match=r"libsample\.so: run path '/build/lib'"):
        infinirt.refuse_paths_inside(tmp_path, [])


def test_every_vendor_has_its_own_build_on_its_own_stand_in() -> None:
    configurations = [infinirt.with_vendor(vendor) for vendor in infinirt.VENDORS]
    sdks = [sdk for configuration in configurations for sdk in configuration.requires]
    assert len({c.name for c in [*configurations, *sdks]}) == 2 * len(infinirt.VENDORS)
    for vendor, configuration in zip(infinirt.VENDORS, configurations, strict=True):
        assert configuration.options[f"WITH_{vendor.upper()}"] == "ON"
        assert sum(name.startswith("WITH_") for name in configuration.options) == 3


@pytest.mark.parametrize("home", [None, "", "/", "relative"])
def test_a_container_without_a_folder_of_the_user_has_the_checkout_alone(home: str | None) -> None:
    assert infinirt.own_places({} if home is None else {"HOME": home}) == [ROOT]


def test_the_folder_of_the_user_is_the_machines_own(tmp_path: Path) -> None:
    assert infinirt.own_places({"HOME": str(tmp_path)}) == [ROOT, tmp_path]
