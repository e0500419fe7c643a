from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from ci import native
from ci.native import Configuration
from ci.steps import StepError
from ci.tests.conftest import MakeTree

PROJECT = {
    "package/CMakeLists.txt": """
cmake_minimum_required(VERSION 3.25)
project(Sample LANGUAGES CXX)
option(WITH_SECOND "" OFF)
enable_testing()
add_executable(sample sample.cc)
add_test(NAME sample COMMAND sample)
install(TARGETS sample)
if(WITH_SECOND)
  install(FILES sample.cc DESTINATION share)
endif()
""",
    "package/sample.cc": "int main() { return 0; }\n",
}


@pytest.fixture
def sample(make_tree: MakeTree, monkeypatch: pytest.MonkeyPatch) -> Configuration:
    """A configuration of a small project in a tree of its own."""
    root = make_tree(PROJECT)
    monkeypatch.setattr(native, "ROOT", root)
    monkeypatch.setattr(native, "BUILD", root.parent / "build")
    return Configuration("sample", "package")


def test_a_second_build_of_the_same_inputs_does_nothing(sample: Configuration) -> None:
    assert native.build(sample) is None
    program = sample.prefix / "bin/sample"
    made = program.stat().st_mtime_ns
    assert native.build(sample) == "unchanged"
    assert program.stat().st_mtime_ns == made
    native.run_tests(sample)


def test_a_changed_source_is_built_and_tested(sample: Configuration, make_tree: MakeTree) -> None:
    native.build(sample)
    make_tree({"package/sample.cc": "int main() { return 1; }\n"})
    assert native.build(sample) is None
    with pytest.raises(StepError, match="ctest"):
        native.run_tests(sample)


def test_a_changed_option_leaves_nothing_of_the_old_prefix(sample: Configuration) -> None:
    second = replace(sample, options={"WITH_SECOND": "ON"})
    native.build(second)
    assert (second.prefix / "share/sample.cc").is_file()
    assert native.build(sample) is None
    assert not (sample.prefix / "share").exists()
    assert (sample.prefix / "bin/sample").is_file()


def test_a_failed_build_is_not_taken_for_a_finished_one(
    sample: Configuration, make_tree: MakeTree
) -> None:
    make_tree({"package/sample.cc": "not C++\n"})
    for _ in range(2):
        with pytest.raises(StepError, match="cmake --build"):
            native.build(sample)


def test_no_test_at_all_is_a_failure(sample: Configuration, make_tree: MakeTree) -> None:
    text = PROJECT["package/CMakeLists.txt"].replace("add_test(NAME sample COMMAND sample)", "")
    make_tree({"package/CMakeLists.txt": text})
    native.build(sample)
    with pytest.raises(StepError, match="ctest"):
        native.run_tests(sample)


def test_a_rebuilt_prefix_below_rebuilds_what_requires_it(
    sample: Configuration, make_tree: MakeTree
) -> None:
    upper = Configuration("upper", "package", requires=(sample,))
    before = native.key_of(upper)
    make_tree({"package/sample.cc": "int main() { return 1; }\n"})
    assert native.key_of(upper) != before


def test_prefixes_of_two_configurations_are_apart(sample: Configuration) -> None:
    other = replace(sample, name="other")
    folders = {path for c in (sample, other) for path in (c.tree, c.prefix, c.stamp)}
    assert len(folders) == 6
    assert all(Path(native.BUILD) in path.parents for path in folders)


@pytest.mark.parametrize("damaged", ["prefix/bin/sample", "tree/sample", "tree", "prefix"])
def test_what_was_deleted_of_a_finished_build_is_built_again(
    sample: Configuration, damaged: str
) -> None:
    native.build(sample)
    path = sample.stamp.parent / damaged
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert native.build(sample) is None
    assert (sample.prefix / "bin/sample").is_file()
    native.run_tests(sample)
    assert native.build(sample) == "unchanged"


def test_a_file_of_a_finished_prefix_that_was_cut_short_is_installed_again(
    sample: Configuration,
) -> None:
    native.build(sample)
    program = sample.prefix / "bin/sample"
    whole = program.read_bytes()
    program.write_bytes(whole[:100])
    assert native.build(sample) is None
    assert program.read_bytes() == whole


@pytest.mark.parametrize("name", ["stamp", "configured"])
@pytest.mark.parametrize("content", [b"", b"\xff\xfe\0", b"{"])
def test_a_damaged_stamp_is_no_finished_build(
    sample: Configuration, name: str, content: bytes
) -> None:
    native.build(sample)
    sample.stamp.write_bytes(content)
    sample.stamp.with_name(name).write_bytes(content)
    assert native.build(sample) is None
    assert native.build(sample) == "unchanged"


def test_a_tree_that_was_not_configured_to_the_end_is_made_anew(
    sample: Configuration, make_tree: MakeTree
) -> None:
    whole = PROJECT["package/CMakeLists.txt"]
    make_tree({"package/CMakeLists.txt": whole + 'message(FATAL_ERROR "no")\n'})
    with pytest.raises(StepError, match="cmake -S"):
        native.build(sample)
    # What CMake found out about the compiler, as a killed run leaves it.
    (facts,) = sample.tree.glob("CMakeFiles/*/CMakeCXXCompiler.cmake")
    facts.write_text("set(CMAKE_CXX_COMPILER_ID_RUN 1)\nset(CMAKE_CXX_COMP", encoding="utf-8")
    make_tree({"package/CMakeLists.txt": whole})
    assert native.build(sample) is None


def test_a_second_build_at_once_waits_for_the_first(
    sample: Configuration, capfd: pytest.CaptureFixture[str]
) -> None:
    with ThreadPoolExecutor(2) as pool:
        results = [done.result() for done in [pool.submit(native.build, sample) for _ in "12"]]
    assert sorted(map(str, results)) == ["None", "unchanged"]
    assert "waiting for its end" in capfd.readouterr().out
