"""A hook of mkdocs for links that lead out of docs/.

In the repository they name the file that a page of the site is made from; on the site they lead to
that page. So a reader of either finds something.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.structure.pages import Page

#: Place in the repository -> page or folder of pages of the site. mkdocs loads a hook on its own,
#: so the places of the other hooks stand here again; a test compares.
PLACES = {
    "packages/linnet/tests/spec": "linnet/spec",
    "packages/infiniops/src/base": "infiniops/operators/index.md",
}
_LINK = re.compile(r"(?<=\]\()\.\./[^)#\s]+")


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """Turns links below `PLACES` into those of the site."""
    return site_links(markdown, page.file.src_uri)


def site_links(markdown: str, uri: str) -> str:
    """The text of the page at docs/`uri` with links as the site has them."""
    folder = posixpath.dirname(uri)

    def turn(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join("docs", folder, link.group()))
        for place, page in PLACES.items():
            if target == place or target.startswith(place + "/"):
                return posixpath.relpath(page + target.removeprefix(place), folder or ".")
        return link.group()

    return _LINK.sub(turn, markdown)
