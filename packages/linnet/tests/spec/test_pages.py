"""Every program of the pages in this folder is answered as its page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from linnet.source import CODES
from linnet.spec import Case, SpecError, read_cases, run_case

PAGES = sorted(Path(__file__).parent.glob("*.md"))
CASES = [(page, case) for page in PAGES for case in read_cases(page.read_text(encoding="utf-8"))]
# Codes that no program of a page can raise yet, and why.
UNREACHED = {
    "E2126": "kernels are rejected as a whole with E2190",
    "E2127": "kernels are rejected as a whole with E2190",
}


@pytest.mark.parametrize(
    ("page", "case"), CASES, ids=[f"{page.stem}:{case.line}" for page, case in CASES]
)
def test_program_is_answered_as_the_page_says(page: Path, case: Case) -> None:
    run_case(case)


def test_every_code_has_a_program_that_raises_it_alone() -> None:
    alone = {next(iter(case.codes)) for _, case in CASES if len(case.codes) == 1}
    assert set(CODES) - alone == set(UNREACHED)


def test_a_page_that_says_otherwise_fails() -> None:
    wrong = "# T\n```linnet\nmodule m\n// error: E2101\n```\n"
    with pytest.raises(SpecError, match="expected E2101, got no errors"):
        run_case(read_cases(wrong)[0])
    text = "```linnet\nmodule m\n// error: E1201\nconst A = b\n```\n\n```text\nnothing\n```\n"
    with pytest.raises(SpecError, match="expected the text"):
        run_case(read_cases(text)[0])
