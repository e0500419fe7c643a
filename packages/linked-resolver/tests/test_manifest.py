"""What is written, when, and how CMake reads it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from linked_workspace import LIBRARY, SOURCE, Workspace, compile_library
from torch_providers import contract

from linked_resolver import ContractError
from linked_resolver.manifest import cmake
from linked_resolver.resolution import Resolution

PROJECT = """\
cmake_minimum_required(VERSION 3.25)
project(consumer CXX)
include(${MANIFEST})

# A library that is not needed otherwise is kept for itself alone.
set(CMAKE_LINK_LIBRARY_USING_retain
    "LINKER:--push-state,--no-as-needed" "<LINK_ITEM>" "LINKER:--pop-state")
set(CMAKE_LINK_LIBRARY_USING_retain_SUPPORTED TRUE)

add_library(consumer SHARED consumer.cc)
target_link_options(consumer PRIVATE "LINKER:--as-needed")
foreach(library IN LISTS INFINI_LINKED_LIBRARIES)
  set(item "${library}")
  if(library IN_LIST INFINI_LINKED_UNNAMED_LIBRARIES)
    cmake_path(GET library PARENT_PATH folder)
    cmake_path(GET library FILENAME file)
    target_link_directories(consumer PRIVATE "${folder}")
    set(item "-l:${file}")
  endif()
  if(library IN_LIST INFINI_LINKED_RETAINED_LIBRARIES)
    set(item "$<LINK_LIBRARY:retain,${item}>")
  endif()
  target_link_libraries(consumer PRIVATE "${item}")
endforeach()
target_link_libraries(consumer PRIVATE m)
set_target_properties(consumer PROPERTIES
  BUILD_RPATH "${INFINI_LINKED_RPATH}" LINK_DEPENDS "${INFINI_LINKED_LIBRARIES}")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${INFINI_LINKED_INPUTS})
"""


def three_libraries(workspace: Workspace) -> Resolution:
    """A symbol contract that needs a second library, and a Dispatcher contract for a third."""
    workspace.complete()
    workspace.library("python_distribution_package: base\nlibrary_glob: base/libbase.so\n", "base")
    workspace.install("base", files=["base/libbase.so"])
    compile_library(workspace.site / "base/libbase.so", "void base() {}", "-Wl,-soname,libbase.so")
    workspace.library("python_distribution_package: ops\nlibrary_glob: ops/_ops.so\n", "ops")
    workspace.install("ops", files=["ops/_ops.so"])
    compile_library(workspace.site / "ops/_ops.so", "void registers() {}")
    workspace.implementation(
        "library: acme\nrequired_symbols: [silu_and_mul(int)]\nlink_libraries: [base]\n"
    )
    workspace.implementation(contract("ops::f(Tensor x) -> Tensor", library="ops"), "gelu")
    resolution = workspace.prove(load=False)
    assert [problem.code for problem in resolution.problems] == ["load-forbidden"]
    # As if the child had proved the schema: what is tested here begins after the proof.
    return Resolution(resolution.implementations, resolution.located, (), (), resolution.torch)


def test_the_whole_manifest(workspace: Workspace) -> None:
    resolution = three_libraries(workspace)
    text = cmake(resolution)
    for located in resolution.libraries:
        text = text.replace(f"{located.facts.size} {located.facts.build_id}", "<facts>")
    for folder, name in [(workspace.contracts, "<contracts>"), (workspace.site, "<site>")]:
        text = text.replace(str(folder), name)
    assert (
        text
        == """\
# Written by linked-resolver 0.1.0; changes are lost.
# The form of this file.
set(INFINI_LINKED_MANIFEST_SCHEMA
  "1")
# Transports in use.
set(INFINI_LINKED_TRANSPORTS
  "torch")
# <transport>/<device>/<operator>/<implementation>.
set(INFINI_LINKED_IMPLEMENTATIONS
  "torch/cpu/gelu/acme"
  "torch/cpu/silu_and_mul/acme")
# The slot of each implementation.
set(INFINI_LINKED_SLOTS
  "16"
  "16")
