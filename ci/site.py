"""The session `docs`: the documentation site, and the C++ reference where Doxygen is present."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial

from ci import checks, infinirt, pages, toolchain
from ci.native import BUILD, ROOT
from ci.steps import Step, run


def steps(arguments: Sequence[str]) -> list[Step]:
    """The steps of the session; with `--write`, the generated pages are renewed first."""
    renew = [Step("renew generated pages", partial(pages.write, ROOT))]
    return [
        *(renew if "--write" in arguments else []),
        Step("generated pages are current", partial(checks.require_none, checks.stale_pages)),
        Step("site", build_site),
        Step("C++ reference of infinirt", partial(build_reference, "infinirt")),
    ]


def build_site() -> str:
    """Builds the site into `build/site`; a broken link or an unknown page is an error."""
    output = BUILD / "site"
    run(
        *(sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", output),
        cwd=ROOT,
        env={"NO_MKDOCS_2_WARNING": "1"},  # mkdocs is held below 2 in pyproject.toml
    )
    return f"build/site: {sum(1 for _ in output.rglob('*.html'))} pages"


def build_reference(package: str) -> str:
    """Runs Doxygen over the public headers of `package`; an undocumented name is an error.

    Raises:
        Skip: There is no Doxygen.
    """
    doxygen = toolchain.require_program("doxygen", "doxygen")
    output = BUILD / "site/reference" / package
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
