"""Sizes as polynomials with integer coefficients over atoms.

An atom is a symbol, the element count of a pack, or one of `floor(p / q)`, `p mod q`, `min(p, q)`,
`max(p, q)` that no rule folds. Equal atoms are one object, so monomials compare by identity.
Coefficients are 64-bit; arithmetic that leaves that range gives the invalid polynomial, which
proves nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import cached_property
from weakref import WeakValueDictionary

I64_MIN, I64_MAX = -(2**63), 2**63 - 1

_serials = itertools.count(1)


class Atom:
    """A factor of a monomial. `parts` are the two operands of a compound atom."""

    __slots__ = ("__weakref__", "kind", "name", "parts", "serial")

    def __init__(self, kind: str, name: str, parts: tuple[Poly, ...]) -> None:
        self.kind = kind
        self.name = name
        self.parts = parts
        self.serial = next(_serials)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        if self.kind in ("symbol", "count"):
            return self.name
        left, right = self.parts
        if self.kind == "floordiv":
            return f"({_operand(left)} / {_operand(right)})"
        if self.kind == "mod":
            return f"({_operand(left)} % {_operand(right)})"
        return f"{self.kind}({left}, {right})"

    def mentions(self, atom: Atom) -> bool:
        """Whether `atom` is this atom or occurs inside it."""
        return self is atom or any(part.mentions(atom) for part in self.parts)


class Pack:
    """A generic that stands for any number of dimensions; `count` is their product."""

    __slots__ = ("count", "name", "serial")

    def __init__(self, name: str) -> None:
        self.name = name
        self.count = Atom("count", f"count({name})", ())
        self.serial = self.count.serial

    def __repr__(self) -> str:
        return f"*{self.name}"


Monomial = tuple[Atom, ...]
_compound: WeakValueDictionary[tuple[str, Poly, Poly], Atom] = WeakValueDictionary()


class Poly:
    """An immutable polynomial; `terms` maps a sorted monomial to its coefficient, never 0."""

    __slots__ = ("__dict__", "__weakref__", "invalid", "terms")

    def __init__(self, terms: Mapping[Monomial, int], invalid: bool = False) -> None:
        kept: dict[Monomial, int] = {}
        if not invalid:
            for monomial, c in terms.items():
                if c:
                    if not I64_MIN <= c <= I64_MAX:
                        invalid, kept = True, {}
                        break
                    kept[monomial] = c
        self.terms = kept
        self.invalid = invalid

    def __eq__(self, other: object) -> bool:
        if self is other:
            return not self.invalid
        if not isinstance(other, Poly) or self.invalid or other.invalid:
            return False
        return self.terms == other.terms

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(frozenset(self.terms.items()))

    def __repr__(self) -> str:
        return f"Poly({self})"

    def __str__(self) -> str:
        if self.invalid:
            return "(overflow)"
        if not self.terms:
            return "0"
        ordered = sorted(self.terms.items(), key=lambda t: (t[1] < 0, -len(t[0]), _serial_key(t)))
        text = ""
        for monomial, coefficient in ordered:
            factors = "*".join(str(atom) for atom in monomial)
            size = abs(coefficient)
            term = factors if size == 1 and factors else f"{size}*{factors}".rstrip("*")
            sign = "-" if coefficient < 0 else "+"
            text += f" {sign} {term}" if text else (f"-{term}" if coefficient < 0 else term)
        return text

    @cached_property
    def constant(self) -> int | None:
        """The number this polynomial is, or None."""
        if self.invalid:
            return None
        if not self.terms:
            return 0
        return self.terms.get(()) if len(self.terms) == 1 else None

    @cached_property
    def atoms(self) -> tuple[Atom, ...]:
        """The atoms of the monomials, each once; not those inside other atoms."""
        return tuple(dict.fromkeys(atom for monomial in self.terms for atom in monomial))

    @cached_property
    def leaves(self) -> frozenset[Atom]:
        """All symbols and pack counts, those inside compound atoms included."""
        found: set[Atom] = set()
        for atom in self.atoms:
            if atom.parts:
                found.update(*(part.leaves for part in atom.parts))
            else:
                found.add(atom)
        return frozenset(found)

    def mentions(self, atom: Atom) -> bool:
        """Whether `atom` occurs anywhere in this polynomial."""
        return any(own.mentions(atom) for own in self.atoms)

    @property
    def symbol(self) -> Atom | None:
        """The symbol that this polynomial is alone, or None."""
        if len(self.terms) == 1:
            ((monomial, coefficient),) = self.terms.items()
            if coefficient == 1 and len(monomial) == 1 and monomial[0].kind == "symbol":
                return monomial[0]
        return None

    # Arithmetic

    def __add__(self, other: Poly) -> Poly:
        terms = dict(self.terms)
        for monomial, coefficient in other.terms.items():
            terms[monomial] = terms.get(monomial, 0) + coefficient
        return Poly(terms, self.invalid or other.invalid)

    def __sub__(self, other: Poly) -> Poly:
        terms = dict(self.terms)
        for monomial, coefficient in other.terms.items():
            terms[monomial] = terms.get(monomial, 0) - coefficient
        return Poly(terms, self.invalid or other.invalid)

    def __neg__(self) -> Poly:
        return self.scale(-1)

    def scale(self, factor: int) -> Poly:
        """This polynomial times a number."""
        return Poly({m: c * factor for m, c in self.terms.items()}, self.invalid)

    def __mul__(self, other: Poly) -> Poly:
        # A product of long sums grows without bound; sizes in models stay far below this.
        if len(self.terms) * len(other.terms) > 4096:
            return INVALID
        terms: dict[Monomial, int] = {}
        for left, a in self.terms.items():
            for right, b in other.terms.items():
                monomial = times(left, right)
                if len(monomial) > 64:
                    return INVALID
                terms[monomial] = terms.get(monomial, 0) + a * b
        return Poly(terms, self.invalid or other.invalid)

    def substitute(self, values: Mapping[Atom, Poly]) -> Poly:
        """Replaces symbols and pack counts, also inside compound atoms, and folds again."""
        if self.invalid or not values or not any(leaf in values for leaf in self.leaves):
            return self
        total = ZERO
        for monomial, coefficient in self.terms.items():
            product = number(coefficient)
            for atom in monomial:
                product = product * _substituted(atom, values)
            total = total + product
        return total

    def evaluate(self, values: Mapping[Atom, int]) -> int | None:
        """The number at an assignment of all leaves; None where a divisor is not positive."""
        if self.invalid:
            return None
        total = 0
        for monomial, coefficient in self.terms.items():
            product = coefficient
            for atom in monomial:
                factor = _evaluated(atom, values)
                if factor is None:
                    return None
                product *= factor
            total += product
        return total


def _operand(part: Poly) -> str:
    plain = part.constant is not None or part.symbol is not None
    return str(part) if plain else f"({part})"


def _serial_key(term: tuple[Monomial, int]) -> tuple[int, ...]:
    return tuple(atom.serial for atom in term[0])


def times(left: Monomial, right: Monomial) -> Monomial:
    """The product of two monomials."""
    if not left or not right:
        return left or right
    return tuple(sorted(left + right, key=_serial))


def _serial(atom: Atom) -> int:
    return atom.serial


def quotient(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    """The monomial that times `divisor` gives `monomial`, or None."""
    rest = list(monomial)
    for atom in divisor:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


def number(value: int) -> Poly:
    """A constant polynomial."""
    return Poly({(): value})


def symbol(name: str) -> Poly:
    """A new symbol, different from every other of the same name."""
    return of(Atom("symbol", name, ()))


def of(atom: Atom) -> Poly:
    """The polynomial that is one atom."""
    return Poly({(atom,): 1})


INVALID = Poly({}, invalid=True)
ZERO = number(0)
ONE = number(1)


def _make(kind: str, left: Poly, right: Poly) -> Poly:
    if left.invalid or right.invalid:
        return INVALID
    key = (kind, left, right)
    atom = _compound.get(key)
    if atom is None:
        atom = Atom(kind, "", (left, right))
        _compound[key] = atom
    return of(atom)


def divide_terms(p: Poly, divisor: Poly) -> Poly | None:
    """p / divisor if the divisor is one term and divides every term of p exactly, else None."""
    if len(divisor.terms) != 1 or p.invalid:
        return None
    ((monomial, coefficient),) = divisor.terms.items()
    terms: dict[Monomial, int] = {}
    for own, c in p.terms.items():
        rest = quotient(own, monomial)
        if rest is None or c % coefficient:
            return None
        terms[rest] = c // coefficient
    return Poly(terms)


def floordiv(p: Poly, q: Poly) -> Poly:
    """floor(p / q), folded where that is exact."""
    if p.invalid or q.invalid or q.constant == 0:
        return INVALID
    if q.constant == 1:
        return p
    if p.constant is not None and q.constant is not None:
        return number(p.constant // q.constant)
    if p == ZERO:
        return ZERO
    if p == q:
        return ONE
    exact = divide_terms(p, q)
    if exact is not None:
        return exact
    c = q.constant
    if c is not None and c > 0:
        rest = p.terms.get((), 0)
        if all(k % c == 0 for m, k in p.terms.items() if m):
            whole = {m: k // c for m, k in p.terms.items() if m}
            return Poly(whole) + number(rest // c)
    return _make("floordiv", p, q)


def mod(p: Poly, q: Poly) -> Poly:
    """p modulo q, not negative for a positive q, folded where that is exact."""
    if p.invalid or q.invalid or q.constant == 0:
        return INVALID
    if p.constant is not None and q.constant is not None:
        return number(p.constant % q.constant)
    if p in (q, ZERO) or divide_terms(p, q) is not None:
        return ZERO
    c = q.constant
    if c is not None and c > 0 and all(k % c == 0 for m, k in p.terms.items() if m):
        return number(p.terms.get((), 0) % c)
    return _make("mod", p, q)


def minimum(p: Poly, q: Poly) -> Poly:
    """The smaller of two sizes."""
    difference = (p - q).constant
    if difference is not None:
        return p if difference <= 0 else q
    return _make("min", *_ordered(p, q))


def maximum(p: Poly, q: Poly) -> Poly:
    """The larger of two sizes."""
    difference = (p - q).constant
    if difference is not None:
        return p if difference >= 0 else q
    return _make("max", *_ordered(p, q))


def _ordered(p: Poly, q: Poly) -> tuple[Poly, Poly]:
    def key(poly: Poly) -> list[tuple[tuple[int, ...], int]]:
        return sorted((_serial_key(term), term[1]) for term in poly.terms.items())

    return (p, q) if key(p) <= key(q) else (q, p)


COMPOUND = {"floordiv": floordiv, "mod": mod, "min": minimum, "max": maximum}


def _substituted(atom: Atom, values: Mapping[Atom, Poly]) -> Poly:
    if atom.parts:
        left, right = (part.substitute(values) for part in atom.parts)
        return COMPOUND[atom.kind](left, right)
    return values[atom] if atom in values else of(atom)


def _evaluated(atom: Atom, values: Mapping[Atom, int]) -> int | None:
    if not atom.parts:
        return values[atom]
    left, right = (part.evaluate(values) for part in atom.parts)
    if left is None or right is None:
        return None
    if atom.kind == "min":
        return min(left, right)
    if atom.kind == "max":
        return max(left, right)
    if right <= 0:
        return None
    return left // right if atom.kind == "floordiv" else left % right
