"""Inferring generics: matching the types of parameters with the types of arguments."""

from __future__ import annotations

from linnet.check.types import (
    CompileInt,
    Dims,
    DType,
    DTypeVar,
    FloatLiteralType,
    GenericValue,
    OptionalType,
    Scalar,
    StructType,
    Substitution,
    Tensor,
    TupleType,
    Type,
)
from linnet.shapes import ZERO, Atom, Facts, Pack, Poly, floordiv
from linnet.shapes.poly import quotient


class Unifier:
    """Binds the open generics of one call, left to right."""

    def __init__(self, open_keys: set[object], facts: Facts, values: Substitution) -> None:
        self.open = open_keys
        self.facts = facts
        self.values = values
        self.deferred: list[tuple[Poly, Poly]] = []

    def is_open(self, key: object) -> bool:
        """Whether a generic still has no value."""
        return key in self.open and not self.values.bound(key)  # type: ignore[arg-type]  # a key is hashable

    def unify(self, param: Type, argument: Type) -> None:
        """Binds what `argument` tells; disagreement is found when the argument is checked."""
        if isinstance(param, Tensor) and isinstance(argument, Tensor):
            self.dims(param.dims, argument.dims)
            self.dtype(param.dtype, argument.dtype)
        elif isinstance(param, Scalar) and isinstance(argument, Scalar):
            self.dtype(param.dtype, argument.dtype)
        elif isinstance(param, OptionalType):
            if isinstance(argument, OptionalType):
                self.unify(param.inner, argument.inner)
        elif isinstance(param, TupleType) and isinstance(argument, TupleType):
            for p, a in zip(param.items, argument.items, strict=False):
                self.unify(p, a)
        elif (
            isinstance(param, StructType)
            and isinstance(argument, StructType)
            and param.definition is argument.definition
        ):
            for p_, a_ in zip(param.arguments, argument.arguments, strict=True):
                self.argument(p_, a_)

    def unify_literals(self, param: Type, argument: Type) -> None:
        """Gives literals their default dtype where nothing typed decided it."""
        if isinstance(param, Scalar) and isinstance(argument, CompileInt):
            self.dtype(param.dtype, "i64")
        elif isinstance(param, Scalar) and isinstance(argument, FloatLiteralType):
            self.dtype(param.dtype, "f64")
        elif isinstance(param, OptionalType) and isinstance(argument, OptionalType):
            self.unify_literals(param.inner, argument.inner)
        elif isinstance(param, TupleType) and isinstance(argument, TupleType):
            for p, a in zip(param.items, argument.items, strict=False):
                self.unify_literals(p, a)

    def argument(self, param: GenericValue, argument: GenericValue) -> None:
        """One generic argument of a struct."""
        if isinstance(param, tuple) and isinstance(argument, tuple):
            self.dims(param, argument)
        elif isinstance(param, Poly) and isinstance(argument, Poly):
            self.size(param, argument)
        elif isinstance(param, (str, DTypeVar)) and isinstance(argument, (str, DTypeVar)):
            self.dtype(param, argument)

    def dtype(self, param: DType, argument: DType) -> None:
        """A dtype generic binds."""
        if isinstance(param, DTypeVar) and self.is_open(param):
            self.values.bind(param, argument)

    def size(self, param: Poly, argument: Poly) -> None:
        """A lone symbol binds; anything else waits until the rest is known."""
        symbol = param.symbol
        if symbol is not None and symbol in self.open:
            if self.is_open(symbol):
                self.values.bind(symbol, argument)
        elif any(leaf in self.open for leaf in param.leaves):
            self.deferred.append((param, argument))

    def dims(self, param: Dims, argument: Dims) -> None:
        """Matches the ends; one pack between them takes the middle."""
        known = tuple(
            part
            for dim in param
            for part in (
                self.values.packs[dim]
                if isinstance(dim, Pack) and dim in self.values.packs
                else (dim,)
            )
        )
        packs = [i for i, d in enumerate(known) if isinstance(d, Pack) and self.is_open(d)]
        if not packs:
            if len(known) == len(argument):
                for p, a in zip(known, argument, strict=True):
                    self.dim(p, a)
            return
        at = packs[0]
        after = len(known) - at - 1
        if len(packs) > 1 or len(argument) < at + after:
            return
        for p, a in zip(known[:at], argument[:at], strict=True):
            self.dim(p, a)
        if after:
            for p, a in zip(known[-after:], argument[-after:], strict=True):
                self.dim(p, a)
        pack = known[at]
        assert isinstance(pack, Pack)
        self.values.bind(pack, argument[at : len(argument) - after])

    def dim(self, param: Poly | Pack, argument: Poly | Pack) -> None:
        """One dimension."""
        if isinstance(param, Poly) and isinstance(argument, Poly):
            self.size(param, argument)

    def infer_factors(self) -> None:
        """Binds a lone unknown of a compound dimension where the rest is known and divides."""
        for param, argument in self.deferred:
            known = self.values.poly(param)
            unknown = [leaf for leaf in known.leaves if self.is_open(leaf)]
            if len(unknown) != 1:
                continue
            value = solve(known, unknown[0], argument, self.facts)
            if value is not None:
                self.values.bind(unknown[0], value)


def solve(p: Poly, unknown: Atom, target: Poly, facts: Facts) -> Poly | None:
    """The value of `unknown` for which p equals `target`, if it is one size for certain."""
    factor: Poly = ZERO
    rest: Poly = ZERO
    for monomial, coefficient in p.terms.items():
        cofactor = quotient(monomial, (unknown,))
        if cofactor is None:
            rest = rest + Poly({monomial: coefficient})
        else:
            factor = factor + Poly({cofactor: coefficient})
    if factor.mentions(unknown) or rest.mentions(unknown) or not facts.positive(factor):
        return None
    difference = facts.simplify(target - rest)
    if not facts.divides(factor, difference):
        return None
    value = facts.simplify(floordiv(difference, factor))
    return value if not value.mentions(unknown) else None
