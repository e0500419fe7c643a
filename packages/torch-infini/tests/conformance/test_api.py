"""The capabilities that api_profile.json calls required exist in torch.infini."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pytest
import torch

PROFILE = json.loads(Path(__file__).with_name("api_profile.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("symbol", PROFILE["required"])
def test_required_symbol_exists_and_is_documented(symbol: str) -> None:
    value: Any = torch.infini
    for part in symbol.split("."):
        assert hasattr(value, part), f"torch.infini.{symbol} does not exist"
        value = getattr(value, part)
    assert inspect.getdoc(value), f"torch.infini.{symbol} has no docstring"


@pytest.mark.parametrize(
    "symbol",
    [symbol for symbol in PROFILE["required"] if "." not in symbol and symbol[0].islower()],
)
def test_required_function_is_called_as_in_torch_cuda(symbol: str) -> None:
    reference = getattr(torch.cuda, symbol)
    actual = getattr(torch.infini, symbol)
    expected = list(inspect.signature(reference).parameters.values())
    given = list(inspect.signature(actual).parameters.values())
    for one, other in zip(expected, given, strict=False):
        assert one.name == other.name
        assert (one.default is one.empty) == (other.default is other.empty)
    assert len(expected) == len(given)


def test_every_public_name_is_listed() -> None:
    for name in torch.infini.__all__:
        assert hasattr(torch.infini, name)
    assert "_is_in_bad_fork" in torch.infini.__all__  # torch.manual_seed looks for it
