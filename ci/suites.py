"""The session `tests`: every suite that gates a change."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial

from ci import infiniops, infinirt, toolchain
from ci.native import ROOT
from ci.packages import PACKAGES
from ci.steps import Step, run


def steps(arguments: Sequence[str]) -> list[Step]:
    """The steps of the session; with `arguments`, one pytest run which gets them."""
    if arguments:
        return [Step("pytest", partial(pytest, *arguments))]
    return [
        *infinirt.build_and_test_steps(),
        *infiniops.build_and_test_steps(),
        Step("ci: tests", partial(pytest, "ci/tests")),
        *(
            Step(f"{package.name}: Python tests", partial(pytest, f"packages/{package.name}/tests"))
            for package in PACKAGES
        ),
    ]


def pytest(*arguments: str) -> None:
    """Runs pytest from the root with the root's settings, on every core."""
    settings = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT)]
    workers = ["-n", str(toolchain.jobs())]
    run(sys.executable, "-m", "pytest", "-q", *settings, *workers, *arguments, cwd=ROOT)
