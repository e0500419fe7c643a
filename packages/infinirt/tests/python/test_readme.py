"""What the README shows is what is tested."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

PACKAGE = Path(__file__).parents[2]
README = (PACKAGE / "README.md").read_text()


def blocks(language: str) -> list[str]:
    """Returns the fenced blocks of `language`."""
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_python_quick_start_runs(
    run_python: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    (code,) = blocks("python")
    done = run_python(code, INFINI_RT_SIM_DEVICES="")
    assert done.returncode == 0, done.stderr


def test_cpp_quick_start_is_the_tested_consumer() -> None:
    source = (PACKAGE / "tests" / "consumer" / "main.cc").read_text()
    (_, region, _) = source.split("// [quick start]\n")
    assert blocks("cpp") == ["#include <infini/rt.h>\n\n" + region]


def test_cmake_quick_start_is_the_tested_consumer() -> None:
    project = (PACKAGE / "tests" / "consumer" / "CMakeLists.txt").read_text()
    (code,) = blocks("cmake")
    for line in code.splitlines():
        assert line in project


def test_every_option_is_described() -> None:
    project = (PACKAGE / "CMakeLists.txt").read_text()
    options = set(re.findall(r"^(?:option|set)\(((?:WITH|INFINI_RT)_\w+)", project, re.MULTILINE))
    # The Python module is built by its wheel, not by a person's choice.
    assert {name for name in options if f"`{name}`" not in README} == {"INFINI_RT_BUILD_PYTHON"}


def test_every_folder_is_described() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "--", "."], cwd=PACKAGE, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    folders = {path.split("/")[0] for path in listed if "/" in path}
    assert {name for name in folders if f"- `{name}/" not in README} == set()
