"""What a declaration says, as frozen records. `read.py` makes them; every generator takes them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .shapes import Shape

SCHEMA = 1

DTYPE_CLASSES: dict[str, tuple[str, ...]] = {
    "bool": ("bool",),
    "integer": ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    "floating": ("float16", "bfloat16", "float32", "float64"),
    "complex": ("complex64", "complex128"),
}
"""Classes of element types that a declaration may name, and their members."""

DTYPES = tuple(dtype for members in DTYPE_CLASSES.values() for dtype in members)
"""Every element type that a declaration may name, in the order that outputs list them."""

AttributeType = Literal["scalar", "double", "int", "bool", "dim", "dims", "enum", "dtype"]
"""`dim` is a dimension of an input, negative from the end; `dims` a set of them, where none means
all; `enum` one of a few words; `dtype` an element type.
"""


@dataclass(frozen=True)
class Tolerance:
    """How far a result may lie from the oracle: in units of the last place, or as two bounds."""

    ulp: int | None = None
    relative: float = 0.0
    absolute: float = 0.0


@dataclass(frozen=True)
class Tensor:
    """A tensor argument, or a list of them.

    `dtypes` is empty when it follows `like`, the dtype attribute `dtype_of`, or `sum_of`: the dtype
    of that input, and int64 where it is bool or an integer.
    """

    name: str
    doc: str
    like: str | None
    dtypes: tuple[str, ...]
    least_rank: int
    greatest_rank: int | None
    shape: Shape | None
    optional: bool = False
    is_list: bool = False
    below: str | None = None
    """For an input of positions: the bound of its elements, as a size of another input."""
    may_alias: tuple[str, ...] = ()
    written: bool = False
    """An input that the operator also writes, as a cache; it overlaps no other argument."""
    dtype_of: str | None = None
    sum_of: str | None = None


@dataclass(frozen=True)
class Attribute:
    """An argument that is no tensor.

    `like` names the input whose dtype must hold a scalar, `of` the one whose dimension a `dim` or
    `dims` names, `values` the words of an `enum`, `dtypes` the element types that a `dtype` may
    be. An `optional` one may be absent, which is its default.
    """

    name: str
    doc: str
    type: AttributeType
    default: int | float | bool | str | None
    has_default: bool
    minimum: int | float | None
    like: str | None
    of: str | None = None
    optional: bool = False
    values: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Aten:
    """An `aten::` overload that the operator serves: our argument -> its argument or result."""

    overload: str
    arguments: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class LinnetSource:
    """Where an argument's value comes from.

    `kind` says what `what` is: the op's `argument` by name or the step's `operand` by position,
    with `view` (`:` and `None`, as an index) for a tensor; and for an attribute also a fixed
    `value`, a step's `attribute` by name, or of the `result` its dtype.
    """

    kind: Literal["argument", "operand", "value", "attribute", "result"]
    what: object
    view: tuple[str, ...] = ()

    def record(self) -> object:
        """The source as operators.json has it."""
        if self.kind in ("argument", "operand") and not self.view:
            return self.what
        return {self.kind: self.what, **({"view": list(self.view)} if self.view else {})}


@dataclass(frozen=True)
class Linnet:
    """A Linnet op (`module::name`) or step kind that the operator computes: our argument -> where
    its value comes from. `when` are attributes that the step must have.
    """

    op: str | None
    step: str | None
    arguments: tuple[tuple[str, LinnetSource], ...]
    when: tuple[tuple[str, str], ...] = ()

    def record(self) -> dict[str, object]:
        """The entry as operators.json has it."""
        record: dict[str, object] = {"op": self.op} if self.op else {"step": self.step}
        if self.when:
            record["when"] = dict(self.when)
        record["arguments"] = {name: source.record() for name, source in self.arguments}
        return record


@dataclass(frozen=True)
class Cases:
    """What the sweep and the benchmark run instead of their defaults.

    `values` says how an input is filled: `normal`, `positive`, `nonzero`, `small`, or
    `index NAME DIM` for positions along a dimension (a number or an attribute) of another input.
    `attributes` are sets of attribute values, `shapes` named cases: input -> shape, or for a list
    of tensors the list of their shapes.
    """

    values: tuple[tuple[str, str], ...] = ()
    attributes: tuple[dict[str, object], ...] = ()
    shapes: tuple[tuple[str, dict[str, object]], ...] = ()


@dataclass(frozen=True)
class Operator:
    """One declaration."""

    path: Path
    name: str
    group: str
    smoke: bool
    default_sweep: bool
    """Whether the default sweep and benchmark fit; False: the tests have their own."""
    summary: str
    details: str
    agrees_with: str
    inputs: tuple[Tensor, ...]
    attributes: tuple[Attribute, ...]
    outputs: tuple[Tensor, ...]
    accumulate: str
    rounds: str
    tolerance: tuple[tuple[str, Tolerance], ...]
    aten: tuple[Aten, ...]
    linnet: tuple[Linnet, ...]
    main: str
    positional: tuple[str, ...]
    sweep: Cases
    benchmark: Cases

    @property
    def class_name(self) -> str:
        """The C++ class: `rms_norm` -> `RmsNorm`."""
        return camel_case(self.name)

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The element types of the main input, which the operator is listed under."""
        return next(tensor.dtypes for tensor in self.inputs if tensor.name == self.main)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """Inputs, then outputs."""
        return self.inputs + self.outputs

    @property
    def written(self) -> tuple[Tensor, ...]:
        """The inputs that the operator also writes."""
        return tuple(tensor for tensor in self.inputs if tensor.written)

    def dtypes_of(self, tensor: Tensor) -> tuple[str, ...]:
        """The element types of `tensor`, following `like`."""
        if tensor.dtype_of is not None:
            return next(item.dtypes for item in self.attributes if item.name == tensor.dtype_of)
        if tensor.sum_of is not None:
            own = self.dtypes_of(next(one for one in self.inputs if one.name == tensor.sum_of))
            return tuple(dtype for dtype in DTYPES if dtype in {sum_dtype(one) for one in own})
        if tensor.like is None:
            return tensor.dtypes
        return self.dtypes_of(next(other for other in self.inputs if other.name == tensor.like))


def sum_dtype(dtype: str) -> str:
    """The element type of sums: bools and integers are added up in int64."""
    return "int64" if dtype in (*DTYPE_CLASSES["bool"], *DTYPE_CLASSES["integer"]) else dtype


def camel_case(name: str) -> str:
    """`rms_norm` -> `RmsNorm`."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))
