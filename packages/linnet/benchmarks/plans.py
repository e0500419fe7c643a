"""Measures planning and replaying a decode step of the Llama family, with random weights.

    python benchmarks/plans.py [--layers 30] [--output results.json]

The model has SmolLM2-135M's sizes. Measured:

- `plan cold`, `plan warm`: seconds of `plan_for` without and with stored times (a new process each)
- `record`: seconds to record the step
- `replay overhead`: seconds that a replay takes beside the recorded work, with every step recorded
  and none of it done; the least of many rounds
- `arena`, `values`: bytes of the buffer of the recorded values, and of those values one by one
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from linnet.backends import (
    Backend,
    Capabilities,
    Cost,
    ExecutableMeta,
    Options,
    Region,
    Target,
    available,
)
from linnet.graph import Graph
from linnet.torch import LinnetModule, load, read_program
from linnet.torch.dtypes import torch_dtype
from linnet.torch.planned import Captured

SOURCE = Path(__file__).parents[1] / "src" / "linnet" / "models" / "llama.linnet"
SIZES: dict[str, Any] = {
    "Vocab": 49152,
    "H": 576,
    "Inner": 1536,
    "Heads": 9,
    "KeyHeads": 3,
    "D": 64,
    "Batch": 1,
    "Context": 2048,
    "T": "bf16",
}
INPUTS = [torch.tensor([[5]]), torch.tensor([3])]
ROUNDS, CALLS = 400, 5


class Everything:
    """Takes the whole step as one region and does nothing: what is left is the overhead."""

    name = "everything"
    version = "1"
    contract = 1
    calls = 0
    meta = ExecutableMeta(requires=())

    def probe(self, target: Target) -> Capabilities:
        """Every device."""
        return Capabilities()

    def match(self, graph: Graph, target: Target) -> list[Region]:
        """All steps."""
        return [Region.of(graph, 0, len(graph.steps))]

    def compile(self, region: Region, target: Target, options: Options) -> Everything:
        """Itself."""
        return self

    def estimate_cost(self, region: Region, target: Target) -> Cost | None:
        """Unknown."""
        return None

    def recorder(self, target: Target) -> Everything:
        """Itself."""
        return self

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Records nothing."""
        yield

    def finish(self) -> Everything:
        """Itself."""
        return self

    def run(self) -> None:
        """Does nothing."""

    def prepare(self, context: object) -> None:
        """Needs nothing."""

    def execute(self, inputs: Any, outputs: Sequence[Any], context: object) -> list[Any]:
        """Writes nothing; a state is its own new content."""
        return list(outputs)


def make_model(layers: int) -> LinnetModule:
    """The model with random weights."""
    generics = {**SIZES, "Layers": layers}
    weights = {
        entry.path: (torch.randn(entry.shape) * 0.03).to(torch_dtype(entry.dtype))
        for entry in read_program(SOURCE, generics=generics).declared(None)
        if entry.kind != "state" and not entry.optional
    }
    return load(SOURCE, generics=generics, weights=weights)


def measure_plan(layers: int) -> dict[str, float]:
    """Seconds of planning over the installed back ends, and of recording; bytes of the arena."""
    model = make_model(layers)
    backends: list[Backend] = available()  # loaded before the clock starts
    start = time.perf_counter()
    plan = model.plan_for("decode", INPUTS, backends)
    planned = time.perf_counter()
    step = Captured(plan, model.context_for(plan))
    report = step.report()
    recorded = time.perf_counter()
    return {
        "plan": planned - start,
        "record": recorded - planned,
        "arena": report.arena_bytes or 0,
        "values": report.value_bytes or 0,
    }


def measure_overhead(layers: int) -> float:
    """Seconds of a replay in which nothing is to be done."""
    model = make_model(layers)
    plan = model.plan_for("decode", INPUTS, [Everything()], measure=False)
    step = Captured(plan, model.context_for(plan))
    step.report()
    step._calls = 1  # the first call would run the region, which cannot be run
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(CALLS):
            step(INPUTS)
        best = min(best, (time.perf_counter() - start) / CALLS)
    return best


def main() -> None:
    """Runs everything; the plans in processes of their own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=30)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--plan-only", action="store_true", help="used by the program itself")
    options = parser.parse_args()
    if options.plan_only:
        print(json.dumps(measure_plan(options.layers)))
        return
    results: dict[str, dict[str, Any]] = {}
    found: dict[str, float] = {}
    command = [sys.executable, __file__, "--plan-only", "--layers", str(options.layers)]
    with tempfile.TemporaryDirectory() as home:
        for name in ("cold", "warm"):
            done = subprocess.run(
                command,
                env={**os.environ, "LINNET_HOME": home},
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            found = json.loads(done.stdout.splitlines()[-1])
            results[f"plan {name}"] = {"value": found["plan"], "unit": "s"}
    results["record"] = {"value": found["record"], "unit": "s"}
    results["replay overhead"] = {"value": measure_overhead(options.layers), "unit": "s"}
    for name in ("arena", "values"):
        results[name] = {"value": found[name], "unit": "bytes"}
    print("| measured | value | unit |\n|---|---:|---|")
    for name, result in results.items():
        print(f"| {name} | {result['value']:.4g} | {result['unit']} |")
    if options.output is not None:
        options.output.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
