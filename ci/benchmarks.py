"""The session `bench`: every benchmark, as JSON below `build/bench/` and as a Markdown table."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from ci import infinirt, native
from ci.native import BUILD, ROOT
from ci.steps import Step, StepError, output_of, run

RESULTS = BUILD / "bench"

#: Name: the program, which takes `--output FILE`.
PROGRAMS = {
    "ops": "packages/infiniops/benchmarks/run.py",
    "matrix": "packages/infiniops/benchmarks/matrix.py",
    "attention": "packages/infiniops/benchmarks/attention.py",
    "rows": "packages/infiniops/benchmarks/rows.py",
    "accuracy": "packages/infiniops/benchmarks/accuracy.py",
    "linked": "packages/linked-resolver/benchmarks/prove.py",
    "device": "packages/torch-infini/benchmarks/run.py",
    "plans": "packages/linnet/benchmarks/plans.py",
    "decode": "packages/linnet/benchmarks/decode.py",
}
NAMES = ("infinirt", *PROGRAMS)

#: Names that mean several.
GROUPS = {"kernels": ("ops", "matrix", "attention", "rows", "accuracy")}


def steps(arguments: Sequence[str]) -> list[Step]:
    """The steps of the session, for the benchmarks that `arguments` name or for all."""
    wanted = {one for name in arguments for one in GROUPS.get(name, (name,))}
    unknown = sorted(wanted - {*NAMES})
    if unknown:
        names = ", ".join((*NAMES, *GROUPS))
        raise SystemExit(f"no benchmark {', '.join(unknown)}; there are {names}")
    chosen = [name for name in NAMES if not wanted or name in wanted]
    found = []
    if "infinirt" in chosen:
        found += [
            Step("infinirt: build the benchmarks", partial(native.build, infinirt.BENCHMARKS)),
            Step("infinirt: measure", measure_infinirt),
        ]
    for name in chosen:
        if name in PROGRAMS:
            found.append(Step(f"{name}: measure", partial(measure, name)))
    return [*found, Step("table", partial(write_table, chosen))]


def measure_infinirt() -> str:
    """Runs InfiniRT's benchmark program and keeps what it prints."""
    program = next(infinirt.BENCHMARKS.tree.rglob("infinirt_benchmarks"), None)
    if program is None:
        raise StepError(f"no program infinirt_benchmarks below {infinirt.BENCHMARKS.tree}")
    text = output_of(program, env={"INFINI_RT_SIM_DEVICES": "1"})
    results = parse(text)
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "infinirt.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    return f"{len(results)} results"


def measure(name: str) -> str:
    """Runs the program of a benchmark, which prints a table of its own and writes its results."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    output = RESULTS / f"{name}.json"
    output.unlink(missing_ok=True)
    arguments = ARGUMENTS.get(name, list)()
    run(sys.executable, ROOT / PROGRAMS[name], *arguments, "--output", output)
    if not output.is_file():
        raise StepError(f"{PROGRAMS[name]} wrote no {output}")
    return f"{len(parse(output.read_text(encoding='utf-8')))} results"


def shipped_libraries() -> list[str]:
    """The shared libraries of InfiniRT and InfiniOps in this environment."""
    code = (
        "import infinirt, infini.ops\n"
        "for prefix in (infinirt.prefix(), infini.ops.prefix()):\n"
        "    for path in sorted(prefix.rglob('*.so')): print(path)"
    )
    found = output_of(sys.executable, "-c", code).splitlines()
    if not found:
        raise StepError("infinirt and infini.ops of this environment have no shared library")
    return found


#: Name: what its program is given beside the file for the results.
ARGUMENTS: dict[str, Callable[[], list[str]]] = {"linked": shipped_libraries}


def parse(text: str) -> dict[str, dict[str, object]]:
    """Reads `{"name": {"value": number, "unit": text, ...}, ...}`.

    Raises:
        StepError: `text` is something else, or holds no result.
    """
    try:
        results = json.loads(text)
    except json.JSONDecodeError as error:
        raise StepError(f"a benchmark printed no JSON object: {error}") from error
    if not isinstance(results, dict) or not results:
        raise StepError("a benchmark printed no result")
    for name, result in results.items():
        good = (
            isinstance(result, dict)
            and isinstance(result.get("value"), int | float)
            and isinstance(result.get("unit"), str)
        )
        if not good:
            raise StepError(f"benchmark {name!r}: expected value and unit, got {result!r}")
    return results


def markdown(paths: Sequence[Path]) -> str:
    """One table of the results in `paths`."""
    lines = ["| benchmark | value | unit |", "|---|---:|---|"]
    for path in paths:
        for name, result in parse(path.read_text(encoding="utf-8")).items():
            lines.append(f"| {path.stem}: {name} | {result['value']:.4g} | {result['unit']} |")
    return "\n".join(lines) + "\n"


def write_table(chosen: Sequence[str]) -> str:
    """Writes `build/bench/results.md` from the results of this run and prints it.

    Raises:
        StepError: One of `chosen` left no results.
    """
    paths = [RESULTS / f"{name}.json" for name in chosen]
    lacking = [path.stem for path in paths if not path.is_file()]
    table = markdown([path for path in paths if path.is_file()])
    (RESULTS / "results.md").write_text(table, encoding="utf-8")
    print(table)
    if lacking:
        raise StepError(f"no results of {', '.join(lacking)}")
    return "build/bench/results.md"
