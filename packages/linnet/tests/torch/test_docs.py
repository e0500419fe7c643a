"""The code on docs/linnet/running.md runs."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

ROOT = Path(__file__).parents[4]
PAGE = ROOT / "docs" / "linnet" / "running.md"
EXAMPLE = ROOT / "packages" / "linnet" / "examples" / "two_layer.linnet"


def test_the_blocks_of_the_page_run_one_after_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(EXAMPLE, tmp_path)
    monkeypatch.chdir(tmp_path)
    parts = PAGE.read_text().split("```python\n")
    before = [part.rstrip().endswith("-->") for part in parts]
    blocks = [part.split("```")[0] for part in parts[1:]]
    (shown,) = (block for block, kept in zip(blocks, before, strict=False) if kept)
    blocks = [block for block, kept in zip(blocks, before, strict=False) if not kept]
    assert len(blocks) == 2
    names: dict[str, Any] = {}
    exec("\n".join(blocks), names)
    model, x = names["model"], names["x"]
    assert shown in model.generated_source("forward", [torch.zeros(2, 8)])
    assert torch.allclose(names["y"], model.forward(x), rtol=1e-4, atol=1e-4)
    shown = capsys.readouterr().out
    assert "def main(" in shown
    assert "plan of entry forward" in shown
    assert "captured step of entry forward" in shown
