"""Rewriting rules, each with how far its result may differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from math import frexp, isfinite

from linnet.check.types import FLOATS, DType, Scalar, Tensor, Type, is_float, is_integer
from linnet.ir.model import Operation
from linnet.ir.passes.rebuild import Rebuilder


class Legality(IntEnum):
    """How far a rewritten program may differ; each level allows what is before it."""

    EXACT = 0
    """The same bits for every input; only the payload of a NaN may differ."""
    IEEE = 1
    """The same numbers by IEEE 754; the sign of a zero may differ."""
    EQUIVALENT = 2
    """The same in real arithmetic; roundings may differ."""
    APPROXIMATE = 3
    """Roundings that the program asks for may be left out."""


@dataclass(frozen=True)
class Rule:
    """A rule for one kind of operation; `apply` gives the value to take instead, or None."""

    name: str
    kind: str
    legality: Legality
    apply: Callable[[Rebuilder, Operation], int | None]


RULES: list[Rule] = []
Apply = Callable[[Rebuilder, Operation], "int | None"]


def rule(kind: str, legality: Legality) -> Callable[[Apply], Apply]:
    """Registers a rule under the name of its function."""

    def register(apply: Apply) -> Apply:
        RULES.append(Rule(apply.__name__, kind, legality, apply))
        return apply

    return register


# Smallest and largest exponent, and digits of the mantissa, of each float dtype.
EXPONENTS = {"f16": (-14, 15), "bf16": (-126, 127), "f32": (-126, 127), "f64": (-1022, 1023)}
MANTISSA = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}


def dtype_of(t: Type) -> DType | None:
    """The dtype of a scalar or tensor."""
    return t.dtype if isinstance(t, (Scalar, Tensor)) else None


def float_result(at: Rebuilder, op: Operation) -> bool:
    """Whether an operation certainly gives floats."""
    dtype = dtype_of(at.types[op.results[0]])
    return dtype is not None and is_float(dtype)


def first(at: Rebuilder, op: Operation, neutral: float) -> int | None:
    """The first operand, if the second is `neutral`."""
    left, right = op.operands
    known = at.literal(right)
    if known is None or isinstance(known, bool) or known != neutral:
        return None
    if str(known).startswith("-") and known == 0:
        return None
    return left if at.types[left] == at.types[op.results[0]] else None


# The same bits


@rule("mul", Legality.EXACT)
def product_with_one(at: Rebuilder, op: Operation) -> int | None:
    """`x * 1` is `x`."""
    return first(at, op, 1)


@rule("div", Legality.EXACT)
def quotient_by_one(at: Rebuilder, op: Operation) -> int | None:
    """`x / 1` is `x`."""
    return first(at, op, 1)


@rule("sub", Legality.EXACT)
def difference_with_zero(at: Rebuilder, op: Operation) -> int | None:
    """`x - 0` is `x`."""
    return first(at, op, 0)


@rule("add", Legality.EXACT)
def integer_sum_with_zero(at: Rebuilder, op: Operation) -> int | None:
    """`n + 0` is `n` for integers."""
    dtype = dtype_of(at.types[op.results[0]])
    return first(at, op, 0) if dtype is not None and is_integer(dtype) else None


@rule("add", Legality.EXACT)
def sum_with_negative(at: Rebuilder, op: Operation) -> int | None:
    """`x + -y` is `x - y`."""
    made = at.maker(op.operands[1], "neg")
    if made is None:
        return None
    operands = (op.operands[0], *made.operands)
    return at.emit("sub", operands, at.types[op.results[0]], op.span)


@rule("sub", Legality.EXACT)
def difference_with_negative(at: Rebuilder, op: Operation) -> int | None:
    """`x - -y` is `x + y`."""
    made = at.maker(op.operands[1], "neg")
    if made is None:
        return None
    operands = (op.operands[0], *made.operands)
    return at.emit("add", operands, at.types[op.results[0]], op.span)


@rule("div", Legality.EXACT)
def quotient_by_power_of_two(at: Rebuilder, op: Operation) -> int | None:
    """`x / 8` is `x * 0.125`: both round the same real number once."""
    dtype = dtype_of(at.types[op.results[0]])
    divisor = at.literal(op.operands[1])
    if dtype not in FLOATS or not divisor:
        return None
    fraction, exponent = frexp(divisor)
    low, high = EXPONENTS[dtype]
    if abs(fraction) != 0.5 or not low <= exponent - 1 <= high or not low <= 1 - exponent <= high:
        return None
    return times(at, op, 1 / divisor)


def times(at: Rebuilder, op: Operation, factor: float) -> int:
    """The first operand times a number."""
    dtype = dtype_of(at.types[op.results[0]])
    assert dtype is not None
    number = at.emit("constant", (), Scalar(dtype), op.span, value=factor)
    return at.emit("mul", (op.operands[0], number), at.types[op.results[0]], op.span)


@rule("cast", Legality.EXACT)
def cast_through_wider(at: Rebuilder, op: Operation) -> int | None:
    """A cast on the way through a wider float is no rounding."""
    made = at.maker(op.operands[0], "cast")
    if made is None:
        return None
    source = dtype_of(at.types[made.operands[0]])
    between, target = dtype_of(at.types[op.operands[0]]), dtype_of(at.types[op.results[0]])
    if not (isinstance(source, str) and isinstance(between, str) and target in FLOATS):
        return None
    if not wider(source, between):
        return None
    if source == target:
        return made.operands[0]
    return at.emit("cast", made.operands, at.types[op.results[0]], op.span)


def wider(narrow: str, wide: str) -> bool:
    """Whether every number of one float dtype is one of the other."""
    if narrow not in FLOATS or wide not in FLOATS:
        return False
    low, high = EXPONENTS[narrow]
    # The smallest numbers of a dtype lie its mantissa below its smallest exponent.
    smallest = low - MANTISSA[narrow] + 1
    fits = EXPONENTS[wide][0] - MANTISSA[wide] + 1 <= smallest and EXPONENTS[wide][1] >= high
    return fits and MANTISSA[wide] >= MANTISSA[narrow]


@rule("select", Legality.EXACT)
def choice_by_negation(at: Rebuilder, op: Operation) -> int | None:
    """`select(!c, a, b)` is `select(c, b, a)`."""
    made = at.maker(op.operands[0], "not")
    if made is None:
        return None
    _, yes, no = op.operands
    return at.emit("select", (*made.operands, no, yes), at.types[op.results[0]], op.span)


@rule("not", Legality.EXACT)
def negated_comparison(at: Rebuilder, op: Operation) -> int | None:
    """`!(a < b)` is `a >= b` where neither can be NaN; `==` and `!=` are opposites anyway."""
    made = at.maker(op.operands[0], "compare")
    if made is None:
        return None
    comparison = made.attributes["comparison"]
    dtype = dtype_of(at.types[made.operands[0]])
    if comparison not in ("eq", "ne") and (dtype is None or not is_integer(dtype)):
        return None
    opposite = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}
    t = at.types[op.results[0]]
    return at.emit("compare", made.operands, t, op.span, comparison=opposite[comparison])


# The same numbers


@rule("add", Legality.IEEE)
def float_sum_with_zero(at: Rebuilder, op: Operation) -> int | None:
    """`x + 0.0` is `x`, but for `x = -0.0`."""
    return first(at, op, 0)


@rule("sub", Legality.IEEE)
def zero_minus(at: Rebuilder, op: Operation) -> int | None:
    """`0.0 - x` is `-x`, but for `x = 0.0`."""
    left, right = op.operands
    if not float_result(at, op) or at.literal(left) != 0:
        return None
    if at.types[right] != at.types[op.results[0]]:
        return None
    return at.emit("neg", (right,), at.types[op.results[0]], op.span)


# The same in real arithmetic


@rule("div", Legality.EQUIVALENT)
def quotient_by_number(at: Rebuilder, op: Operation) -> int | None:
    """`x / 3.0` is `x * (1.0 / 3.0)`."""
    divisor = at.literal(op.operands[1])
    if not float_result(at, op) or not divisor or not isfinite(1 / divisor):
        return None
    dtype = dtype_of(at.types[op.results[0]])
    # Beyond these the reciprocal is not a normal number of every float dtype.
    if dtype not in FLOATS or not 2.0**-14 <= abs(1 / divisor) <= 2.0**15:
        return None
    return times(at, op, 1 / divisor)


@rule("div", Legality.EQUIVALENT)
def reciprocal_of_root(at: Rebuilder, op: Operation) -> int | None:
    """`x / sqrt(y)` is `x * rsqrt(y)`."""
    made = at.maker(op.operands[1], "sqrt")
    if made is None:
        return None
    root = at.emit("rsqrt", made.operands, at.types[op.operands[1]], op.span)
    if at.literal(op.operands[0]) == 1 and at.types[root] == at.types[op.results[0]]:
        return root
    return at.emit("mul", (op.operands[0], root), at.types[op.results[0]], op.span)


@rule("mul", Legality.EQUIVALENT)
def product_of_exponentials(at: Rebuilder, op: Operation) -> int | None:
    """`exp(a) * exp(b)` is `exp(a + b)`."""
    left, right = (at.maker(n, "exp") for n in op.operands)
    if left is None or right is None:
        return None
    t = at.types[op.results[0]]
    exponent = at.emit("add", (*left.operands, *right.operands), t, op.span)
    return at.emit("exp", (exponent,), t, op.span)


@rule("mul", Legality.EQUIVALENT)
def numbers_of_products(at: Rebuilder, op: Operation) -> int | None:
    """`(x * 2.0) * 3.0` is `x * 6.0`."""
    return joined(at, op, lambda a, b: a * b)


@rule("add", Legality.EQUIVALENT)
def numbers_of_sums(at: Rebuilder, op: Operation) -> int | None:
    """`(x + 2.0) + 3.0` is `x + 5.0`."""
    return joined(at, op, lambda a, b: a + b)


def joined(at: Rebuilder, op: Operation, both: Callable[[float, float], float]) -> int | None:
    """Two operations of one kind with numbers as one."""
    made = at.maker(op.operands[0], op.kind)
    outer = at.literal(op.operands[1])
    inner = at.literal(made.operands[1]) if made is not None else None
    if made is None or outer is None or inner is None or not float_result(at, op):
        return None
    found = both(inner, outer)
    # A product of numbers may overflow or vanish where the steps do not.
    if not isfinite(found) or not (found == 0 or 2.0**-14 <= abs(found) <= 2.0**15):
        return None
    t, dtype = at.types[op.results[0]], dtype_of(at.types[op.results[0]])
    assert dtype is not None
    number = at.emit("constant", (), Scalar(dtype), op.span, value=found)
    return at.emit(op.kind, (made.operands[0], number), t, op.span)


# With fewer roundings


@rule("cast", Legality.APPROXIMATE)
def cast_through_narrower(at: Rebuilder, op: Operation) -> int | None:
    """`cast<f32>(cast<bf16>(x))` of an f32 is `x`."""
    made = at.maker(op.operands[0], "cast")
    if made is None:
        return None
    source, between = at.types[made.operands[0]], dtype_of(at.types[op.operands[0]])
    if source != at.types[op.results[0]] or dtype_of(source) not in FLOATS:
        return None
    return made.operands[0] if between in FLOATS else None
