"""The page of diagnostics is what the checker says now."""

from __future__ import annotations

from linnet_helpers.diagnostics_page import PAGE, example, page

from linnet.source import CODES


def test_the_page_is_what_the_checker_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_code_but_those_of_kernels_has_an_example() -> None:
    assert {code for code in CODES if example(code) is None} == {"E2126", "E2127"}
