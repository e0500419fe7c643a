"""Products of one value with weights: those that one operator call computes together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from infini.linnet.program import FromJoined, FromPath, Launch, Viewed
from infini.linnet.table import OPERATOR_DTYPES
from linnet.backends.linears import LINEAR
from linnet.graph import Call, Graph

#: Linnet op -> the operator that computes it, and the parameters of both that make up a weight;
#: a call with any other argument is left to others. Each parameter has a row for each output along
#: its first axis, so weights lie side by side.
OPERATORS = {
    LINEAR: ("linear", ("weight",)),
    "std.quant::linear_int8_rows": ("linear_int8", ("weight", "scale")),
    "std.quant::linear_int4_groups": ("linear_int4", ("weight", "scale", "zero")),
}


@dataclass(frozen=True)
class Product:
    """The call of an op in `OPERATORS`: `x` is what it multiplies, `paths` are its parameters'."""

    call: Call
    x: int
    paths: tuple[str, ...]

    @property
    def operator(self) -> str:
        """The operator that computes it."""
        return OPERATORS[self.call.callee][0]

    @property
    def result(self) -> int:
        """The value that it makes."""
        return self.call.results[0]

    @property
    def steps(self) -> range:
        """Its steps."""
        return range(self.call.start, self.call.stop)


def products_of(graph: Graph, operators: frozenset[str]) -> dict[int, Product]:
    """By the value that they make, the products with parameters alone which `operators` compute."""
    paths = {
        p.value: p.path
        for p in graph.parameters
        if p.kind == "param" and p.dtype in OPERATOR_DTYPES
    }
    found = {}
    for op, (operator, names) in OPERATORS.items():
        if operator not in operators:
            continue
        for call in graph.semantic_calls(op):
            given = {one.name: one.value for one in call.arguments if one.value is not None}
            x, own = given.get("x"), [paths.get(_number(call, name)) for name in names]
            if not isinstance(x, int) or set(given) != {"x", *names}:
                continue
            product = Product(call, x, tuple(path for path in own if path is not None))
            if len(product.paths) == len(names):
                found[product.result] = product
    return found


def are_siblings(products: Sequence[Product]) -> bool:
    """Whether one call computes them: one operator, one input, and each weight once."""
    kinds = {(product.operator, product.x) for product in products}
    weights = {product.paths for product in products}
    return len(kinds) == 1 and len(weights) == len(products) > 0


def joined_launch(products: Sequence[Product], x: Viewed, out: Viewed) -> Launch:
    """The call that computes siblings, with their outputs one after another along the last axis."""
    operator, names = OPERATORS[products[0].call.callee]
    tensors = {"input": x}
    for n, name in enumerate(names):
        paths = tuple(product.paths[n] for product in products)
        tensors[name] = Viewed(FromPath(paths[0]) if len(paths) == 1 else FromJoined(paths))
    return Launch(operator, tensors, outputs={"out": out})


def _number(call: Call, name: str) -> int:
    value = call.argument(name)
    return value if isinstance(value, int) else -1
