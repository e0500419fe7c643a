"""Types, dtypes, and substitution of generics."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from linnet.shapes import ONE, Atom, Constraint, Pack, Poly, of

if TYPE_CHECKING:
    from linnet.check.definitions import BlockDef, EnumDef, ModuleScope, StructDef

INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
FLOATS = ("f16", "bf16", "f32", "f64")
DTYPE_NAMES = ("bool", *INTEGERS, *FLOATS)
#: The names that PyTorch and NumPy use -> Linnet's. A program says Linnet's; commands and Python
#: functions take both.
LONG_NAMES = {
    **{f"int{bits}": f"i{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"u{bits}" for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"f{bits}" for bits in (16, 32, 64)},
    "bfloat16": "bf16",
}
CLASSES = {
    "DType": frozenset(DTYPE_NAMES),
    "Numeric": frozenset((*INTEGERS, *FLOATS)),
    "Integer": frozenset(INTEGERS),
    "Float": frozenset(FLOATS),
}
FLOAT_MAX = {"f16": 65504.0, "bf16": 3.3895313892515355e38, "f32": 3.4028234663852886e38}

_serials = itertools.count(1)


class DTypeVar:
    """A generic that stands for a dtype of one class."""

    __slots__ = ("kind", "name", "serial")

    def __init__(self, name: str, kind: str) -> None:
        self.name = name
        self.kind = kind
        self.serial = next(_serials)

    def __repr__(self) -> str:
        return self.name


DType: TypeAlias = "str | DTypeVar"
Dim: TypeAlias = "Poly | Pack"
Dims: TypeAlias = "tuple[Dim, ...]"
GenericKey: TypeAlias = "Atom | Pack | DTypeVar"
GenericValue: TypeAlias = "Poly | Dims | DType"


def short_dtype(name: Any) -> Any:
    """Linnet's name for a dtype under either name; whatever else is given comes back as it is."""
    return LONG_NAMES.get(name, name) if isinstance(name, str) else name


def dtypes_listed(names: Iterable[str]) -> str:
    """`bf16 (bfloat16), f32 (float32)` for messages."""
    long = {short: f"{short} ({name})" for name, short in LONG_NAMES.items()}
    return ", ".join(long.get(name, name) for name in names)


def dtype_class(dtype: DType) -> frozenset[str]:
    """The dtypes that `dtype` may be."""
    return CLASSES[dtype.kind] if isinstance(dtype, DTypeVar) else frozenset((dtype,))


def is_numeric(dtype: DType) -> bool:
    """Whether arithmetic is defined whatever the dtype turns out to be."""
    return dtype_class(dtype) <= CLASSES["Numeric"]


def is_integer(dtype: DType) -> bool:
    """Whether it is certainly an integer dtype."""
    return dtype_class(dtype) <= CLASSES["Integer"]


def is_float(dtype: DType) -> bool:
    """Whether it is certainly a float dtype."""
    return dtype_class(dtype) <= CLASSES["Float"]


def integer_range(dtype: str) -> tuple[int, int]:
    """The least and greatest number of an integer dtype."""
    bits = int(dtype[1:])
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if dtype[0] == "i" else (0, 2**bits - 1)


class Type:
    """Base of all types."""

    __slots__ = ()


@dataclass(frozen=True)
class Scalar(Type):
    """One number or bool."""

    dtype: DType

    def __str__(self) -> str:
        return str(self.dtype)


@dataclass(frozen=True)
class Tensor(Type):
    """Rank at least 1, packs counted."""

    dims: Dims
    dtype: DType

    def __str__(self) -> str:
        return f"Tensor[{show_dims(self.dims)}; {self.dtype}]"


@dataclass(frozen=True)
class TupleType(Type):
    """A tuple. `parts` counts what it holds, tuples and structs inside taken apart."""

    items: tuple[Type, ...]
    parts: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", sum(map(parts_of, self.items)))

    def __str__(self) -> str:
        inner = ", ".join(map(str, self.items))
        return f"({inner},)" if len(self.items) == 1 else f"({inner})"


