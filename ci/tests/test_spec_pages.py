"""The specification is part of the site."""

from __future__ import annotations

import re

import yaml

from ci.native import ROOT
from ci.spec_pages import PAGES


def test_the_site_runs_the_hook_and_the_language_page_links_every_page() -> None:
    hooks = re.search(r"^hooks:\n((?:  - .*\n)+)", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert hooks is not None
    assert "ci/spec_pages.py" in yaml.safe_load(hooks.group(1))
    text = (ROOT / "docs/linnet/language.md").read_text(encoding="utf-8")
    linked = re.findall(rf"\]\(\.\./\.\./{PAGES}/([\w-]+\.md)\)", text)
    assert linked == sorted(page.name for page in (ROOT / PAGES).glob("*.md"))
