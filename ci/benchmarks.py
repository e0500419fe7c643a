"""The session `bench`: every benchmark, as JSON below `build/bench/` and as a Markdown table."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from ci import infinirt, native
from ci.native import BUILD
from ci.steps import Step, StepError, output_of

RESULTS = BUILD / "bench"


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


def markdown(folder: Path) -> str:
    """One table of every `*.json` of results in `folder`."""
    lines = ["| benchmark | value | unit |", "|---|---:|---|"]
    for path in sorted(folder.glob("*.json")):
        for name, result in parse(path.read_text(encoding="utf-8")).items():
            lines.append(f"| {path.stem}: {name} | {result['value']:.4g} | {result['unit']} |")
    return "\n".join(lines) + "\n"


def write_table() -> str:
    """Writes `build/bench/results.md` from the JSON files beside it and prints it."""
    table = markdown(RESULTS)
    (RESULTS / "results.md").write_text(table, encoding="utf-8")
    print(table)
    return "build/bench/results.md"


STEPS = (
    Step("infinirt: build the benchmarks", partial(native.build, infinirt.BENCHMARKS)),
    Step("infinirt: measure", measure_infinirt),
    Step("table", write_table),
)
