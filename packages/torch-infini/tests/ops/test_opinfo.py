"""The part of torch's operator database that agrees with the CPU, through torch's own harness.

`tools/opinfo_coverage.py` writes the list, and docs/torch-infini/operators.md with what is left out
and why.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

pytest.importorskip("expecttest", reason="torch's test harness needs expecttest")

from torch.testing._internal.common_device_type import instantiate_device_type_tests, ops
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_utils import TestCase

pytestmark = [
    pytest.mark.once,
    # The samples include operands that PyTorch warns of, on the CPU as well.
    pytest.mark.filterwarnings("ignore"),
]


def load_tool() -> Any:
    """Returns the module that writes the list."""
    path = Path(__file__).resolve().parents[2] / "tools" / "opinfo_coverage.py"
    spec = importlib.util.spec_from_file_location("opinfo_coverage", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


opinfo_coverage = load_tool()

ALLOWED: dict[str, list[str]] = json.loads(
    Path(__file__).with_name("opinfo.json").read_text(encoding="utf-8")
)
CHOSEN = [info for info in op_db if opinfo_coverage.names_of(info) in ALLOWED]


def test_the_list_names_operators_of_the_database() -> None:
    assert {opinfo_coverage.names_of(info) for info in CHOSEN} == set(ALLOWED)


def test_results_are_compared_by_their_own_type() -> None:
    near = torch.tensor([1.0, float("nan")])
    opinfo_coverage.compare([near * (1 + 1e-6)], [near])
    for found, expected in (
        ([near * 1.01], [near]),
        (torch.tensor([1]), torch.tensor([2])),
        (torch.tensor([1.0]), torch.tensor([1])),
        ([near], [near, near]),
        (True, False),
    ):
        with pytest.raises(AssertionError):
            opinfo_coverage.compare(found, expected)


class TestDatabase(TestCase):
    """One test for each operator and element type."""

    @ops(CHOSEN, allowed_dtypes=opinfo_coverage.DTYPES)
    def test_results_agree_with_the_cpu(self, device: str, dtype: torch.dtype, op: Any) -> None:
        if str(dtype).removeprefix("torch.") not in ALLOWED[opinfo_coverage.names_of(op)]:
            self.skipTest("not in the list for this type; the page says why")
        torch.manual_seed(0)
        opinfo_coverage.check(op, dtype, samples=4)


instantiate_device_type_tests(TestDatabase, globals(), only_for="infini")
