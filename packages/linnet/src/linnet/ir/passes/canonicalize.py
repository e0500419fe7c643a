"""One form for what can be written in several: what is known when compiling is decided."""

from __future__ import annotations

from linnet.check.types import INTEGERS, EnumType, Scalar, integer_range
from linnet.ir.model import IRFunction, Operation, Region
from linnet.ir.passes.rebuild import Number, Rebuilder

COMMUTATIVE = ("add", "mul", "min", "max", "and", "or", "xor")
SWAPPED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
# Kinds whose result is the operand where both have one type.
KEEPING = ("reshape", "broadcast", "cast", "adopt")


def canonicalize(fn: IRFunction) -> IRFunction:
    """Decides known branches, opens structures that were just built, folds integers and bools,
    removes operations that change nothing, puts literals last.
    """
    return _Canonicalizer(fn).function()


class _Canonicalizer(Rebuilder):
    def visit(self, op: Operation) -> tuple[int, ...] | None:
        if op.kind in ("scan", "static_for", "while"):
            return self.loop(op)
        found = self.value(op)
        if found is not None:
            return found
        if op.kind in COMMUTATIVE or op.kind == "compare":
            return self.order(op)
        return None

    def value(self, op: Operation) -> tuple[int, ...] | None:
        """What stands for the one result of an operation."""
        method = getattr(self, f"do_{op.kind}", None)
        if method is not None:
            found: tuple[int, ...] | None = method(op)
            if found is not None:
                return found
        if op.kind in KEEPING and self.types[op.operands[0]] == self.types[op.results[0]]:
            return op.operands
        return self.fold(op)

    # Structure

    def do_tuple_get(self, op: Operation) -> tuple[int, ...] | None:
        """A part of a tuple just built."""
        made = self.maker(op.operands[0], "tuple")
        return None if made is None else (made.operands[op.attributes["index"]],)

    def do_struct_get(self, op: Operation) -> tuple[int, ...] | None:
        """A field of a struct just built."""
        made = self.maker(op.operands[0], "struct")
        if made is None:
            return None
        return (made.operands[made.attributes["fields"].index(op.attributes["field"])],)

    def do_reshape(self, op: Operation) -> tuple[int, ...] | None:
        """A reshape of a reshape is one."""
        made = self.maker(op.operands[0], "reshape")
        if made is None:
            return None
        return (self.emit("reshape", made.operands, self.types[op.results[0]], op.span),)

    def do_permute(self, op: Operation) -> tuple[int, ...] | None:
        """A permutation that moves nothing, or of a permutation."""
        axes = op.attributes["axes"]
        if axes == tuple(range(len(axes))):
            return op.operands
        made = self.maker(op.operands[0], "permute")
        if made is None:
            return None
        inner = made.attributes["axes"]
        both = tuple(inner[axis] for axis in axes)
        t = self.types[op.results[0]]
        return (self.emit("permute", made.operands, t, op.span, axes=both),)

    def do_slice(self, op: Operation) -> tuple[int, ...] | None:
        """A slice that takes all."""
        if all(part[0] == "whole" for part in op.attributes["parts"]):
            return op.operands
        return None

    def do_concat(self, op: Operation) -> tuple[int, ...] | None:
        """One tensor alone."""
        return op.operands if len(op.operands) == 1 else None

    # Branches

    def do_if(self, op: Operation) -> tuple[int, ...] | None:
        """The arm that is known to be taken."""
        known = self.literal(op.operands[0])
        return None if known is None else self.splice(op.regions[0 if known else 1], ())

    def do_match(self, op: Operation) -> tuple[int, ...] | None:
        """The arm of a subject that was just made."""
        (subject,) = op.operands
        made = self.maker(subject, "some", "none", "enum")
        if made is None:
            return None
        wanted = (
            made.attributes["index"] if isinstance(self.types[subject], EnumType) else made.kind
        )
        cases = op.attributes["cases"]
        taken: Region = op.regions[next(i for i, c in enumerate(cases) if c in (wanted, "_"))]
        return self.splice(taken, made.operands if taken.params else ())

    def do_select(self, op: Operation) -> tuple[int, ...] | None:
        """A known choice, or one between a value and itself, that nothing broadcasts."""
        known = self.literal(op.operands[0])
        _, yes, no = op.operands
        if known is None and yes != no:
            return None
        found = no if known is False else yes
        return (found,) if self.types[found] == self.types[op.results[0]] else None

    def loop(self, op: Operation) -> tuple[int, ...] | None:
        """Carries no value that the loop leaves as it is."""
        body = op.regions[-1]
        first = 0 if op.kind == "while" else 1
        array = 1 if op.kind == "static_for" and op.attributes["start"] is None else 0
        operands = op.operands[array:]
        same = [a == b for a, b in zip(body.params[first:], body.results, strict=False)]
        if not any(same):
            return None
        for region in op.regions:
            for param, operand, fixed in zip(region.params[first:], operands, same, strict=True):
                if fixed:
                    self.stand_for(param, operand)
        heads = tuple(self.without(region, first, same, []) for region in op.regions[:-1])
        regions = (*heads, self.without(body, first, same, same))
        left = op.operands[:array] + unmarked(operands, same)
        results = unmarked(op.results, same)
        self.keep(Operation(op.kind, left, results, op.attributes, regions, op.span))
        carried = [o if s else r for o, r, s in zip(operands, op.results, same, strict=False)]
        return (*carried, *op.results[len(same) :])

    def without(
        self, region: Region, first: int, params: list[bool], results: list[bool]
    ) -> Region:
        """A region of a loop, rebuilt without the parameters and results that are marked."""
        body = self.region(region)
        return Region(
            region.params[:first] + unmarked(region.params[first:], params),
            body.operations,
            unmarked(body.results, results),
        )

    # Numbers

    def order(self, op: Operation) -> tuple[int, ...] | None:
        """A literal operand stands last."""
        left, right = op.operands
        if self.literal(left) is None or self.literal(right) is not None:
            return None
        attributes = dict(op.attributes)
        if op.kind == "compare":
            attributes["comparison"] = SWAPPED[attributes["comparison"]]
        t = self.types[op.results[0]]
        return (self.emit(op.kind, (right, left), t, op.span, **attributes),)

    def do_not(self, op: Operation) -> tuple[int, ...] | None:
        """Twice `!` is nothing."""
        made = self.maker(op.operands[0], "not")
        return None if made is None else made.operands

    def do_neg(self, op: Operation) -> tuple[int, ...] | None:
        """Twice `-` is nothing."""
        made = self.maker(op.operands[0], "neg")
        return None if made is None else made.operands

    def fold(self, op: Operation) -> tuple[int, ...] | None:
        """Arithmetic and comparisons of known integers and bools of one known dtype."""
        if len(op.results) != 1 or not op.operands:
            return None
        t = self.types[op.results[0]]
        operand = self.types[op.operands[0]]
        values = [self.literal(n) for n in op.operands]
        if not isinstance(t, Scalar) or not isinstance(operand, Scalar):
            return None
        if operand.dtype not in (*INTEGERS, "bool") or not isinstance(operand.dtype, str):
            return None
        known = [value for value in values if value is not None]
        if len(known) != len(values):
            return None
        found = folded(op, known, operand.dtype)
        if found is None:
            return None
        return (self.emit("constant", (), t, op.span, value=found),)


