"""The operators of InfiniOps are part of the site."""

from __future__ import annotations

from ci.native import ROOT
from ci.operator_pages import PACKAGE, operator_pages


def test_the_site_has_the_support_matrix_and_a_page_for_each_operator() -> None:
    assert "  - ci/operator_pages.py\n" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = operator_pages(ROOT / PACKAGE)
    names = {path.stem for path in (ROOT / PACKAGE / "src" / "base").glob("*.yaml")}
    assert set(pages) == {"index.md", *(f"{name}.md" for name in names)}
    assert pages["add.md"].startswith("# add\n")
    assert pages["index.md"].startswith("# Support matrix\n")
