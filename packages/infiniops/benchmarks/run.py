"""Measures the operators of the installed InfiniOps as ratios to torch in one run.

    python benchmarks/run.py [--operators add linear] [--output results.json]

Every operator's entry (`share/infiniops/benchmarks/<operator>.json`) names its peer, dtypes and
shapes. Both sides are timed in turn, so that what else the machine does hits both; a time is the
least of many rounds. Two further figures have bounds of their own: the call of a tiny `add`, and
the bandwidth at which few rows stream a weight, as a share of what a plain read of the same bytes
reaches in the same rounds. Both are left out where operators are named.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parent))  # which a test that imports this file lacks
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from inputs import (  # type: ignore[import-not-found]  # on the path since the line above
    dtypes_of_inputs,
    random_inputs,
    spelled,
)
from timing import Call, Results, add_ratio, least_seconds, write_results  # likewise

import infini.ops  # likewise

ROUNDS = 25
ROUND_SECONDS = 0.004


@dataclass(frozen=True)
class Result:
    """One comparison: seconds of one call on each side."""

    operator: str
    dtype: str
    case: str
    ours: float
    peer: float

    @property
    def ratio(self) -> float:
        """How many times as fast as the peer."""
        return self.peer / self.ours


def compare(ours: Call, peer: Call) -> tuple[float, float]:
    """The least seconds of one call of each, timed in turn."""
    ours_, peer_ = least_seconds([[ours], [peer]], ROUNDS, batch_seconds=ROUND_SECONDS)
    return ours_, peer_


def operator_results(entry: dict[str, Any]) -> list[Result]:
    """Every case of one operator's entry."""
    results = []
    function = getattr(infini.ops, entry["operator"])
    peer_code = compile(entry["peer"], entry["operator"], "eval")
    for dtype in entry["dtypes"]:
        for case, shapes in entry["shapes"].items():
            generator = torch.Generator().manual_seed(1)
            dtypes = dtypes_of_inputs(entry["inputs"], entry["main"], dtype, 0)
            attributes = entry["attributes"]
            inputs = random_inputs(entry["inputs"], shapes, dtypes, attributes, generator)
            names = {"torch": torch, **spelled(attributes), **inputs}
            given = {name: value for name, value in inputs.items() if value is not None}
            ours, peer = compare(
                lambda f=function, i=given, a=attributes: f(**i, **a),  # type: ignore[misc]  # mypy infers no lambda with defaults
                lambda c=peer_code, n=names: eval(c, n),  # type: ignore[misc]  # mypy infers no lambda with defaults
            )
            results.append(Result(entry["operator"], dtype, case, ours, peer))
    return results


def call_overhead() -> Result:
    """A call of `add` on 8 elements with `out`: almost all of it is overhead."""
    a, b, out = torch.randn(8), torch.randn(8), torch.empty(8)
    ours, peer = compare(lambda: infini.ops.add(a, b, out=out), lambda: torch.add(a, b, out=out))
    return Result("add", "float32", "call with out", ours, peer)


def weight_bandwidth(dtype: str) -> tuple[float, float, int]:
    """Seconds of a one-row `linear` over a large weight, and of a plain sum of it; its bytes."""
    element = getattr(torch, dtype)
    weight = torch.randn(16384, 4096).to(element)
    x = torch.randn(1, 4096).to(element)
    out = torch.empty(1, 16384, dtype=element)
    words = weight.view(torch.int64)
    ours, probe = compare(lambda: infini.ops.linear(x, weight, out=out), lambda: words.sum())
    return ours, probe, weight.numel() * weight.element_size()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operators", nargs="*", help="operators to measure; all by default")
    parser.add_argument("--output", type=Path, help="file for the results as JSON")
    options = parser.parse_args()
    folder = infini.ops.prefix() / "share" / "infiniops" / "benchmarks"
    chosen = options.operators or infini.ops.operators()
    results: list[Result] = []
    for name in chosen:
        results += operator_results(json.loads((folder / f"{name}.json").read_text()))
    print("| operator | dtype | case | infini.ops, us | torch, us | times as fast |")
    print("|---|---|---|---|---|---|")
    everything = not options.operators
    overhead = [call_overhead()] if everything else []
    kept: Results = {}
    for result in [*results, *overhead]:
        name = f"{result.operator}, {result.dtype}, {result.case}"
        ratio = add_ratio(kept, name, result.ours, result.peer, "torch")
        print(
            f"| {result.operator} | {result.dtype} | {result.case} | {result.ours * 1e6:.2f} | "
            f"{result.peer * 1e6:.2f} | {ratio:.2f} |"
        )
    mean = math.exp(sum(math.log(result.ratio) for result in results) / len(results))
    kept["geometric mean"] = {"value": mean, "unit": "times as fast as torch"}
    print(f"\nGeometric mean: {mean:.2f} times as fast as torch.")
    for result in overhead:
        print(f"A tiny add with out takes {1 / result.ratio:.2f} of torch's time.")
    for dtype in ("float32", "bfloat16") if everything else ():
        ours, probe, size = weight_bandwidth(dtype)
        share = add_ratio(
            kept, f"linear, one row, {dtype}", ours, probe, "a plain sum of the weight"
        )
        print(f"One row of linear, {dtype}: {size / ours:.3g} bytes/s, {share:.2f} of a plain sum.")
    write_results(options.output, kept)


if __name__ == "__main__":
    main()