# The header of each.
set(INFINI_LINKED_HEADERS
  "<contracts>/torch/cpu/ops/gelu/acme.h"
  "<contracts>/torch/cpu/ops/silu_and_mul/acme.h")
# The source of each.
set(INFINI_LINKED_SOURCES
  "<contracts>/torch/cpu/ops/gelu/acme.cc"
  "<contracts>/torch/cpu/ops/silu_and_mul/acme.cc")
# Headers of the libraries.
set(INFINI_LINKED_INCLUDE_DIRECTORIES)
# Every library, before those that it needs.
set(INFINI_LINKED_LIBRARIES
  "<site>/ops/_ops.so"
  "<site>/acme/_C.so"
  "<site>/base/libbase.so")
# Those to link with --no-as-needed, each for itself.
set(INFINI_LINKED_RETAINED_LIBRARIES
  "<site>/ops/_ops.so"
  "<site>/base/libbase.so")
# Those without a SONAME: link them with -L<folder> -l:<file>.
set(INFINI_LINKED_UNNAMED_LIBRARIES
  "<site>/ops/_ops.so"
  "<site>/acme/_C.so")
# Folders for the run path.
set(INFINI_LINKED_RPATH
  "<site>/ops"
  "<site>/acme"
  "<site>/base")
# A change of one of these needs a new configuration.
set(INFINI_LINKED_INPUTS
  "<contracts>/torch/cpu/ops/gelu/acme.yaml"
  "<contracts>/torch/cpu/ops/gelu/acme.h"
  "<contracts>/torch/cpu/ops/silu_and_mul/acme.yaml"
  "<contracts>/torch/cpu/ops/silu_and_mul/acme.h"
  "<contracts>/torch/cpu/ops.yaml"
  "<contracts>/torch/cpu/acme.yaml"
  "<contracts>/torch/cpu/base.yaml"
  "<site>/ops/_ops.so"
  "<site>/ops-1.0.dist-info"
  "<site>/acme/_C.so"
  "<site>/acme-1.0.dist-info"
  "<site>/base/libbase.so"
  "<site>/base-1.0.dist-info"
  "<site>/torch-2.13.0.dist-info")
# Where this differs, sources are compiled anew.
set(INFINI_LINKED_PROVIDERS
  "ops 1.0 torch/cpu/ops <facts>"
  "acme 1.0 torch/cpu/acme <facts>"
  "base 1.0 torch/cpu/base <facts>"
  "torch 2.13.0")
