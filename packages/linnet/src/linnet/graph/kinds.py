"""The step kinds: operands, attributes, and what each computes.

`docs/linnet/graph-format.md` carries this table; a test compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """`operands` is the number of operands, or None for any number; `attributes` must all be
    present.
    """

    name: str
    operands: int | None
    attributes: tuple[str, ...]
    meaning: str
    bodies: int = 0


UNARY = ("neg", "exp", "log", "sqrt", "rsqrt", "sin", "cos", "tanh", "abs")
BINARY = ("add", "sub", "mul", "div", "rem", "min", "max")
BITWISE = ("and", "or", "xor")
SHIFTS = ("shl", "shr")
#: Kinds whose result is its operand's memory with other sizes and strides.
VIEWS = frozenset(("permute", "slice", "broadcast"))
#: Kinds whose result has no element but the operand's.
SAME_ELEMENTS = VIEWS | {"reshape", "fill"}
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
REDUCTIONS = ("sum", "prod", "max", "min", "any", "all")

_TABLE = (
    Kind("add", 2, (), "a + b; integers wrap"),
    Kind("sub", 2, (), "a - b; integers wrap"),
    Kind("mul", 2, (), "a * b; integers wrap"),
    Kind("div", 2, (), "a / b; integers truncate toward zero"),
    Kind("rem", 2, (), "remainder of `div`: the sign of a, for floats too"),
    Kind("min", 2, (), "the smaller; NaN if either is NaN"),
    Kind("max", 2, (), "the larger; NaN if either is NaN"),
    Kind("and", 2, (), "bitwise and of integers, logical and of bools"),
    Kind("or", 2, (), "bitwise or of integers, logical or of bools"),
    Kind("xor", 2, (), "bitwise exclusive or of integers, `!=` of bools"),
    Kind("shl", 2, (), "shift left; integers only"),
    Kind("shr", 2, (), "shift right; keeps the sign of signed integers"),
    Kind("compare", 2, ("comparison",), "a bool: `eq ne lt le gt ge` of operands of one dtype"),
    Kind("not", 1, (), "logical not of bools"),
    Kind("neg", 1, (), "-a; integers wrap"),
    Kind("exp", 1, (), "e to the power a"),
    Kind("log", 1, (), "natural logarithm"),
    Kind("sqrt", 1, (), "square root"),
    Kind("rsqrt", 1, (), "1 / sqrt(a)"),
    Kind("sin", 1, (), "sine of a in radians"),
    Kind("cos", 1, (), "cosine of a in radians"),
    Kind("tanh", 1, (), "hyperbolic tangent"),
    Kind("abs", 1, (), "absolute value; the least signed integer stays"),
    Kind("cast", 1, (), "to the result's dtype: float to integer truncates, to bool is `!= 0`"),
    Kind("select", 3, (), "b where the bool a is true, else c; broadcasts like `add`"),
    Kind("reshape", 1, (), "the same elements in row-major order in the result's shape"),
    Kind("permute", 1, ("axes",), "result axis k is operand axis axes[k]"),
    Kind("broadcast", 1, (), "repeated to the result's shape, axes aligned on the right"),
    Kind("slice", 1, ("starts", "stops", "steps"), "per axis start, start+step, ... below stop"),
    Kind("concat", None, ("axis",), "the operands one after another along the axis"),
    Kind("fill", 1, (), "the scalar operand at every place of the result"),
    Kind("iota", 0, (), "0, 1, 2, ... along the only axis"),
    Kind("cumsum", 1, ("axis",), "running sums along the axis, in the operand's dtype"),
    Kind("element", None, ("axes",), "operand 0 at integer positions, see below"),
    Kind("reduce", 1, ("reduction", "axes"), "sum prod max min any all over the axes, dropped"),
    Kind("contract", 2, ("inputs", "output"), "sum of products over shared labels, see below"),
    Kind("state_write", 1, ("state",), "the operand becomes the state's content; no result"),
    Kind("if", 1, (), "bodies: then, else; runs the one that the scalar bool chooses", 2),
    Kind("while", None, (), "bodies: condition, step; operands are the carried values", 2),
    Kind("scan", None, ("start", "stop"), "body runs for start..stop; see below", 1),
)

KINDS = {kind.name: kind for kind in _TABLE}

ELEMENTWISE = frozenset(
    (*BINARY, *BITWISE, *SHIFTS, "compare", "not", *UNARY, "cast", "select"),
)
