"""Writes the default test sweep of an operator, and its benchmark entry.

Both are tables: `tests/test_sweep.py` and `benchmarks/` run them on an installed InfiniOps.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from .declaration import Cases, Operator, Tensor, Tolerance
from .shapes import evaluate_shape

LAYOUTS = (
    "contiguous",
    "strided",
    "transposed",
    "reversed",
    "offset",
    "expanded",
    "out_strided",
    "alias",
)
"""How a case lays out its tensors; `tests/support/sweep.py` says what each means."""

_SIZES = {
    "one": (1, 1, 1),
    "even": (4, 8, 64),
    "odd": (3, 5, 37),
    "long": (2, 3, 1031),
    "empty_last": (2, 3, 0),
    "empty_first": (0, 3, 5),
}
_FREE = {"one": 1, "even": 16, "odd": 7, "long": 9, "empty_last": 3, "empty_first": 3}

_BENCHMARK_SIZES: dict[str, dict[str, tuple[int, ...]]] = {
    "elementwise": {"tiny": (8,), "small": (64, 64), "medium": (512, 512), "large": (4096, 2048)},
    "normalization": {
        "tiny": (1, 64),
        "small": (1, 576),
        "medium": (128, 2048),
        "large": (4096, 4096),
    },
    "matrix": {"decode": (1, 2048), "few": (4, 2048), "medium": (128, 1024), "large": (1024, 1024)},
}


def sweep_json(operator: Operator) -> str:
    """The sweep of one operator: what to call, how close it must be, on which shapes."""
    document = {
        "operator": operator.name,
        "agrees_with": operator.agrees_with,
        "main": operator.main,
        "inputs": _input_records(operator, operator.sweep),
        "attributes": _attribute_sets(operator, operator.sweep),
        "outputs": [
            {
                "name": tensor.name,
                "may_alias": list(tensor.may_alias),
                "dtype": _dtype_rule(tensor),
            }
            for tensor in operator.outputs
        ],
        "tolerance": {dtype: _tolerance(bound) for dtype, bound in operator.tolerance},
        "layouts": list(LAYOUTS) if operator.default_sweep else [],
        "shapes": (_given_cases(operator.sweep) or list(_shape_cases(operator)))
        if operator.default_sweep
        else [],
    }
    return json.dumps(document, indent=2) + "\n"


def benchmark_json(operator: Operator) -> str:
    """The benchmark entry of one operator: its peer in torch, dtypes and shapes."""
    sizes = _BENCHMARK_SIZES.get(operator.group, _BENCHMARK_SIZES["elementwise"])
    given: dict[str, object] = dict(operator.benchmark.shapes)
    for name, base in () if given or not operator.default_sweep else sizes.items():
        given[name] = _shapes(operator, base, free=base[-1])
    document = {
        "operator": operator.name,
        "peer": operator.agrees_with,
        "main": operator.main,
        "inputs": _input_records(operator, operator.benchmark),
        "attributes": _attribute_sets(operator, operator.benchmark)[0],
        "dtypes": _benchmark_dtypes(operator),
        "shapes": given,
    }
    return json.dumps(document, indent=2) + "\n"


def _benchmark_dtypes(operator: Operator) -> list[str]:
    """The two that models compute in; of an operator on integers alone the usual one."""
    chosen = [dtype for dtype in operator.dtypes if dtype in ("float32", "bfloat16")]
    return chosen or (["int64"] if "int64" in operator.dtypes else [operator.dtypes[0]])


def _input_records(operator: Operator, cases: Cases) -> list[dict[str, object]]:
    kinds = {**dict(operator.sweep.values), **dict(cases.values)}
    return [
        {
            "name": tensor.name,
            "optional": tensor.optional,
            "list": tensor.is_list,
            "like": tensor.like,
            "dtypes": list(operator.dtypes_of(tensor)),
            "values": kinds.get(tensor.name, "normal"),
        }
        for tensor in operator.inputs
    ]


def _attribute_sets(operator: Operator, cases: Cases) -> list[dict[str, object]]:
    """The defaults, or each given set with the defaults of the others. A function that takes the
    attribute as None by default gets it from the sweep's oracle as None too.
    """
    defaults = {item.name: item.default for item in operator.attributes if item.has_default}
    return [{**defaults, **one} for one in cases.attributes or operator.sweep.attributes or ({},)]


def _given_cases(cases: Cases) -> list[dict[str, object]]:
    return [{"name": name, "shapes": shapes} for name, shapes in cases.shapes]


def _dtype_rule(tensor: Tensor) -> str:
    """`like X`, `of X`, `sum of X`, or a name."""
    if tensor.dtype_of is not None:
        return f"of {tensor.dtype_of}"
    if tensor.sum_of is not None:
        return f"sum of {tensor.sum_of}"
    return f"like {tensor.like}" if tensor.like is not None else tensor.dtypes[0]


def _tolerance(bound: Tolerance) -> dict[str, float]:
    if bound.ulp is not None:
        return {"ulp": bound.ulp}
    return {"relative": bound.relative, "absolute": bound.absolute}


def _shape_cases(operator: Operator) -> Iterable[dict[str, object]]:
    first = operator.inputs[0]
    greatest = first.greatest_rank or 3
    for name, sizes in _SIZES.items():
        base = sizes[-max(min(3, greatest), first.least_rank) :]
        yield {"name": name, "shapes": _shapes(operator, base, _FREE[name])}
    if first.least_rank == 0:
        yield {"name": "scalar", "shapes": _shapes(operator, (), 1)}
    if first.least_rank <= 1:
        yield {"name": "vector", "shapes": _shapes(operator, (33,), 5)}
    free = [tensor.name for tensor in operator.inputs if tensor.shape is None]
    for name in free if len(free) > 1 else ():
        shapes = _shapes(operator, (3, 5, 37), 7)
        yield {"name": f"broadcast_{name}_row", "shapes": {**shapes, name: [37]}}
        yield {"name": f"broadcast_{name}_column", "shapes": {**shapes, name: [5, 1]}}
        yield {"name": f"broadcast_{name}_scalar", "shapes": {**shapes, name: []}}


def _shapes(operator: Operator, base: tuple[int, ...], free: int) -> dict[str, list[int]]:
    """A shape for every input: `base` for free ones, the rule's for the others."""
    shapes: dict[str, tuple[int, ...]] = {}
    for tensor in operator.inputs:
        shapes[tensor.name] = _shape(tensor, base, shapes, free)
    return {name: list(shape) for name, shape in shapes.items()}


def _shape(
    tensor: Tensor, base: tuple[int, ...], known: dict[str, tuple[int, ...]], free: int
) -> tuple[int, ...]:
    if tensor.shape is None:
        return base
    if tensor.shape.function is not None or tensor.shape.attributes:
        raise ValueError(f"{tensor.shape.text}: give the shapes of the sweep and the benchmark")
    return evaluate_shape(tensor.shape, known, free)
