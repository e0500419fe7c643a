"""Generics at numbers: sizes, shapes, dtypes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from linnet.check.definitions import BlockDef, GenericParam, Where
from linnet.check.types import (
    CLASSES,
    Dims,
    DType,
    DTypeVar,
    GenericKey,
    GenericValue,
    Scalar,
    Tensor,
    Type,
    dtypes_listed,
    short_dtype,
)
from linnet.shapes import Atom, Pack, Poly


class BindingError(ValueError):
    """A root, entry, generic or input that does not fit; the text says what does."""


class MissingGenericsError(BindingError):
    """Generics that nothing tells; a caller that takes them otherwise words `problem` anew."""

    def __init__(self, problem: str, names: Sequence[str], argument: str) -> None:
        given = ", ".join(f"{name!r}: ..." for name in names)
        super().__init__(f"{problem}; give {argument}={{{given}}}")
        self.problem = problem
        self.names = tuple(names)


class Bound:
    """Numbers for sizes, tuples of numbers for packs, names for dtypes."""

    def __init__(self) -> None:
        self.sizes: dict[Atom, int] = {}
        self.packs: dict[Pack, tuple[int, ...]] = {}
        self.dtypes: dict[DTypeVar, str] = {}

    def copy(self) -> Bound:
        """A copy to add more to."""
        found = Bound()
        found.sizes.update(self.sizes)
        found.packs.update(self.packs)
        found.dtypes.update(self.dtypes)
        return found

    def bind(self, key: GenericKey, value: Any) -> None:
        """Sets one generic."""
        if isinstance(key, Pack):
            self.packs[key] = tuple(value)
            product = 1
            for size in self.packs[key]:
                product *= size
            self.sizes[key.count] = product
        elif isinstance(key, DTypeVar):
            self.dtypes[key] = value
        else:
            self.sizes[key] = value

    def has(self, key: GenericKey) -> bool:
        """Whether a generic has its value."""
        return key in self.sizes or key in self.packs or key in self.dtypes

    def require(self, generics: Iterable[GenericParam], problem: str, argument: str) -> None:
        """MissingGenericsError, `problem` with the names, where a generic has no value."""
        missing = [g.name for g in generics if not self.has(g.key)]
        if missing:
            raise MissingGenericsError(f"{problem} {', '.join(missing)}", missing, argument)

    def get(self, key: GenericKey) -> Any:
        """A number, a dtype name, or a tuple of numbers."""
        if isinstance(key, Pack):
            return self.packs[key]
        return self.dtypes[key] if isinstance(key, DTypeVar) else self.sizes[key]

    def size(self, p: Poly) -> int:
        """A size as a number."""
        constant = p.constant
        if constant is not None:
            return constant
        found = p.evaluate(self.sizes)
        if found is None:
            raise BindingError(f"the size {p} divides by a number that is not positive")
        return found

    def dims(self, dims: Dims) -> tuple[int, ...]:
        """A shape as numbers."""
        found: list[int] = []
        for dim in dims:
            if isinstance(dim, Pack):
                found += self.packs[dim]
            else:
                size = self.size(dim)
                if size < 0:
                    raise BindingError(f"the dimension {dim} is {size}")
                found.append(size)
        return tuple(found)

    def dtype(self, dtype: DType) -> str:
        """A dtype as a name."""
        return self.dtypes[dtype] if isinstance(dtype, DTypeVar) else dtype

    def argument(self, value: GenericValue) -> Any:
        """A generic argument."""
        if isinstance(value, Poly):
            return self.size(value)
        return self.dims(value) if isinstance(value, tuple) else self.dtype(value)

    def numbers(self, t: Type) -> tuple[tuple[int, ...], str]:
        """Shape and dtype of a tensor or scalar type."""
        if isinstance(t, Tensor):
            return self.dims(t.dims), self.dtype(t.dtype)
        assert isinstance(t, Scalar), t
        return (), self.dtype(t.dtype)

    def check_where(self, where: Iterable[Where], what: str) -> None:
        """BindingError for the first constraint that the numbers break."""
        for one in where:
            constraint = one.constraint
            left = constraint.left.evaluate(self.sizes)
            right = constraint.right.evaluate(self.sizes)
            if left is None or right is None or not constraint.holds(left, right):
                names = sorted(
                    constraint.left.leaves | constraint.right.leaves, key=lambda a: a.serial
                )
                shown = ", ".join(f"{a.name} = {self.sizes.get(a)}" for a in names)
                raise BindingError(f"{what} needs {constraint}, which {shown} breaks")


def bind_generics(
    generics: Iterable[GenericParam], given: Mapping[str, Any], bound: Bound, what: str
) -> None:
    """Sets declared generics from plain values; defaults fill in; BindingError says what is off."""
    declared = {g.name: g for g in generics}
    refuse_unknown(given, declared.values(), what)
    for name, generic in declared.items():
        if name in given:
            bound.bind(generic.key, checked_value(generic, given[name], what))
        elif generic.default is not None and not bound.has(generic.key):
            bound.bind(generic.key, bound.argument(generic.default))


def refuse_unknown(
    given: Iterable[str], declared: Iterable[GenericParam], what: str, block: BlockDef | None = None
) -> None:
    """BindingError for a name that is no generic of `what`, a method of `block` or the block."""
    own = [g.name for g in declared]
    above = [g.name for g in block.generics] if block else []
    for name in given:
        if name in own:
            continue
        has = f"{what} has no generic {name!r}; it has: {', '.join(own) or 'none'}"
        if block and name in above:
            raise BindingError(f"{has}. {name} is one of block {block.name}, set with the root")
        also = f", and block {block.name} has: {', '.join(above)}" if block and above else ""
        raise BindingError(has + also)


def checked_value(generic: GenericParam, value: Any, what: str) -> Any:
    """A value of the kind that a generic takes."""
    if isinstance(generic.key, DTypeVar):
        value = short_dtype(value)
        if not isinstance(value, str) or value not in CLASSES[generic.kind]:
            raise BindingError(
                f"{what}: the generic {generic.name} takes a {generic.kind} dtype, got {value!r}; "
                f"one of: {dtypes_listed(sorted(CLASSES[generic.kind]))}"
            )
        return value
    sizes = value if isinstance(generic.key, Pack) else (value,)
    if isinstance(sizes, (str, bytes)) or not isinstance(sizes, Iterable):
        raise BindingError(
            f"{what}: the generic {generic.name} takes a list of sizes, got {value!r}"
        )
    sizes = tuple(sizes)
    for size in sizes:
        if isinstance(size, bool) or not isinstance(size, int) or size < 0:
            raise BindingError(
                f"{what}: the generic {generic.name} takes a size of at least 0, got {size!r}"
            )
    return sizes if isinstance(generic.key, Pack) else value
