from __future__ import annotations

from ci import site
from ci.native import ROOT
from ci.tests.conftest import MakeTree


def test_the_pages_that_are_looked_at_are_pages_of_the_site() -> None:
    by_hand = [page for page in site.LOOKED_AT if "operators/" not in page.path]
    for page in by_hand:
        source = page.path.replace("/index.html", ".md").replace("index.html", "index.md")
        text = (ROOT / "docs" / source).read_text(encoding="utf-8")
        assert f"# {page.heading}\n" in text
    assert len(site.LOOKED_AT) == 3


def test_what_is_loaded_from_another_host_is_found(make_tree: MakeTree) -> None:
    folder = make_tree(
        {
            "page.html": '<link rel="stylesheet" href="https://example.com/a.css">'
            '<script src="//example.com/b.js"></script><img src="http://example.com/c.png">',
            "style.css": '@import "https://example.com/d.css"; x { background: url(//e/f.png) }',
        }
    )
    assert site.foreign_resources(folder) == [
        "page.html: <link> https://example.com/a.css",
        "page.html: <script> //example.com/b.js",
        "page.html: <img> http://example.com/c.png",
        "style.css: https://example.com/d.css",
        "style.css: //e/f.png",
    ]


def test_links_that_a_reader_follows_and_files_of_the_site_are_none_of_it(
    make_tree: MakeTree,
) -> None:
    folder = make_tree(
        {
            "page.html": '<a href="https://example.com">x</a><script src="../a.js"></script>'
            '<link rel="canonical" href="https://example.com/page"><img src="data:image/png;,">',
            "style.css": "x { background: url(a.png) } y { background: url('data:image/svg,//') }",
        }
    )
    assert site.foreign_resources(folder) == []
