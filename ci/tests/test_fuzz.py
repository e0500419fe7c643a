"""The fuzz session runs the campaigns of the packages that have some."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ci import fuzz
from ci.native import ROOT

Calls = list[tuple[tuple[str | Path, ...], Path | None]]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """The commands that steps would run."""
    found: Calls = []
    monkeypatch.setattr(fuzz, "run", lambda *command, cwd=None: found.append((command, cwd)))
    monkeypatch.setenv("LINKED_RESOLVER_FUZZ_SHARE", "0")
    return found


def test_linnet_s_runner_gets_the_arguments(calls: Calls) -> None:
    fuzz.steps(["--share", "0.05"])[1].action()
    ((command, folder),) = calls
    assert command[1:3] == ("-m", "linnet_helpers.fuzzing")
    assert command[-2:] == ("--share", "0.05")
    assert folder is not None
    assert (folder / "linnet_helpers" / "fuzzing" / "__main__.py").is_file()


def test_the_share_is_that_of_contracts_and_libraries_too(calls: Calls) -> None:
    fuzz.steps(["--share", "0.05"])[0].action()
    ((command, folder),) = calls
    assert folder is not None
    assert (folder / str(command[-1])).is_file()
    assert os.environ["LINKED_RESOLVER_FUZZ_SHARE"] == "0.05"
    assert '"LINKED_RESOLVER_FUZZ_SHARE", "' in (ROOT / fuzz.LINKED).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ([], ["linked-resolver", "linnet"]),
        (["--only", "linked-resolver"], ["linked-resolver"]),
        (["--only", "prover"], ["linnet"]),
    ],
)
def test_one_campaign_can_be_run_alone(arguments: list[str], names: list[str]) -> None:
    assert [step.name.split(":")[0] for step in fuzz.steps(arguments)] == names
