"""Measures how far the operators of the installed InfiniOps are from float64 on the CPU.

    python benchmarks/accuracy.py [--seeds N] [--figures ../src/base/accuracy.json]
                                   [--output results.json]

Every shape and set of attributes of an operator's sweep runs on fresh random inputs, and each
result is compared with the oracle that the declaration names, computed in float64. The generators
put the figures on the operators' pages: the largest and the mean error of an element, and the
largest share of the declared tolerance that one took.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parent))  # which a test that imports this file lacks
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from sweep import (  # type: ignore[import-not-found]  # on the path since the line above
    Sweep,
    distance,
    expected_of,
    load_sweeps,
    sampled_cases,
)
from timing import Results, write_results  # likewise

import infini.ops  # likewise


@dataclass
class Errors:
    """The errors of one operator in one dtype."""

    elements: int = 0
    largest: float = 0.0
    total: float = 0.0
    share: float = 0.0

    def include(
        self, actual: torch.Tensor, expected: torch.Tensor, bound: dict[str, float]
    ) -> None:
        """Adds the elements of one result; those that are not finite only by their share."""
        if actual.numel() == 0:
            return
        self.share = max(self.share, float(distance(actual, expected, bound).max()))
        wide = torch.complex128 if actual.dtype.is_complex else torch.float64
        error = (actual.to(wide) - expected.to(wide)).abs()
        error = error[error.isfinite()]
        self.elements += error.numel()
        self.total += float(error.sum())
        if error.numel() > 0:
            self.largest = max(self.largest, float(error.max()))

    def figures(self) -> dict[str, float]:
        """The figures in the form of accuracy.json, of two digits."""
        mean = self.total / max(self.elements, 1)
        numbers = {"largest": self.largest, "mean": mean, "share": self.share}
        return {name: float(f"{number:.1e}") for name, number in numbers.items()}


def int8_case(dtype: torch.dtype, generator: torch.Generator) -> tuple[Any, Any]:
    """What `linear_int8` gives, and the oracle."""
    rows = 1 + int(torch.randint(0, 40, (1,), generator=generator))
    x = torch.randn(rows, 300, generator=generator).to(dtype)
    weight = torch.randint(-128, 128, (70, 300), generator=generator).to(torch.int8)
    scale = torch.rand(70, generator=generator) / 128
    wide = weight.double() * scale.double()[:, None]
    return infini.ops.linear_int8(x, weight, scale), x.double() @ wide.t()


def int4_case(dtype: torch.dtype, generator: torch.Generator) -> tuple[Any, Any]:
    """The same of `linear_int4`."""
    rows = 1 + int(torch.randint(0, 40, (1,), generator=generator))
    x = torch.randn(rows, 320, generator=generator).to(dtype)
    weight = torch.randint(0, 256, (70, 10, 16), generator=generator).to(torch.uint8)
    scale = torch.rand(70, 10, generator=generator) / 8
    numbers = torch.stack((weight & 15, weight >> 4), -1).reshape(70, 10, 32)
    wide = ((numbers.double() - 8) * scale.double()[..., None]).reshape(70, 320)
    return infini.ops.linear_int4(x, weight, scale), x.double() @ wide.t()


def attention_case(dtype: torch.dtype, generator: torch.Generator) -> tuple[Any, Any]:
    """The same of `scaled_dot_product_attention`, for few queries and for many."""
    queries = 1 + int(torch.randint(0, 60, (1,), generator=generator))
    q, k, v = (
        torch.randn(2, 3, size, 64, generator=generator).to(dtype) for size in (queries, 90, 90)
    )
    function = torch.nn.functional.scaled_dot_product_attention
    return (
        infini.ops.scaled_dot_product_attention(q, k, v),
        function(q.double(), k.double(), v.double()),
    )


#: Operators whose inputs hang together, which the generated sweep does not know.
OWN_CASES: dict[str, Callable[[torch.dtype, torch.Generator], tuple[Any, Any]]] = {
    "linear_int8": int8_case,
    "linear_int4": int4_case,
    "scaled_dot_product_attention": attention_case,
}


def errors_of(sweep: Sweep, dtype_name: str, seeds: int) -> Errors:
    """Runs the sweep of an operator in one dtype with several seeds, or its own cases."""
    errors = Errors()
    bound = sweep.tolerance[dtype_name]
    function = getattr(infini.ops, sweep.operator)
    for seed in range(seeds):
        generator = torch.Generator().manual_seed(seed)
        if own := OWN_CASES.get(sweep.operator):
            errors.include(*own(getattr(torch, dtype_name), generator), bound)
        for _, attributes, _, inputs in sampled_cases(sweep, dtype_name, generator):
            expected = expected_of(sweep, inputs, attributes)
            given = {name: value for name, value in inputs.items() if value is not None}
            made: Any = function(**given, **attributes)
            for one, wanted in zip(
                made if isinstance(made, tuple) else (made,), expected, strict=True
            ):
                if one.dtype.is_floating_point or one.dtype.is_complex:
                    errors.include(one, wanted, bound)
    return errors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20, help="sets of inputs for each case")
    parser.add_argument("--figures", type=Path, help="file for the figures of the pages")
    parser.add_argument("--output", type=Path, help="file for the results as JSON")
    options = parser.parse_args()
    figures: dict[str, dict[str, dict[str, float]]] = {}
    results: Results = {}
    print("| operator | dtype | largest error | mean error | of the tolerance |")
    print("|---|---|---|---|---|")
    for sweep in load_sweeps():
        for dtype_name in sweep.tolerance:
            errors = errors_of(sweep, dtype_name, options.seeds)
            if errors.elements == 0:
                continue
            own = errors.figures()
            figures.setdefault(sweep.operator, {})[dtype_name] = own
            name = f"{sweep.operator}, {dtype_name}"
            results[name] = {"value": own["share"], "unit": "of the tolerance", **own}
            numbers = " | ".join(f"{number:.2g}" for number in own.values())
            print(f"| {sweep.operator} | {dtype_name} | {numbers} |")
    write_results(options.output, results)
    if options.figures is not None:
        options.figures.write_text(
            json.dumps(figures, indent=1, sort_keys=True) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