"""
    )


def test_resolved_json_tells_what_a_build_is_linked_with(workspace: Workspace) -> None:
    path = workspace.complete()
    assert workspace.resolve().ok
    found = json.loads((workspace.output / "resolved.json").read_text(encoding="utf-8"))
    (library,) = found["libraries"]
    (implementation,) = found["implementations"]
    assert found["torch"] == "2.13.0"
    assert library["path"] == str(path)
    assert library["size"] == path.stat().st_size
    assert len(library["build_id"]) == 40
    assert library["retained"] is False
    assert (library["distribution"], library["version"]) == ("acme", "1.0")
    assert implementation["id"] == "torch/cpu/silu_and_mul/acme"
    assert implementation["symbols"] == ["silu_and_mul(int)"]
    assert implementation["slot"] == 16


def test_a_second_run_touches_nothing(workspace: Workspace) -> None:
    workspace.complete()
    workspace.resolve()
    files = sorted(workspace.output.iterdir())
    assert [file.name for file in files] == ["diagnostics.json", "manifest.cmake", "resolved.json"]
    for file in files:
        os.utime(file, (1, 1))
    contents = [file.read_bytes() for file in files]
    workspace.resolve()
    assert [file.stat().st_mtime for file in sorted(workspace.output.iterdir())] == [1, 1, 1]
    assert [file.read_bytes() for file in files] == contents


def test_a_failure_leaves_no_manifest_behind(workspace: Workspace) -> None:
    path = workspace.complete()
    assert workspace.resolve().ok
    path.unlink()
    compile_library(path, "void other(int) {}")
    assert not workspace.resolve().ok
    assert [file.name for file in workspace.output.iterdir()] == ["diagnostics.json"]
    found = json.loads((workspace.output / "diagnostics.json").read_text(encoding="utf-8"))
    assert found["status"] == "failed"
    (problem,) = found["problems"]
    assert problem["code"] == "symbol-missing"
    assert problem["line"] == 3
    assert problem["key"] == "required_symbols"


def test_diagnostics_are_the_same_in_two_runs_and_sorted(workspace: Workspace) -> None:
    workspace.complete()
    workspace.implementation("library: acme\nrequired_symbols: [f(int), g(int)]\n", "gelu")
    workspace.resolve()
    first = (workspace.output / "diagnostics.json").read_bytes()
    (workspace.output / "diagnostics.json").unlink()
    workspace.resolve()
    assert (workspace.output / "diagnostics.json").read_bytes() == first
    found = json.loads(first)
    assert list(found) == sorted(found)
    assert len(found["problems"]) == 2


def test_the_home_folder_is_not_named(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(workspace.root))
    workspace.complete()
    workspace.resolve()
    text = (workspace.output / "diagnostics.json").read_text(encoding="utf-8")
    assert str(workspace.root) not in text
    assert '"~/site/acme/_C.so"' in text


def test_a_link_in_the_output_folder_is_replaced_and_not_followed(workspace: Workspace) -> None:
    workspace.complete()
    workspace.output.mkdir(parents=True)
    precious = workspace.root / "precious"
    precious.write_text("kept")
    (workspace.output / "manifest.cmake").symlink_to(precious)
    assert workspace.resolve().ok
    assert precious.read_text() == "kept"
    assert not (workspace.output / "manifest.cmake").is_symlink()


def test_an_output_folder_that_cannot_be_made(workspace: Workspace) -> None:
    workspace.complete()
    (workspace.root / "build").write_text("a file")
    with pytest.raises(ContractError) as caught:
        workspace.resolve()
    text = workspace.text([caught.value.problem])
    assert (
        text
        == """\
error[output]: the manifest cannot be written
  --> <root>/build/generated/linked
  expected: a folder that can be written
  got: Not a directory: <root>/build/generated/linked
  help: pass a folder of the build tree"""
    )


def test_no_selection_writes_an_empty_manifest(workspace: Workspace) -> None:
    workspace.complete()
    assert workspace.resolve(devices=["sim"]).ok
    text = (workspace.output / "manifest.cmake").read_text(encoding="utf-8")
    assert "set(INFINI_LINKED_LIBRARIES)\n" in text
    assert "set(INFINI_LINKED_IMPLEMENTATIONS)\n" in text


needs_cmake = pytest.mark.skipif(
    shutil.which("cmake") is None, reason="CMake is not on PATH (pip install cmake)"
)


def needed(library: Path) -> list[str]:
    output = subprocess.run(
        ["readelf", "-dW", str(library)], capture_output=True, text=True, check=True
    ).stdout
    return [line.split("[")[1][:-1] for line in output.splitlines() if "(NEEDED)" in line]


@needs_cmake
@pytest.mark.parametrize(
    "flags",
    ["", "-Wl,--as-needed -Wl,--gc-sections", "-flto", "-fuse-ld=gold", "-fuse-ld=lld"],
)
def test_cmake_links_what_the_manifest_says(workspace: Workspace, flags: str) -> None:
    linker = flags.partition("-fuse-ld=")[2]
    if linker and shutil.which(f"ld.{linker}") is None:
        pytest.skip(f"ld.{linker} is not on PATH")
    resolution = three_libraries(workspace)
    project = workspace.root / "a consumer"
    project.mkdir()
    (project / "CMakeLists.txt").write_text(PROJECT)
    (project / "consumer.cc").write_text("void silu_and_mul(int); void f() { silu_and_mul(1); }\n")
    manifest = project / "manifest.cmake"
    manifest.write_text(cmake(resolution), encoding="utf-8")
    build = workspace.root / "build consumer"
    command = ["cmake", "-S", project, "-B", build, f"-DMANIFEST={manifest}"]
    subprocess.run([*command, f"-DCMAKE_SHARED_LINKER_FLAGS={flags}"], check=True)
    subprocess.run(["cmake", "--build", build], check=True)
    names = needed(build / "libconsumer.so")
    # By file names, for the run path; libm is not used and not kept.
    assert set(names) >= {"_C.so", "_ops.so", "libbase.so"}
    assert not any(name.startswith("libm.") for name in names)
    code = f"import ctypes; ctypes.CDLL({str(build / 'libconsumer.so')!r})"
    subprocess.run(["python3", "-c", code], check=True, env={"PATH": os.environ["PATH"]})


@needs_cmake
def test_a_changed_provider_is_proved_anew(workspace: Workspace) -> None:
    path = workspace.complete()
    project = workspace.root / "consumer"
    project.mkdir()
    resolver = f"""
