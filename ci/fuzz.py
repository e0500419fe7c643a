"""The session `fuzz`: every campaign of random cases, whole, with a table of what they met."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial

from ci import toolchain
from ci.native import ROOT
from ci.steps import Step, run

TESTS = ROOT / "packages" / "linnet" / "tests"


def steps(arguments: Sequence[str]) -> list[Step]:
    """The steps of the session; `arguments`, such as `--share 0.05`, go to the runner."""
    return [Step("linnet: random cases", partial(fuzz_linnet, *arguments))]


def fuzz_linnet(*arguments: str) -> None:
    """Runs Linnet's campaigns over all cores."""
    jobs = ["--jobs", str(toolchain.jobs())]
    run(sys.executable, "-m", "linnet_helpers.fuzzing", *jobs, *arguments, cwd=TESTS)
