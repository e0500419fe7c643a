from __future__ import annotations

import re

import yaml

from ci import checks, pages
from ci.native import ROOT
from ci.packages import PACKAGES
from ci.tests.conftest import MakeTree


def test_packages_page_has_a_row_for_each_package() -> None:
    page = pages.packages_page(ROOT)
    for package in PACKAGES:
        assert f"`{package.distribution}`" in page


def test_sessions_page_takes_names_and_docstrings_of_sessions_alone(make_tree: MakeTree) -> None:
    noxfile = '''
def helper():
    """No session."""

@nox.session
def one(session):
    """Does
    one thing."""

@nox.session(python="3.11")
def two(session):
    """Does two."""
'''
    page = pages.sessions_page(make_tree({"noxfile.py": noxfile}))
    assert page.splitlines()[-2:] == [
        "| `nox -s one` | Does one thing. |",
        "| `nox -s two` | Does two. |",
    ]


def test_a_changed_page_is_stale_until_it_is_written(make_tree: MakeTree) -> None:
    files = {f"packages/{p.name}/pyproject.toml": "" for p in PACKAGES}
    text = '[project]\nname = "x"\nversion = "1"\ndescription = "d"\n'
    root = make_tree({**dict.fromkeys(files, text), "noxfile.py": ""})
    assert len(checks.stale_pages(root)) == 2
    pages.write(root)
    assert checks.stale_pages(root) == []
    make_tree({"docs/packages.md": "edited by hand"})
    assert [str(problem.path) for problem in checks.stale_pages(root)] == ["docs/packages.md"]


def test_the_page_on_operators_shows_the_files_that_it_speaks_of() -> None:
    page = (ROOT / "docs/add-an-operator.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"```(yaml|cpp)\n(.*?)```", page, flags=re.DOTALL))
    sources = ROOT / "packages/infiniops/src"
    declaration = yaml.safe_load((sources / "base/mul.yaml").read_text(encoding="utf-8"))
    del declaration["details"]  # sentences that the page has no room for
    assert yaml.safe_load(shown["yaml"]) == declaration
    kernel = (sources / "native/cpu/ops/mul/mul.h").read_text(encoding="utf-8")
    assert shown["cpp"] == kernel
