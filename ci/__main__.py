"""`python -m ci SESSION`: does the work of one nox session in the present environment."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from ci import (
    benchmarks,
    checks,
    fuzz,
    infiniops,
    infinirt,
    linked,
    lint,
    matrix,
    processes,
    site,
    smoke,
    suites,
    wheels,
)
from ci.steps import Step, run_steps


def _with(
    steps: Callable[[Sequence[str]], list[Step]], *known: str
) -> Callable[[Sequence[str]], list[Step]]:
    """`steps`, which then refuses arguments other than `known`: one that is misspelt would do
    nothing, unseen."""

    def checked(arguments: Sequence[str]) -> list[Step]:
        unknown = [argument for argument in arguments if argument not in known]
        if unknown:
            takes = f"takes {', '.join(known)}" if known else "takes no arguments"
            raise SystemExit(f"unknown: {' '.join(unknown)}; the session {takes}")
        return steps(arguments)

    return checked


# Session: its steps, given the command's further arguments, and whether a failed step stops it.
SESSIONS: dict[str, tuple[Callable[[Sequence[str]], list[Step]], bool]] = {
    "smoke": (_with(lambda _: list(smoke.STEPS)), True),
    "tests": (suites.steps, False),
    "build": (wheels.steps, True),
    "cuda_compile": (_with(lambda _: infinirt.cuda_steps()), True),
    "linked": (linked.steps, False),
    "vendors": (_with(lambda _: infinirt.vendor_steps()), False),
    # The gate leaves InfiniOps, which takes long, to `nox -s sanitize -- --all`.
    "sanitize": (
        _with(
            lambda arguments: [
                *infinirt.sanitize_steps(),
                *(infiniops.sanitize_steps() if "--all" in arguments else []),
            ],
            "--all",
        ),
        False,
    ),
    "fuzz": (fuzz.steps, False),
    "matrix": (matrix.steps, False),
    "lint": (_with(lint.steps, "--all"), False),
    "checks": (_with(lambda _: checks.steps()), False),
    "docs": (_with(site.steps, "--write"), False),
    "bench": (benchmarks.steps, False),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the session that the command line names; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m ci", description=__doc__)
    parser.add_argument(
        "--setup-seconds",
        type=float,
        help="how long the environment took; the table's first row",
    )
    parser.add_argument("session", choices=SESSIONS)
    parser.add_argument("rest", nargs=argparse.REMAINDER, help="passed on to the session")
    parsed = parser.parse_args(arguments)
    processes.end_descendants_too()
    steps, stops = SESSIONS[parsed.session]
    return run_steps(
        parsed.session,
        steps(parsed.rest),
        keep_going=not stops,
        setup_seconds=parsed.setup_seconds,
    )


if __name__ == "__main__":
    sys.exit(main())
