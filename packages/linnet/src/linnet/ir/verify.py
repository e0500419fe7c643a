"""Checks that IR is well formed: values made once and before they are read, known kinds."""

from __future__ import annotations

from linnet.ir.kinds import KINDS
from linnet.ir.model import IRFunction, IRModule, Operation, Region

# Kinds with nested regions, and how many; None for any number.
REGIONS = {
    "comprehension": 1,
    "reduce": 1,
    "if": 2,
    "match": None,
    "static_for": 1,
    "while": 2,
    "scan": 1,
}
# Kinds that may have other than one result.
MANY_RESULTS = ("static_for", "while", "scan", "call", "state_write")


def verify_ir(module: IRModule) -> None:
    """Raises ValueError naming the first function and operation that is malformed."""
    for function in module.functions.values():
        _Verifier(function).run()


class _Verifier:
    def __init__(self, function: IRFunction) -> None:
        self.function = function
        self.made: set[int] = set()
        self.hidden: set[int] = set()

    def fail(self, message: str) -> None:
        raise ValueError(f"IR of {self.function.identity}: {message}")

    def make(self, number: int, what: str) -> None:
        if not 0 <= number < len(self.function.types):
            self.fail(f"{what} makes the value {number}, which has no type")
        if number in self.made or number in self.hidden:
            self.fail(f"{what} makes the value {number} again")
        self.made.add(number)

    def run(self) -> None:
        if self.function.instance is not None:
            self.make(self.function.instance, "the instance")
        for param in self.function.params:
            self.make(param.value, f"parameter {param.name}")
        for param in self.function.params:
            if param.default is not None:
                self.region(param.default, f"default of {param.name}")
        self.region(self.function.body, "body")
        if self.function.gradient is not None:
            gradient = self.function.gradient
            extra = gradient.params[len(self.function.params) :]
            inner = Region(extra, gradient.operations, gradient.results)
            self.region(inner, "gradient")

    def region(self, region: Region, what: str) -> None:
        outer = set(self.made)
        for number in region.params:
            self.make(number, what)
        for operation in region.operations:
            self.operation(operation)
        for number in region.results:
            if number not in self.made:
                self.fail(f"{what} gives the value {number}, which is not made")
        inner = self.made - outer
        self.made = outer
        # Numbers are used once in a function, so what a region made cannot be made again.
        self.hidden |= inner

    def operation(self, operation: Operation) -> None:
        kind = operation.kind
        if kind not in KINDS:
            self.fail(f"there is no operation {kind!r}")
        missing = [name for name in KINDS[kind] if name not in operation.attributes]
        if missing:
            self.fail(f"{kind} lacks the attribute {missing[0]!r}")
        wanted = REGIONS.get(kind, 0)
        if wanted is not None and len(operation.regions) != wanted:
            self.fail(f"{kind} has {len(operation.regions)} regions")
        if kind not in MANY_RESULTS and len(operation.results) != 1:
            self.fail(f"{kind} has {len(operation.results)} results")
        for number in operation.operands:
            if number not in self.made:
                self.fail(f"{kind} reads the value {number} before it is made")
        for region in operation.regions:
            self.region(region, kind)
        for number in operation.results:
            self.make(number, kind)
