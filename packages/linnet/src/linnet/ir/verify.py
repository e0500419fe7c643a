"""Checks that IR is well formed.

Values are made once and before they are read; kinds, attributes and regions are as
`linnet.ir.kinds` says; elementwise operations have one dtype; loops carry what their regions take
and give; indices are read inside what declares them.
"""

from __future__ import annotations

from linnet.check.types import BOOL, DType, Scalar, Tensor
from linnet.ir.kinds import ELEMENTWISE, KINDS
from linnet.ir.model import IRConstant, IRFunction, IRModule, Operation, Region

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
# Elementwise kinds whose operands and result may differ in dtype.
MIXED = ("cast", "compare", "select", "adopt")


def verify_ir(module: IRModule) -> None:
    """Raises ValueError naming the first function and operation that is malformed."""
    for function in module.functions.values():
        _Verifier(function).run()
    for constant in module.constants.values():
        _Verifier(constant).region(constant.body, "value")


class _Verifier:
    def __init__(self, owner: IRFunction | IRConstant) -> None:
        self.owner = owner
        self.types = owner.types
        self.made: set[int] = set()
        self.hidden: set[int] = set()
        self.indices: set[int] = set()

    def fail(self, message: str) -> None:
        raise ValueError(f"IR of {self.owner.definition.identity}: {message}")

    def make(self, number: int, what: str) -> None:
        if not 0 <= number < len(self.types):
            self.fail(f"{what} makes the value {number}, which has no type")
        if number in self.made or number in self.hidden:
            self.fail(f"{what} makes the value {number} again")
        self.made.add(number)

    def run(self) -> None:
        function = self.owner
        assert isinstance(function, IRFunction)
        if function.instance is not None:
            self.make(function.instance, "the instance")
        for param in function.params:
            self.make(param.value, f"parameter {param.name}")
        for param in function.params:
            if param.default is not None:
                self.region(param.default, f"default of {param.name}")
        self.region(function.body, "body")
        if function.gradient is not None:
            gradient = function.gradient
            extra = gradient.params[len(function.params) :]
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
        self.check_types(operation)
        declared = {axis.number for axis in operation.attributes.get("indices", ())}
        if kind == "element":
            read = {part[1] for part in operation.attributes["parts"] if part[0] == "index"}
            for number in read - self.indices:
                self.fail(f"{kind} reads the index {number} outside what declares it")
        self.indices |= declared
        for region in operation.regions:
            self.region(region, kind)
        self.indices -= declared
        for number in operation.results:
            self.make(number, kind)

    def check_types(self, operation: Operation) -> None:
        """Dtypes of elementwise operations, conditions, and what loops carry."""
        kind, operands = operation.kind, operation.operands
        if kind in ELEMENTWISE and kind not in MIXED:
            dtypes = {d for n in (*operands, *operation.results) if (d := self.dtype(n))}
            if len(dtypes) > 1:
                self.fail(f"{kind} has the dtypes {', '.join(sorted(map(str, dtypes)))}")
        if kind == "if" and self.types[operands[0]] != BOOL:
            self.fail(f"{kind} chooses by {self.types[operands[0]]}")
        if kind in ("static_for", "while", "scan"):
            self.check_loop(operation)
        for region in operation.regions if kind in ("if", "match") else ():
            if len(region.results) != 1:
                self.fail(f"an arm of {kind} has {len(region.results)} results")

    def check_loop(self, operation: Operation) -> None:
        """A loop's regions take and give what it carries."""
        kind, attributes = operation.kind, operation.attributes
        array = kind == "static_for" and attributes["start"] is None
        carried = len(operation.operands) - array
        first = 0 if kind == "while" else 1
        yields = attributes["yields"] if kind == "scan" else 0
        for region in operation.regions:
            if len(region.params) != carried + first:
                self.fail(f"a region of {kind} takes {len(region.params)} of {carried} values")
        if kind == "while" and len(operation.regions[0].results) != 1:
            self.fail("the condition of while is one value")
        for count in (len(operation.regions[-1].results), len(operation.results)):
            if count != carried + yields:
                self.fail(f"{kind} carries {carried} values and gives {count}")

    def dtype(self, number: int) -> DType | None:
        """The dtype of a scalar or tensor; None for literals."""
        t = self.types[number]
        return t.dtype if isinstance(t, (Scalar, Tensor)) else None