@dataclass(frozen=True)
class OptionalType(Type):
    """A value or `none`."""

    inner: Type

    def __str__(self) -> str:
        return f"{self.inner}?"


@dataclass(frozen=True)
class StructType(Type):
    """A struct at its generic arguments."""

    definition: StructDef
    arguments: tuple[GenericValue, ...]

    def __str__(self) -> str:
        return self.definition.name + show_arguments(self.arguments)


@dataclass(frozen=True)
class EnumType(Type):
    """An enum."""

    definition: EnumDef

    def __str__(self) -> str:
        return self.definition.name


@dataclass(frozen=True)
class BlockType(Type):
    """An instance of a block at its generic arguments."""

    definition: BlockDef
    arguments: tuple[GenericValue, ...]

    def __str__(self) -> str:
        return self.definition.name + show_arguments(self.arguments)


@dataclass(frozen=True)
class ArrayType(Type):
    """A block array."""

    element: BlockType
    size: Poly

    def __str__(self) -> str:
        return f"[{self.element}; {self.size}]"


@dataclass(frozen=True)
class CompileInt(Type):
    """A compile-time integer; `poly` is its value.

    `literal` is set for a literal outside the 64-bit range of sizes, which only u64 may hold.
    """

    poly: Poly
    literal: int | None = None

    def __str__(self) -> str:
        return f"compile-time integer {self.poly}"


@dataclass(frozen=True)
class FloatLiteralType(Type):
    """A float literal or arithmetic on such; `value` is None where a size takes part."""

    value: float | None

    def __str__(self) -> str:
        return "float literal"


@dataclass(frozen=True)
class NoneType(Type):
    """`none` before it is known what is absent."""

    def __str__(self) -> str:
        return "none"


@dataclass(frozen=True)
class UnitType(Type):
    """The result of a function without one."""

    def __str__(self) -> str:
        return "no value"


@dataclass(frozen=True)
class ModuleType(Type):
    """A module's name used as a value."""

    module: ModuleScope

    def __str__(self) -> str:
        return f"module {self.module.name}"


@dataclass(frozen=True)
class ErrorType(Type):
    """The type of what is wrong already; agrees with everything."""

    def __str__(self) -> str:
        return "?"


# Types grow as fast as they are named: a few lines can name a tuple of 2^60 numbers.
MOST_PARTS = 10_000


def parts_of(t: Type) -> int:
    """How many parts a type has, all inside taken apart; a block array counts one block."""
    if isinstance(t, TupleType):
        return t.parts
    if isinstance(t, OptionalType):
        return parts_of(t.inner)
    if isinstance(t, ArrayType):
        return parts_of(t.element)
    return t.definition.parts if isinstance(t, (StructType, BlockType)) else 1


ERROR = ErrorType()
UNIT = UnitType()
BOOL = Scalar("bool")
I64 = Scalar("i64")


def show_dims(dims: Iterable[Dim]) -> str:
    """Dimensions as in a tensor type."""
    return ", ".join(f"*{d.name}" if isinstance(d, Pack) else str(d) for d in dims)


def show_arguments(arguments: tuple[GenericValue, ...]) -> str:
    """Generic arguments in angle brackets, or nothing."""
    if not arguments:
        return ""
    shown = [f"[{show_dims(a)}]" if isinstance(a, tuple) else str(a) for a in arguments]
    return f"<{', '.join(shown)}>"


def count(dims: Dims) -> Poly:
    """The number of elements."""
    total = ONE
    for dim in dims:
        total = total * (of(dim.count) if isinstance(dim, Pack) else dim)
    return total


