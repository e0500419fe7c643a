"""Links of the documentation work in the repository, and on the site."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ci import operator_pages, spec_pages
from ci.native import ROOT
from ci.repository_links import PLACES, site_links
from ci.stamp import files_of

_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


@pytest.mark.parametrize(
    ("uri", "link", "on_site"),
    [
        (
            "linnet/language.md",
            "../../packages/linnet/tests/spec/02-syntax.md",
            "spec/02-syntax.md",
        ),
        ("linnet/x.md", "../../packages/linnet/tests/spec/02.md#a", "spec/02.md#a"),
        ("index.md", "../packages/infiniops/src/base", "infiniops/operators/index.md"),
        ("infiniops/bits.md", "../../packages/infiniops/src/base", "operators/index.md"),
        ("linnet/models.md", "../performance.md", "../performance.md"),
        ("index.md", "../packages/infiniops/src/base2", "../packages/infiniops/src/base2"),
        ("index.md", "architecture.md", "architecture.md"),
    ],
)
def test_a_link_out_of_docs_leads_to_the_page_made_from_the_file(
    uri: str, link: str, on_site: str
) -> None:
    assert site_links(f"see [x]({link}).", uri) == f"see [x]({on_site})."


def test_the_places_are_those_where_the_other_hooks_put_pages() -> None:
    assert {
        spec_pages.PAGES.as_posix(): spec_pages.PLACE,
        f"{operator_pages.PACKAGE.as_posix()}/src/base": f"{operator_pages.PLACE}/index.md",
    } == PLACES


def test_no_link_is_dead_in_the_repository() -> None:
    dead = []
    for path in files_of(
        ROOT, ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs", "packages"]
    ):
        if path.suffix != ".md":
            continue
        text = _FENCE.sub("", (ROOT / path).read_text(encoding="utf-8"))
        for link in _LINK.findall(text):
            if re.match(r"[a-z]+:|#", link) is None:
                target = ROOT / path.parent / Path(link.partition("#")[0])
                dead += [] if target.exists() else [f"{path}: {link}"]
    assert not dead
