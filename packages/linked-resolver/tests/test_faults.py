"""Every section of the pages in `faults/` is a test."""

from __future__ import annotations

from pathlib import Path

import pytest
from faults import FOLDER, Fault, read_page
from linked_workspace import Workspace

from linked_resolver import ContractError, parse_selection, render

PAGES = sorted(FOLDER.glob("*.md"))
FAULTS = [
    pytest.param(fault, id=f"{page.stem}: {fault.title}")
    for page in PAGES
    for fault in read_page(page)
]


@pytest.mark.parametrize("fault", FAULTS)
def test_page_says_what_the_resolver_says(
    fault: Fault, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert resolve_fault(fault, workspace) == fault.problems


def resolve_fault(fault: Fault, workspace: Workspace) -> str:
    workspace.complete()
    for path, text in fault.files.items():
        workspace.write(path, text)
    for path in fault.deleted:
        (workspace.contracts / path).unlink()
    selection = None
    if fault.ops is not None:
        file = workspace.root / "ops.json"
        file.write_text(fault.ops, encoding="utf-8")
        try:
            selection = parse_selection(str(file), workspace.root)
        except ContractError as error:
            return workspace.text([error.problem])
    return workspace.text(workspace.prove(selection=selection).problems)


def test_pages_are_there() -> None:
    assert [page.stem for page in PAGES] == ["contracts", "layout", "selection", "slots", "yaml"]


def test_text_of_several_problems_keeps_a_blank_line_between_them(workspace: Workspace) -> None:
    workspace.complete()
    workspace.library("python_distribution_package: acme\nlibary_glob: a\n")
    problems = workspace.prove().problems
    assert render(problems).count("\n\n") == len(problems) - 1 == 1


def test_a_page_with_an_unknown_block_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("## a\n```what\n```\n")
    with pytest.raises(ValueError, match="unknown kind 'what'"):
        list(read_page(page))