execute_process(
  COMMAND ${{CMAKE_COMMAND}} -E env PYTHONPATH={workspace.site} {sys.executable} -m linked_resolver
          resolve --contracts {workspace.contracts} --output {workspace.output}
  COMMAND_ERROR_IS_FATAL ANY)
include({workspace.output}/manifest.cmake)"""
    (project / "CMakeLists.txt").write_text(PROJECT.replace("include(${MANIFEST})", resolver))
    (project / "consumer.cc").write_text("void silu_and_mul(int); void f() { silu_and_mul(1); }\n")
    build = workspace.root / "consumer-build"
    subprocess.run(["cmake", "-S", project, "-B", build], check=True, capture_output=True)

    def rebuild() -> subprocess.CompletedProcess[str]:
        return subprocess.run(["cmake", "--build", build], capture_output=True, text=True)

    def replace(source: str) -> None:
        compile_library(path, source)
        later = path.stat().st_mtime + 10
        os.utime(path, (later, later))

    assert rebuild().returncode == 0
    assert "linked implementation proved" not in rebuild().stdout
    replace(SOURCE)
    again = rebuild()
    assert again.returncode == 0
    assert "1 linked implementation proved" in again.stdout
    # Linked again, but nothing is compiled again.
    assert "Linking" in again.stdout
    assert "Building" not in again.stdout
    replace("void another(int) {}")
    failed = rebuild()
    assert failed.returncode != 0
    assert "error[symbol-missing]: `_C.so` does not export `silu_and_mul(int)`" in failed.stderr
    assert not (workspace.output / "manifest.cmake").exists()


def test_quoting_keeps_special_signs(workspace: Workspace) -> None:
    site = workspace.root / "a (b) #c @d@ ünï"
    workspace.library()
    workspace.implementation()
    workspace.install(files=["acme/_C.so"], site=site)
    workspace.install_torch()
    compile_library(site / "acme/_C.so", SOURCE)
    resolution = workspace.prove(environment=workspace.environment(site, workspace.site))
    assert workspace.text(resolution.problems) == ""
    if shutil.which("cmake") is None:
        pytest.skip("CMake is not on PATH (pip install cmake)")
    script = workspace.root / "script.cmake"
    script.write_text(
        cmake(resolution) + "foreach(item IN LISTS INFINI_LINKED_LIBRARIES)\n"
        '  message("${item}")\nendforeach()\n',
        encoding="utf-8",
    )
    result = subprocess.run(["cmake", "-P", script], capture_output=True, text=True, check=True)
    assert result.stderr.strip() == str(site / "acme/_C.so")


def test_a_library_file_shared_by_two_declarations_is_listed_once(workspace: Workspace) -> None:
    workspace.complete()
    workspace.library(LIBRARY, "twin")
    workspace.implementation(
        "library: twin\nrequired_symbols: [silu_and_mul(int)]\n", name="twin", slot=17
    )
    resolution = workspace.prove()
    assert workspace.text(resolution.problems) == ""
    assert len(resolution.libraries) == 1