def unmarked(numbers: tuple[int, ...], marks: list[bool]) -> tuple[int, ...]:
    """The numbers without those that are marked; there may be fewer marks."""
    return tuple(n for k, n in enumerate(numbers) if k >= len(marks) or not marks[k])


def folded(op: Operation, values: list[Number], dtype: str) -> Number | None:
    """The result of an operation on known numbers of an integer dtype or bool, or None."""
    if op.kind == "not":
        return not values[0]
    if op.kind == "neg":
        return wrapped(-values[0], dtype)
    if len(values) != 2:
        return None
    a, b = values
    if op.kind == "compare":
        answers = {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}
        return answers[op.attributes["comparison"]]
    if dtype == "bool":
        bools = {"and": a and b, "or": a or b, "xor": a != b}
        return bools.get(op.kind)
    if op.kind in ("div", "rem"):
        return None if b == 0 else wrapped(divided(op.kind, int(a), int(b)), dtype)
    a, b = int(a), int(b)
    numbers = {
        **{"add": a + b, "sub": a - b, "mul": a * b, "min": min(a, b), "max": max(a, b)},
        **{"and": a & b, "or": a | b, "xor": a ^ b},
    }
    return wrapped(numbers[op.kind], dtype) if op.kind in numbers else None


def divided(kind: str, a: int, b: int) -> int:
    """Division that truncates toward zero, and its remainder."""
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return quotient if kind == "div" else a - quotient * b


def wrapped(value: Number, dtype: str) -> int:
    """An integer in the range of its dtype."""
    low, high = integer_range(dtype)
    return (int(value) - low) % (high - low + 1) + low
