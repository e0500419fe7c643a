"""Shape algebra: sizes as polynomials, facts about them, proofs, counterexamples."""

from linnet.shapes.facts import Constraint, Facts
from linnet.shapes.poly import (
    INVALID,
    ONE,
    ZERO,
    Atom,
    Pack,
    Poly,
    floordiv,
    maximum,
    minimum,
    mod,
    number,
    of,
    symbol,
)
from linnet.shapes.search import counterexample

__all__ = [
    "INVALID",
    "ONE",
    "ZERO",
    "Atom",
    "Constraint",
    "Facts",
    "Pack",
    "Poly",
    "counterexample",
    "floordiv",
    "maximum",
    "minimum",
    "mod",
    "number",
    "of",
    "symbol",
]
