"""The fuzz session runs Linnet's campaigns where their package of helpers is."""

from __future__ import annotations

from pathlib import Path

import pytest

from ci import fuzz


def test_the_runner_gets_the_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[tuple[str | Path, ...], Path | None]] = []
    monkeypatch.setattr(fuzz, "run", lambda *command, cwd=None: calls.append((command, cwd)))
    (step,) = fuzz.steps(["--share", "0.05"])
    step.action()
    ((command, folder),) = calls
    assert command[1:3] == ("-m", "linnet_helpers.fuzzing")
    assert command[-2:] == ("--share", "0.05")
    assert folder is not None
    assert (folder / "linnet_helpers" / "fuzzing" / "__main__.py").is_file()
