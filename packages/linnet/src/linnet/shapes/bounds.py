"""Interval arithmetic over polynomials."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from linnet.shapes.poly import Atom, Poly


class Interval(NamedTuple):
    """Inclusive bounds; None means unbounded."""

    low: int | None
    high: int | None


ANYTHING = Interval(None, None)
SIZE = Interval(0, None)


Sign = Callable[[Poly], bool]


def bounds(p: Poly, known: Mapping[Atom, Interval], sign: Sign | None = None) -> Interval:
    """Bounds of p when every symbol is a size (not negative) and within `known`.

    `sign` proves that a dividend is not negative where intervals alone do not.
    """
    if p.invalid:
        return ANYTHING
    low: int | None = 0
    high: int | None = 0
    for monomial, coefficient in p.terms.items():
        term = Interval(coefficient, coefficient)
        for atom in monomial:
            term = _product(term, _atom(atom, known, sign))
        low = None if low is None or term.low is None else low + term.low
        high = None if high is None or term.high is None else high + term.high
    return Interval(low, high)


def _product(a: Interval, b: Interval) -> Interval:
    if (b.low is None or b.low < 0) and a.low is not None and a.low >= 0:
        a, b = Interval(*b), Interval(*a)
    if b.low is None or b.low < 0:
        if None in (*a, *b):
            return ANYTHING
        corners = [x * y for x in a for y in b if x is not None and y is not None]
        return Interval(min(corners), max(corners))
    # b is not negative: the extremes of a decide.
    low = None
    if a.low is not None:
        low = a.low * b.low if a.low >= 0 else (None if b.high is None else a.low * b.high)
    high = None
    if a.high is not None:
        high = a.high * b.low if a.high <= 0 else (None if b.high is None else a.high * b.high)
    if a == (0, 0):
        return Interval(0, 0)
    return Interval(low, high)


def _atom(atom: Atom, known: Mapping[Atom, Interval], sign: Sign | None) -> Interval:
    if not atom.parts:
        return known.get(atom, SIZE)
    left, right = (bounds(part, known, sign) for part in atom.parts)
    if atom.kind == "min":
        lows = None if left.low is None or right.low is None else min(left.low, right.low)
        highs = [h for h in (left.high, right.high) if h is not None]
        return Interval(lows, min(highs) if highs else None)
    if atom.kind == "max":
        lows_ = [x for x in (left.low, right.low) if x is not None]
        top = None if left.high is None or right.high is None else max(left.high, right.high)
        return Interval(max(lows_) if lows_ else None, top)
    # Divisors are positive wherever a size exists, so a bound below 1 says nothing.
    least = max(right.low or 1, 1)
    if atom.kind == "mod":
        top = None if right.high is None else max(right.high - 1, 0)
        if left.low is not None and left.low >= 0 and left.high is not None:
            top = left.high if top is None else min(top, left.high)
        return Interval(0, top)
    low = None
    dividend = atom.parts[0]
    if (left.low is None or left.low < 0) and sign is not None and sign(dividend):
        low = 0
    elif left.low is not None:
        if left.low < 0:
            low = left.low // least
        else:
            low = 0 if right.high is None else left.low // max(right.high, 1)
    high = None
    if left.high is not None:
        high = left.high // least if left.high >= 0 else -1
    return Interval(low, high)
