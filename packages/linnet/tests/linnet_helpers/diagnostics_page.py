"""The page of all diagnostic codes, made from the specification pages.

From the package's folder, `PYTHONPATH=tests python -m linnet_helpers.diagnostics_page` writes it.
"""

from __future__ import annotations

from pathlib import Path

from linnet.source import CODES, render_text
from linnet.spec import Case, check_files, read_cases

SPEC = Path(__file__).parents[1] / "spec"
PAGE = Path(__file__).parents[4] / "docs" / "linnet" / "diagnostics.md"

HEAD = """# Diagnostics

<!-- Made by packages/linnet/tests/linnet_helpers/diagnostics_page.py; a test compares. -->

Every error (E) and warning (W) with a program that raises it and what `linnet check` says. A code
keeps its meaning from release to release. Warnings appear where there is no error, and fail under
`--strict`. `linnet check --json` gives the same as data, with lines and columns that count from 1.
"""


def example(code: str) -> Case | None:
    """The shortest program of the specification that raises this code alone."""
    cases = [
        case
        for page in sorted(SPEC.glob("*.md"))
        for case in read_cases(page.read_text(encoding="utf-8"))
        if case.codes == (code,)
    ]
    return min(cases, key=lambda case: len("".join(text for _, text in case.files)), default=None)


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for code, meaning in CODES.items():
        parts.append(f"## {code}: {meaning}\n")
        case = example(code)
        if case is None:
            parts.append(
                "No program raises it yet, since kernels are rejected as a whole (E2190).\n"
            )
            continue
        several = len(case.files) > 1
        files = tuple((name, _plain(text, code)) for name, text in case.files)
        source = "".join((f"// file: {name}\n" if several else "") + text for name, text in files)
        found = [d for d in check_files(files) if d.code == code]
        said = "\n\n".join(render_text(d) for d in found)
        parts.append(f"{_fenced('linnet', source)}\n{_fenced('text', said)}")
    return "\n".join(parts)


def _plain(text: str, code: str) -> str:
    return text.replace(f"// error: {code}\n", "").replace(f"// warning: {code}\n", "")


def _fenced(kind: str, text: str) -> str:
    ticks = "```"
    while ticks in text:
        ticks += "`"
    return f"{ticks}{kind}\n{text.rstrip()}\n{ticks}\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
