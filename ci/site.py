"""The session `docs`: the documentation site, with the C++ reference where Doxygen is present, and
a look at it where a browser is.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from functools import partial
from html.parser import HTMLParser
from pathlib import Path

from ci import browser, checks, infinirt, pages, toolchain
from ci.native import BUILD, ROOT
from ci.steps import Step, StepError, run

SITE = BUILD / "site"
SCREENSHOTS = BUILD / "site-screenshots"
#: What the browser opens: one page written by hand, one of an operator's, one of the checker's.
LOOKED_AT = (
    browser.Page("index.html", "Infini stack"),
    browser.Page("infiniops/operators/add/index.html", "add"),
    browser.Page("linnet/diagnostics/index.html", "Diagnostics"),
)
#: Where a page names what is loaded with it; links that a reader follows are not among them.
_LOADED = {
    "audio": "src",
    "embed": "src",
    "iframe": "src",
    "img": "src",
    "link": "href",
    "object": "data",
    "script": "src",
    "source": "src",
    "video": "src",
}


def steps(arguments: Sequence[str]) -> list[Step]:
    """The steps of the session; with `--write`, the generated pages are renewed first."""
    renew = [Step("renew generated pages", partial(pages.write, ROOT))]
    return [
        *(renew if "--write" in arguments else []),
        Step("generated pages are current", partial(checks.require_none, checks.stale_pages)),
        Step("site", build_site),
        Step("C++ reference of infinirt", partial(build_reference, "infinirt")),
        Step("site loads nothing from elsewhere", partial(refuse_foreign_resources, SITE)),
        Step("site in a browser", look_at_site),
    ]


def build_site() -> str:
    """Builds the site into `build/site`; a broken link or an unknown page is an error."""
    run(
        *(sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", SITE),
        cwd=ROOT,
        env={"NO_MKDOCS_2_WARNING": "1"},  # mkdocs is held below 2 in pyproject.toml
    )
    return f"build/site: {sum(1 for _ in SITE.rglob('*.html'))} pages"


def build_reference(package: str) -> str:
    """Runs Doxygen over the public headers of `package`; an undocumented name is an error.

    Raises:
        Skip: There is no Doxygen.
    """
    doxygen = toolchain.require_program("doxygen", "doxygen")
    output = SITE / "reference" / package
    output.mkdir(parents=True, exist_ok=True)
    settings = {
        "PROJECT_NAME": package,
        "INPUT": ROOT / infinirt.PACKAGE / "include",
        "RECURSIVE": "YES",
        "GENERATE_LATEX": "NO",
        "HTML_OUTPUT": ".",
        "OUTPUT_DIRECTORY": output,
        "WARN_AS_ERROR": "FAIL_ON_WARNINGS",
        "WARN_IF_UNDOCUMENTED": "YES",
        "QUIET": "YES",
        "MACRO_EXPANSION": "YES",
        "HAVE_DOT": "NO",
        # What users do not name needs no page.
        "EXCLUDE_SYMBOLS": "*::internal*",
    }
    lines = [f'{key} = "{value}"' for key, value in settings.items()]
    # Specialisations of a standard template mean what the standard says.
    lines.append('EXCLUDE_SYMBOLS += "std::*"')
    file = BUILD / f"Doxyfile.{package}"
    file.write_text("\n".join([*lines, ""]), encoding="utf-8")
    run(doxygen, file, cwd=ROOT)
    return f"build/site/reference/{package}"


class _Resources(HTMLParser):
    """Collects what a page loads from another host."""

    def __init__(self) -> None:
        super().__init__()
        self.foreign: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = dict(attrs)
        place = names.get(_LOADED.get(tag, "")) or ""
        # Where a page belongs and what stands beside it is said, not loaded.
        told = {"canonical", "alternate", "next", "prev"} & {*(names.get("rel") or "").split()}
        if _is_foreign(place) and not told:
            self.foreign.append(f"<{tag}> {place}")


def _is_foreign(place: str) -> bool:
    return re.match(r"(https?:)?//", place) is not None


def foreign_resources(site: Path) -> list[str]:
    """What pages and style sheets below `site` load from another host: file and address."""
    found = []
    for path in sorted(site.rglob("*")):
        if path.suffix not in {".html", ".css"}:
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if path.suffix == ".html":
            parser = _Resources()
            parser.feed(text)
            foreign = parser.foreign
        else:
            places = re.findall(r"""(?:url\(|@import)\s*["']?([^"')\s]+)""", text)
            foreign = [place for place in places if _is_foreign(place)]
        found += [f"{path.relative_to(site)}: {place}" for place in foreign]
    return found


def refuse_foreign_resources(site: Path) -> None:
    """Checks that a reader without a network sees every page as it is meant.

    Raises:
        StepError: A page loads something from another host; each is printed.
    """
    found = foreign_resources(site)
    for line in found:
        print(line)
    if found:
        raise StepError(f"{len(found)} resources of other hosts, the first: {found[0]}")


def look_at_site() -> str:
    """Opens `LOOKED_AT` in a browser and keeps the screenshots in `build/site-screenshots`.

    Raises:
        Skip: There is no browser.
        StepError: A page does not show what it should; each problem is printed.
    """
    program = browser.require_browser()
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    problems = []
    for page in LOOKED_AT:
        problems += browser.problems_of(page, SITE, SCREENSHOTS, program)
    for problem in problems:
        print(problem)
    if problems:
        raise StepError(f"{len(problems)} problems, the first: {problems[0]}")
    return f"build/site-screenshots: {', '.join(page.picture for page in LOOKED_AT)}"
