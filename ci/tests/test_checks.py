from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from ci import checks
from ci.native import ROOT
from ci.packages import PACKAGES
from ci.tests.conftest import MakeTree

PYPROJECT = '[project]\nversion = "1.2.3"\n'


def package_files(name: str = "infinirt", **more: str) -> dict[str, str]:
    files = {
        "README.md": "# Title\n\n- `tests/`: tests\n",
        "pyproject.toml": PYPROJECT,
        "tests/test_x.py": "",
        **{key.replace("__", "/"): text for key, text in more.items()},
    }
    return {f"packages/{name}/{key}": text for key, text in files.items()}


def messages(problems: list[checks.Problem]) -> list[str]:
    return [str(problem) for problem in problems]


def test_a_complete_package_has_no_layout_problem(make_tree: MakeTree) -> None:
    assert checks.misplaced_files(make_tree(package_files())) == []


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"scratch/x.py": ""}, "scratch:1: unknown entry of the root"),
        ({"uv.lock": ""}, "uv.lock:1: unknown entry of the root"),
        ({"packages/other/x.py": ""}, "packages/other:1: not a package of ci/packages.py"),
        ({"packages/infinirt/x.py": ""}, "packages/infinirt/README.md:1: missing"),
        (
            {"packages/infinirt/python/infini/__init__.py": ""},
            "packages/infinirt/python/infini/__init__.py:1: `infini` is a namespace",
        ),
    ],
)
def test_misplaced_and_missing_files_are_found(
    make_tree: MakeTree, files: Mapping[str, str], message: str
) -> None:
    found = messages(checks.misplaced_files(make_tree(files)))
    assert any(text.startswith(message) for text in found), found


def test_a_readme_names_every_folder_and_opens_with_a_title(make_tree: MakeTree) -> None:
    root = make_tree(package_files(src__x__py=""))
    assert messages(checks.incomplete_readmes(root)) == [
        "packages/infinirt/README.md:1: has no line for the folder `src/`"
    ]
    make_tree({"packages/infinirt/README.md": "Title\n`src/` `tests/unit`\n"})
    assert messages(checks.incomplete_readmes(root)) == [
        "packages/infinirt/README.md:1: opens with no title `# ...`"
    ]


def test_versions_of_packages_and_cmake_projects_are_compared(make_tree: MakeTree) -> None:
    root = make_tree(
        {
            "pyproject.toml": PYPROJECT,
            **package_files(CMakeLists__txt=""),
            "packages/infinirt/CMakeLists.txt": "project(\n  X\n  VERSION 1.2.3\n  LANGUAGES CXX)",
        }
    )
    assert checks.differing_versions(root) == []
    make_tree(
        {
            "packages/infinirt/CMakeLists.txt": "project(X VERSION 1.2.4)",
            "packages/infinirt/pyproject.toml": "[project]\n",
        }
    )
    assert messages(checks.differing_versions(root)) == [
        "packages/infinirt/pyproject.toml:1: version none, the workspace has 1.2.3",
        "packages/infinirt/CMakeLists.txt:1: version 1.2.4, the workspace has 1.2.3",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "index = 'https://" + "pypi" + ".org/simple'",
        "cd " + "/home" + "/someone/x",
        "links = /srv/local/wheels",
        "cd {parent}/elsewhere",
    ],
)
def test_registry_hosts_and_paths_of_the_machine_are_found(make_tree: MakeTree, line: str) -> None:
    root = make_tree({"a.txt": ""})
    make_tree({"a.txt": f"fine\n{line.format(parent=root.parent)}\n"})
    found = checks.machine_dependent_text(root, {"PIP_FIND_LINKS": "/srv/local/wheels"})
    assert [(problem.path, problem.line) for problem in found] == [(Path("a.txt"), 2)]


def test_relative_paths_and_common_words_are_not_taken_for_the_machines(
    make_tree: MakeTree,
) -> None:
    root = make_tree({"a.txt": "build/home/x ${PREFIX}/home/x /usr/include /me ../root/x\n"})
    assert checks.machine_dependent_text(root, {"HOME": "/me"}) == []


def test_binary_files_are_not_searched(make_tree: MakeTree) -> None:
    root = make_tree({"a.txt": ""})
    (root / "data.bin").write_bytes(b"\xff\xfe" + b"/home" + b"/x")
    assert checks.machine_dependent_text(root, {}) == []


@pytest.mark.parametrize(
    "mark",
    [
        "# type: " + "ignore[arg-type]",
        "# no" + "qa: F401",
        "// NO" + "LINT(google-x)",
        "# no" + "qa",
    ],
)
def test_a_suppression_needs_a_reason(make_tree: MakeTree, mark: str) -> None:
    root = make_tree({"a.py": f"x = 1  {mark}\n"})
    assert len(checks.unreasoned_suppressions(root)) == 1
    make_tree({"a.py": f"x = 1  {mark} - the stubs are wrong\n"})
    assert checks.unreasoned_suppressions(root) == []


def test_a_long_source_says_why(make_tree: MakeTree) -> None:
    root = make_tree({"a.py": "x = 1\n" * 501, "b.py": "x = 1\n" * 500, "c.md": "x\n" * 900})
    assert [problem.path for problem in checks.overlong_files(root)] == [Path("a.py")]
    make_tree({"a.py": "# Over 500 lines because it is one table.\n" + "x = 1\n" * 501})
    assert checks.overlong_files(root) == []


def test_the_noxfile_is_bounded_whatever_it_says(make_tree: MakeTree) -> None:
    root = make_tree({"noxfile.py": "# 500 lines\n" + "x = 1\n" * 250})
    assert [problem.path for problem in checks.overlong_files(root)] == [Path("noxfile.py")]


def test_every_package_of_the_list_exists() -> None:
    folders = sorted(path.name for path in (ROOT / "packages").iterdir() if path.is_dir())
    assert folders == sorted(package.name for package in PACKAGES)
