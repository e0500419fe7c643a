"""Whether one type may stand where another is expected."""

from __future__ import annotations

from linnet.check.types import (
    FLOAT_MAX,
    ArrayType,
    BlockType,
    CompileInt,
    Dims,
    DType,
    ErrorType,
    FloatLiteralType,
    GenericValue,
    NoneType,
    OptionalType,
    Scalar,
    StructType,
    Tensor,
    TupleType,
    Type,
    dtype_class,
    integer_range,
    is_float,
    is_numeric,
)
from linnet.shapes import Facts, Pack, Poly

Problem = tuple[str, str]


def same_dims(left: Dims, right: Dims, facts: Facts) -> bool:
    """Whether two shapes are provably equal."""
    if len(left) != len(right):
        return False
    for a, b in zip(left, right, strict=True):
        if isinstance(a, Pack) or isinstance(b, Pack):
            if a is not b:
                return False
        elif not facts.equal(a, b):
            return False
    return True


def literal_problem(t: Type, dtype: DType) -> Problem | None:
    """Why a literal cannot adopt a dtype, as (code, reason)."""
    if isinstance(t, CompileInt):
        if not is_numeric(dtype):
            return "E2101", f"an integer does not become {dtype}"
        value = t.poly.constant if t.literal is None else t.literal
        if value is None:
            return ("E2105", "the number leaves the 64-bit range") if t.poly.invalid else None
        for name in dtype_class(dtype) if isinstance(dtype, str) else ():
            low, high = _range(name)
            if not low <= value <= high:
                return (
                    "E2105",
                    f"{_short(value)} is outside {name}: {_short(low)} to {_short(high)}",
                )
        return None
    assert isinstance(t, FloatLiteralType)
    if not is_float(dtype):
        return "E2103", f"a float literal does not become {dtype}"
    limit = FLOAT_MAX.get(dtype) if isinstance(dtype, str) else None
    if t.value is not None and (
        t.value in (float("inf"), float("-inf")) or (limit and abs(t.value) > limit)
    ):
        return "E2105", f"the number is too large for {dtype}"
    return None


def _range(dtype: str) -> tuple[float, float]:
    if dtype[0] in "iu":
        return integer_range(dtype)
    limit = FLOAT_MAX.get(dtype, 1.7976931348623157e308)
    return -limit, limit


def _short(value: float) -> str:
    text = str(value)
    return text if len(text) <= 24 else f"{text[:12]}… ({len(text)} digits)"


def problem(actual: Type, expected: Type, facts: Facts) -> Problem | None:
    """Why `actual` cannot stand where `expected` is asked for, as (code, reason), or None."""
    if isinstance(actual, ErrorType) or isinstance(expected, ErrorType) or actual == expected:
        return None
    if isinstance(actual, (CompileInt, FloatLiteralType)) and isinstance(expected, Scalar):
        return literal_problem(actual, expected.dtype)
    if isinstance(actual, CompileInt) and isinstance(expected, CompileInt):
        if facts.equal(actual.poly, expected.poly):
            return None
        return "E2101", "the sizes differ"
    if isinstance(actual, Scalar) and isinstance(expected, Scalar):
        return "E2103", f"{actual.dtype} is not {expected.dtype}"
    if isinstance(actual, Tensor) and isinstance(expected, Tensor):
        if actual.dtype != expected.dtype:
            return "E2103", f"{actual.dtype} is not {expected.dtype}"
        if not same_dims(actual.dims, expected.dims, facts):
            return "E2202", "the shapes are not provably equal"
        return None
    if isinstance(expected, OptionalType):
        if isinstance(actual, NoneType):
            return None
        if isinstance(actual, OptionalType):
            return problem(actual.inner, expected.inner, facts)
        return "E2101", "an optional takes `some(...)` or `none`"
    if isinstance(actual, TupleType) and isinstance(expected, TupleType):
        if len(actual.items) == len(expected.items):
            pairs = zip(actual.items, expected.items, strict=True)
            return next((p for a, e in pairs if (p := problem(a, e, facts))), None)
    elif (isinstance(actual, StructType) and isinstance(expected, StructType)) or (
        isinstance(actual, BlockType) and isinstance(expected, BlockType)
    ):
        if actual.definition is expected.definition:
            return _arguments_problem(actual.arguments, expected.arguments, facts)
    elif isinstance(actual, ArrayType) and isinstance(expected, ArrayType):
        return problem(actual.element, expected.element, facts)
    return "E2101", "the types differ"


def _arguments_problem(
    actual: tuple[GenericValue, ...], expected: tuple[GenericValue, ...], facts: Facts
) -> Problem | None:
    for a, e in zip(actual, expected, strict=True):
        if isinstance(a, Poly) and isinstance(e, Poly):
            if not facts.equal(a, e):
                return "E2202", f"the size {a} is not provably {e}"
        elif isinstance(a, tuple) and isinstance(e, tuple):
            if not same_dims(a, e, facts):
                return "E2202", "the shapes are not provably equal"
        elif a != e:
            return "E2103", f"{a} is not {e}"
    return None
