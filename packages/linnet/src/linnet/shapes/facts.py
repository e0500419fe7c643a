"""What is known about sizes, and what follows from it.

`Facts` collects the constraints of `where` clauses and proves equalities, orders and divisibility
from them. It is sound and incomplete: what it proves holds for all sizes that satisfy the facts,
with all divisors positive; what it cannot prove may hold all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from linnet.shapes.bounds import Interval, bounds
from linnet.shapes.poly import (
    COMPOUND,
    ONE,
    ZERO,
    Atom,
    Monomial,
    Poly,
    divide_terms,
    floordiv,
    number,
    of,
    quotient,
)

DEPTH = 8
BUDGET = 300

PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31)


class Constraint(NamedTuple):
    """`left operator right`; the operator is one of == != < <= > >=."""

    operator: str
    left: Poly
    right: Poly

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"

    def holds(self, left: int, right: int) -> bool:
        """Whether two numbers satisfy it."""
        return {
            "==": left == right,
            "!=": left != right,
            "<": left < right,
            "<=": left <= right,
            ">": left > right,
            ">=": left >= right,
        }[self.operator]


class _Sample(dict[Atom, int]):
    """Sizes for all atoms by a rule; looked up like a dictionary."""

    def __init__(self, rule: Callable[[int], int]) -> None:
        super().__init__()
        self.rule = rule

    def __missing__(self, atom: Atom) -> int:
        value = self.rule(atom.serial)
        self[atom] = value
        return value


# Equal sizes satisfy most facts; different ones tell symbols apart.
_RULES: tuple[Callable[[int], int], ...] = (
    lambda serial: 1,
    lambda serial: 2,
    lambda serial: 6,
    lambda serial: PRIMES[serial % 11],
    lambda serial: 2 ** (serial % 6 + 1),
    lambda serial: 2 ** (6 - serial % 6),
    lambda serial: 12 * PRIMES[serial % 11],
)


class Facts:
    """A set of constraints, taken in order."""

    def __init__(self, constraints: Iterable[Constraint] = ()) -> None:
        self.constraints: list[Constraint] = []
        self.solved: dict[Atom, Poly] = {}
        self.multiples: list[tuple[Poly, Poly]] = []
        self.zeros: list[Poly] = []
        self.nonnegatives: list[Poly] = []
        self.intervals: dict[Atom, Interval] = {}
        self._simple: dict[Poly, Poly] = {}
        self._ground: dict[Poly, bool] = {}
        self._samples: list[_Sample] | None = None
        for constraint in constraints:
            self.assume(constraint)

    # Taking facts

    def assume(self, constraint: Constraint) -> None:
        """Adds one constraint."""
        self.constraints.append(constraint)
        self._simple.clear()
        self._ground.clear()
        self._samples = None
        operator, left, right = constraint
        left, right = left.substitute(self.solved), right.substitute(self.solved)
        difference = left - right
        if difference.invalid:
            return
        if operator == "==":
            self._assume_equal(left, right, difference)
        elif operator in (">=", "<="):
            self._assume_nonnegative(difference if operator == ">=" else -difference)
        elif operator in (">", "<"):
            self._assume_nonnegative((difference if operator == ">" else -difference) - ONE)
        elif self.nonnegative(difference):
            self._assume_nonnegative(difference - ONE)
        elif self.nonnegative(-difference):
            self._assume_nonnegative(-difference - ONE)

    def _assume_equal(self, left: Poly, right: Poly, difference: Poly) -> None:
        for side, other in ((left, right), (right, left)):
            if other == ZERO and len(side.atoms) == 1 and side == of(side.atoms[0]):
                atom = side.atoms[0]
                if atom.kind == "mod":
                    dividend, divisor = atom.parts
                    self.multiples.append((dividend, divisor))
                    return
        lone: Atom | None = None
        for monomial, coefficient in difference.terms.items():
            if len(monomial) == 1 and abs(coefficient) == 1 and not monomial[0].parts:
                atom = monomial[0]
                rest = difference - of(atom).scale(coefficient)
                newer = lone is None or atom.serial > lone.serial
                if atom.kind == "symbol" and newer and not rest.mentions(atom):
                    lone = atom
        if lone is None:
            self.zeros.append(difference)
            return
        coefficient = difference.terms[(lone,)]
        value = (difference - of(lone).scale(coefficient)).scale(-coefficient)
        self._solve(lone, value)

    def _solve(self, atom: Atom, value: Poly) -> None:
        one = {atom: value}
        self.solved = {a: p.substitute(one) for a, p in self.solved.items()}
        self.solved[atom] = value
        self.multiples = [(a.substitute(one), b.substitute(one)) for a, b in self.multiples]
        self.zeros = [p.substitute(one) for p in self.zeros]
        self.nonnegatives = [p.substitute(one) for p in self.nonnegatives]
        low, high = self.intervals.pop(atom, Interval(0, None))
        self._assume_nonnegative(value - number(int(low or 0)))
        if high is not None:
            self._assume_nonnegative(number(int(high)) - value)

    def _assume_nonnegative(self, p: Poly) -> None:
        if p.constant is not None or p.invalid:
            return
        rest = [(m, c) for m, c in p.terms.items() if m]
        if len(rest) == 1:
            (monomial, coefficient) = rest[0]
            if len(monomial) == 1 and monomial[0].kind == "symbol":
                known = self.intervals.get(monomial[0], Interval(0, None))
                offset = p.terms.get((), 0)
                if coefficient > 0:
                    low = -(offset // coefficient)
                    known = Interval(max(low, known.low or 0), known.high)
                else:
                    high = offset // -coefficient
                    known = Interval(
                        known.low, high if known.high is None else min(high, known.high)
                    )
                self.intervals[monomial[0]] = known
                return
        self.nonnegatives.append(p)

    # Proving

    def prove(self, constraint: Constraint) -> bool:
        """Whether the constraint follows."""
        operator, left, right = constraint
        if left.invalid or right.invalid:
            return False
        if operator == "==":
            return self.equal(left, right)
        difference = self.simplify(left - right)
        if operator == ">=":
            return self.nonnegative(difference)
        if operator == "<=":
            return self.nonnegative(-difference)
        if operator == ">":
            return self.nonnegative(difference - ONE)
        if operator == "<":
            return self.nonnegative(-difference - ONE)
        return self.nonnegative(difference - ONE) or self.nonnegative(-difference - ONE)

    def equal(self, left: Poly, right: Poly) -> bool:
        """Whether two sizes are equal."""
        if left == right:
            return True
        difference = self.simplify(left - right)
        if difference.invalid:
            return False
        if difference == ZERO:
            return True
        if any(difference in (zero, -zero) for zero in self.zeros):
            return True
        if difference.constant is not None or self.varies(difference):
            return False
        return self.nonnegative(difference) and self.nonnegative(-difference)

    def samples(self) -> list[_Sample]:
        """A few assignments that satisfy all facts, to refute by before searching for proofs."""
        if self._samples is None:
            found = []
            for sample in map(_Sample, _RULES):
                sides = (
                    (c, c.left.evaluate(sample), c.right.evaluate(sample)) for c in self.constraints
                )
                if all(a is not None and b is not None and c.holds(a, b) for c, a, b in sides):
                    found.append(sample)
            self._samples = found
        return self._samples

    def varies(self, difference: Poly) -> bool:
        """Whether a difference is not 0 for some sizes that satisfy the facts."""
        return any(difference.evaluate(sample) for sample in self.samples())

    def negative_somewhere(self, p: Poly) -> bool:
        """Whether p is below 0 for some sizes that satisfy the facts."""
        values = (p.evaluate(sample) for sample in self.samples())
        return any(value is not None and value < 0 for value in values)

    def positive(self, p: Poly) -> bool:
        """Whether p >= 1."""
        return self.nonnegative(self.simplify(p) - ONE)

    def divides(self, divisor: Poly, p: Poly, depth: int = DEPTH) -> bool:
        """Whether p is a multiple of the divisor."""
        if depth <= 0 or divisor.invalid or p.invalid:
            return False
        if divisor.constant in (1, -1) or p == ZERO or divide_terms(p, divisor) is not None:
            return True
        if p == divisor or exact_quotient(p, divisor) is not None:
            return True
        for dividend, known in self.multiples:
            if p == dividend and self.divides(divisor, known, depth - 1):
                return True
        return all(
            self._divides_term(divisor, monomial, coefficient, depth)
            for monomial, coefficient in p.terms.items()
        )

    def _divides_term(self, divisor: Poly, monomial: Monomial, c: int, depth: int) -> bool:
        term = Poly({monomial: c})
        if divide_terms(term, divisor) is not None:
            return True
        for dividend, known in self.multiples:
            rest = divide_terms(term, dividend)
            if rest is not None and self.divides(divisor, known * rest, depth - 1):
                return True
        return False

    # Simplifying

    def simplify(self, p: Poly, depth: int = DEPTH) -> Poly:
        """A polynomial equal to p under the facts, with fewer compound atoms where possible."""
        known = self._simple.get(p)
        if known is not None:
            return known
        current = p.substitute(self.solved)
        for _ in range(depth):
            following = self._simplify_once(current, depth)
            if following == current or following.invalid:
                break
            current = following
        self._simple[p] = current
        return current

    def _simplify_once(self, p: Poly, depth: int) -> Poly:
        if p.invalid or depth <= 0 or not any(atom.parts for atom in p.atoms):
            return p
        replaced: dict[Atom, Poly] = {}
        for atom in p.atoms:
            if atom.parts:
                value = self._simplify_atom(atom, depth - 1)
                if value != of(atom):
                    replaced[atom] = value
        if replaced:
            total = ZERO
            for monomial, coefficient in p.terms.items():
                product = number(coefficient)
                for atom in monomial:
                    product = product * replaced.get(atom, of(atom))
                total = total + product
            p = total
        for atom in p.atoms:
            if atom.kind == "floordiv":
                p = self._cancel(p, atom, depth - 1)
        return p

    def _cancel(self, p: Poly, atom: Atom, depth: int) -> Poly:
        """Replaces (x / y) * y by x where y divides x."""
        x, y = atom.parts
        if not self.divides(y, x, depth):
            return p
        factor: dict[Monomial, int] = {}
        for monomial, coefficient in p.terms.items():
            rest = quotient(monomial, (atom,))
            if rest is not None:
                factor[rest] = coefficient
        cofactor = Poly(factor)
        if len(y.terms) == 1:
            parts = [Poly({m: c}) for m, c in cofactor.terms.items()]
        else:
            parts = [cofactor]
        for part in parts:
            rest_ = exact_quotient(part, y)
            if rest_ is not None:
                p = p - part * of(atom) + rest_ * x
        return p

    def _simplify_atom(self, atom: Atom, depth: int) -> Poly:
        left, right = (self.simplify(part, depth) for part in atom.parts)
        folded = COMPOUND[atom.kind](left, right)
        if len(folded.atoms) != 1 or folded != of(folded.atoms[0]):
            return folded
        left, right = folded.atoms[0].parts or (left, right)
        if atom.kind in ("min", "max"):
            larger = self.nonnegative(left - right)
            if larger or self.nonnegative(right - left):
                return left if larger == (atom.kind == "max") else right
            return folded
        if depth <= 0:
            return folded
        whole = ZERO
        for monomial, coefficient in left.terms.items():
            if self._divides_term(right, monomial, coefficient, depth):
                whole = whole + Poly({monomial: coefficient})
        if whole == ZERO and self.divides(right, left, depth):
            whole = left
        rest = left - whole
        inside = self.nonnegative(rest) and self.nonnegative(right - ONE - rest)
        if atom.kind == "mod":
            if rest == ZERO and self.positive(right):
                return ZERO
            return rest if inside else folded
        if rest == ZERO or not inside:
            return folded
        return floordiv(whole, right)

    # Signs

    def nonnegative(self, p: Poly) -> bool:
        """Whether p >= 0."""
        if p.invalid:
            return False
        if p.constant is not None:
            return p.constant >= 0
        known = self._ground.get(p)
        if known is None:
            # Resolving min and max asks for signs in turn; meanwhile the answer is "not proved".
            self._ground[p] = False
            known = not self.negative_somewhere(p) and _SignSearch(self).proves(p)
            self._ground[p] = known
        return known

    def low(self, p: Poly) -> int | None:
        """A lower bound of p by interval arithmetic, or None."""
        return bounds(p, self.intervals, self.nonnegative).low


class _SignSearch:
    """Shows p >= 0 by subtracting multiples of what is known not to be negative.

    Each step removes one negative term of p with a fact that has the same term negative, times a
    product of factors that are not negative themselves. Steps are bounded in number and depth.
    """

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.budget = BUDGET

    def proves(self, p: Poly) -> bool:
        return self._search(p, 4)

    def _search(self, p: Poly, depth: int) -> bool:
        self.budget -= 1
        low = self.facts.low(p)
        if low is not None and low >= 0:
            return True
        if depth <= 0 or self.budget <= 0 or p.invalid:
            return False
        # The dividends of quotients: x / c is at most x and at least 0 for x >= 0.
        known = [*self.facts.nonnegatives, *self._zero_facts(), *self._about_atoms(p)]
        for monomial, coefficient in p.terms.items():
            if coefficient >= 0:
                continue
            for fact in known:
                for own, c in fact.terms.items():
                    if c >= 0 or self.budget <= 0:
                        continue
                    rest = quotient(monomial, own)
                    if rest is None or not all(self._factor_nonnegative(a) for a in rest):
                        continue
                    reduced = p.scale(-c) - (fact * Poly({rest: 1})).scale(-coefficient)
                    if self._search(reduced, depth - 1):
                        return True
        return False

    def _zero_facts(self) -> list[Poly]:
        return [q for zero in self.facts.zeros for q in (zero, -zero)]

    def _factor_nonnegative(self, atom: Atom) -> bool:
        low = self.facts.low(of(atom))
        return low is not None and low >= 0

    def _about_atoms(self, p: Poly) -> list[Poly]:
        """What holds for the compound atoms of p and for symbols known to be at least 1."""
        found: list[Poly] = []
        for atom in p.atoms:
            interval = self.facts.intervals.get(atom)
            if interval is not None:
                if interval.low:
                    found.append(of(atom) - number(interval.low))
                if interval.high is not None:
                    found.append(number(interval.high) - of(atom))
            if not atom.parts:
                continue
            left, right = atom.parts
            if atom.kind == "min":
                found += [left - of(atom), right - of(atom)]
            elif atom.kind == "max":
                found += [of(atom) - left, of(atom) - right]
            elif (self.facts.low(right) or 0) >= 1:
                rest = left - of(atom) * right if atom.kind == "floordiv" else of(atom)
                found += [rest, right - ONE - rest]
                if atom.kind == "floordiv" and (self.facts.low(left) or -1) >= 0:
                    found.append(left - of(atom))
        return found


def exact_quotient(p: Poly, divisor: Poly) -> Poly | None:
    """The polynomial that times `divisor` gives p, or None."""
    if len(divisor.terms) == 1:
        return divide_terms(p, divisor)

    def leading(poly: Poly) -> Monomial:
        return max(poly.terms, key=lambda m: (len(m), [atom.serial for atom in m]))

    if divisor == ZERO or p.invalid or divisor.invalid:
        return None
    head = leading(divisor)
    total, rest = ZERO, p
    for _ in range(16):
        if rest == ZERO:
            return total
        top = leading(rest)
        monomial = quotient(top, head)
        if monomial is None or rest.terms[top] % divisor.terms[head]:
            return None
        part = Poly({monomial: rest.terms[top] // divisor.terms[head]})
        total, rest = total + part, rest - part * divisor
        if rest.invalid:
            return None
    return None
