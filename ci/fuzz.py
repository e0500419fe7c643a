"""The session `fuzz`: every campaign of random cases, whole, with a table of what they met."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from functools import partial

from ci import toolchain
from ci.native import ROOT
from ci.steps import Step, run

TESTS = ROOT / "packages" / "linnet" / "tests"
LINKED = "packages/linked-resolver/tests/test_fuzz.py"


def steps(arguments: Sequence[str]) -> list[Step]:
    """The steps of the session: `--share 0.05` runs a part of each, `--only NAME` one campaign,
    `linked-resolver` or one of Linnet's. Linnet's runner gets all arguments.
    """
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--only")
    options, _ = parser.parse_known_args(arguments)
    linked = Step("linked-resolver: random cases", partial(fuzz_linked, options.share))
    if options.only == "linked-resolver":
        return [linked]
    linnet = Step("linnet: random cases", partial(fuzz_linnet, *arguments))
    return [linnet] if options.only else [linked, linnet]


def fuzz_linked(share: float) -> None:
    """Runs `share` of 10,000 contracts and as many damaged libraries each, and counts them."""
    os.environ["LINKED_RESOLVER_FUZZ_SHARE"] = str(share)
    settings = ["-c", "pyproject.toml", "--rootdir", str(ROOT), "-n", str(toolchain.jobs())]
    told = ["--durations=0", "--hypothesis-show-statistics"]
    run(sys.executable, "-m", "pytest", "-q", *settings, *told, LINKED, cwd=ROOT)


def fuzz_linnet(*arguments: str) -> None:
    """Runs Linnet's campaigns over all cores."""
    jobs = ["--jobs", str(toolchain.jobs())]
    run(sys.executable, "-m", "linnet_helpers.fuzzing", *jobs, *arguments, cwd=TESTS)
