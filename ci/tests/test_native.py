from __future__ import annotations

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