@dataclass
class Substitution:
    """Values for generics."""

    sizes: dict[Atom, Poly] = field(default_factory=dict)
    packs: dict[Pack, Dims] = field(default_factory=dict)
    dtypes: dict[DTypeVar, DType] = field(default_factory=dict)

    def bind(self, key: GenericKey, value: GenericValue) -> None:
        """Sets the value of one generic."""
        if isinstance(key, Pack):
            assert isinstance(value, tuple)
            self.packs[key] = value
            self.sizes[key.count] = count(value)
        elif isinstance(key, DTypeVar):
            assert isinstance(value, (str, DTypeVar))
            self.dtypes[key] = value
        else:
            assert isinstance(value, Poly)
            self.sizes[key] = value

    def bound(self, key: GenericKey) -> bool:
        """Whether the generic has a value."""
        return key in self.packs or key in self.dtypes or key in self.sizes

    def get(self, key: GenericKey) -> GenericValue:
        """The value of a bound generic."""
        if isinstance(key, Pack):
            return self.packs[key]
        return self.dtypes[key] if isinstance(key, DTypeVar) else self.sizes[key]

    def poly(self, p: Poly) -> Poly:
        """A size with generics replaced."""
        return p.substitute(self.sizes)

    def dims(self, dims: Dims) -> Dims:
        """Dimensions with generics replaced; a pack becomes its dimensions."""
        found: list[Dim] = []
        for dim in dims:
            if isinstance(dim, Pack):
                found += self.packs.get(dim, (dim,))
            else:
                found.append(dim.substitute(self.sizes))
        return tuple(found)

    def dtype(self, dtype: DType) -> DType:
        """A dtype with generics replaced."""
        return self.dtypes.get(dtype, dtype) if isinstance(dtype, DTypeVar) else dtype

    def argument(self, value: GenericValue) -> GenericValue:
        """A generic argument with generics replaced."""
        if isinstance(value, Poly):
            return self.poly(value)
        return self.dims(value) if isinstance(value, tuple) else self.dtype(value)

    def arguments(self, values: tuple[GenericValue, ...]) -> tuple[GenericValue, ...]:
        """All of them."""
        return tuple(self.argument(value) for value in values)

    def constraint(self, constraint: Constraint) -> Constraint:
        """A constraint with generics replaced."""
        operator, left, right = constraint
        return Constraint(operator, self.poly(left), self.poly(right))

    def type(self, t: Type) -> Type:
        """A type with generics replaced."""
        if isinstance(t, Tensor):
            dims = self.dims(t.dims)
            # A pack of no dimensions leaves a scalar.
            return Tensor(dims, self.dtype(t.dtype)) if dims else Scalar(self.dtype(t.dtype))
        if isinstance(t, Scalar):
            return Scalar(self.dtype(t.dtype))
        if isinstance(t, TupleType):
            return TupleType(tuple(map(self.type, t.items)))
        if isinstance(t, OptionalType):
            return OptionalType(self.type(t.inner))
        if isinstance(t, StructType):
            return StructType(t.definition, self.arguments(t.arguments))
        if isinstance(t, BlockType):
            return BlockType(t.definition, self.arguments(t.arguments))
        if isinstance(t, ArrayType):
            element = self.type(t.element)
            assert isinstance(element, BlockType)
            return ArrayType(element, self.poly(t.size))
        if isinstance(t, CompileInt):
            return CompileInt(self.poly(t.poly))
        return t


def every(results: list[bool]) -> bool:
    """Whether all hold. A list, unlike a generator in `all`, evaluates each for its reports."""
    return all(results)


def contains_literal(t: Type) -> bool:
    """Whether a type has a part that still adopts its dtype from elsewhere."""
    if isinstance(t, TupleType):
        return any(map(contains_literal, t.items))
    if isinstance(t, OptionalType):
        return contains_literal(t.inner)
    return isinstance(t, (CompileInt, FloatLiteralType, NoneType))


def contains_optional(t: Type) -> bool:
    """Whether presence is part of the type."""
    if isinstance(t, TupleType):
        return any(map(contains_optional, t.items))
    if isinstance(t, StructType):
        return any(map(contains_optional, t.definition.fields.values()))
    return isinstance(t, (OptionalType, NoneType))
