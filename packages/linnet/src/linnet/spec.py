"""Specification pages: Markdown whose programs say what the checker answers.

A fenced block marked `linnet` is a case. Comments in it state the expectation: `// error: E2207`,
`// warning: W1002`, one line for each; without any, the program is accepted. `// file: NAME` starts
another file of the case, a manifest included; the last source file is the one checked. A block
marked `text` right after a case holds the diagnostics word for word.
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from linnet.check import check
from linnet.source import Diagnostic, read_source, render_text

_FENCE = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
_EXPECTED = re.compile(r"^\s*// (error|warning): ([EW]\d{4})\s*$", re.MULTILINE)
_FILE = re.compile(r"^// file: (\S+)[ \t]*\n", re.MULTILINE)
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Case:
    """One program of a page."""

    title: str
    line: int
    files: tuple[tuple[str, str], ...]
    codes: tuple[str, ...]
    text: str | None


class SpecError(AssertionError):
    """A case whose program is answered otherwise; the text shows both answers."""


def read_cases(page: str) -> list[Case]:
    """All cases of a page, in order."""
    cases: list[Case] = []
    end = -1
    for fence in _FENCE.finditer(page):
        if fence.group(1) == "text" and cases and page[end : fence.start()].strip() == "":
            cases[-1] = Case(*_fields(cases[-1]), fence.group(2).rstrip("\n"))
        if fence.group(1) != "linnet":
            continue
        program = fence.group(2)
        title = [h.group(1) for h in _HEADING.finditer(page, 0, fence.start())]
        cases.append(
            Case(
                title[-1] if title else "",
                page.count("\n", 0, fence.start()) + 1,
                _files(program),
                tuple(sorted(m.group(2) for m in _EXPECTED.finditer(program))),
                None,
            )
        )
        end = fence.end()
    return cases


def _fields(
    case: Case,
) -> tuple[str, int, tuple[tuple[str, str], ...], tuple[str, ...]]:
    return case.title, case.line, case.files, case.codes


def _files(program: str) -> tuple[tuple[str, str], ...]:
    parts = _FILE.split(program)
    if len(parts) == 1:
        return (("program.linnet", program),)
    return tuple(zip(parts[1::2], parts[2::2], strict=True))


def run_case(case: Case) -> None:
    """Checks a case's program; SpecError if the answer differs from the page."""
    found = check_files(case.files)
    warns = any(code.startswith("W") for code in case.codes)
    compared = sorted(d.code for d in found if warns or d.severity == "error")
    wanted = list(case.codes)
    text = "\n\n".join(render_text(d) for d in found)
    if compared != wanted:
        raise SpecError(
            f"expected {', '.join(wanted) or 'no errors'}, "
            f"got {', '.join(compared) or 'no errors'}\n{text}"
        )
    if case.text is not None and case.text != text:
        raise SpecError(f"expected the text\n{case.text}\n\ngot\n{text}")


def check_files(files: tuple[tuple[str, str], ...]) -> tuple[Diagnostic, ...]:
    """Writes the files of a case to a folder of their own and checks the last source file."""
    with tempfile.TemporaryDirectory() as folder:
        main = Path(folder)
        for name, text in files:
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
            if path.suffix == ".linnet":
                main = path
        name = main.relative_to(folder).as_posix()
        return check(*read_source(main, name)).diagnostics
