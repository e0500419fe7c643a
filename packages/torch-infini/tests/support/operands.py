"""Operands for every registered operator, so that tests can be made from the list of them.

An operator that PyTorch calls pointwise, and a reduction, gets its operands from the types of its
arguments. Any other has to be in `SPECIAL`: one that is not makes every test here fail by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from torch_infini import _native

#: Where both signs are not in the domain.
POSITIVE = {"log", "sqrt", "rsqrt", "pow"}
#: Pointwise, though PyTorch does not call them so.
UNTAGGED = {"floor_divide", "where"}
REDUCTIONS = {"amax", "amin", "argmax", "argmin", "logsumexp", "max", "mean", "min", "sum"}
ALONG = {"cumsum": (), "_softmax": (False,), "_log_softmax": (False,)}


class Source:
    """Draws operands of one element type; floating ones are apart, and away from 0."""

    def __init__(self, dtype: torch.dtype, *, positive: bool = False, seed: int = 0) -> None:
        self.dtype = dtype
        self._positive = positive
        self._generator = torch.Generator().manual_seed(seed)

    def values(self, *shape: int) -> Tensor:
        """A tensor of the element type."""
        if self.dtype == torch.bool:
            return torch.rand(shape, generator=self._generator) > 0.5
        if not self.dtype.is_floating_point and not self.dtype.is_complex:
            drawn = torch.randint(1, 9, shape, generator=self._generator)
            signs = torch.randint(0, 2, shape, generator=self._generator) * 2 - 1
            return (drawn if self._positive else drawn * signs).to(self.dtype)
        real = self._reals(shape)
        if self.dtype.is_complex:
            return torch.complex(real, self._reals(shape)).to(self.dtype)
        return real.to(self.dtype)

    def _reals(self, shape: tuple[int, ...]) -> Tensor:
        drawn = torch.rand(shape, dtype=torch.float64, generator=self._generator) * 1.5 + 0.5
        signs = (torch.rand(shape, generator=self._generator) > 0.4) * 2.0 - 1
        return drawn if self._positive else drawn * signs

    def mask(self, *shape: int) -> Tensor:
        return torch.rand(shape, generator=self._generator) > 0.5

    def places(self, count: int, *shape: int) -> Tensor:
        """Numbers from 0 to `count`, without the last; distinct where they fit in a row."""
        if len(shape) == 1 and shape[0] <= count:
            return torch.randperm(count, generator=self._generator)[: shape[0]]
        return torch.randint(count, shape, generator=self._generator)


Arguments = tuple[Any, ...]

SPECIAL: dict[str, Callable[[Source], Arguments]] = {
    "addmm": lambda s: (s.values(3, 5), s.values(3, 4), s.values(4, 5)),
    "bmm": lambda s: (s.values(2, 3, 4), s.values(2, 4, 5)),
    "cat": lambda s: ([s.values(2, 4), s.values(3, 4)], 0),
    "embedding": lambda s: (s.values(6, 4), s.places(6, 2, 3)),
    "gather": lambda s: (s.values(3, 4), 1, s.places(4, 3, 2)),
    "index_select": lambda s: (s.values(3, 4), 1, s.places(4, 3)),
    "layer_norm": lambda s: (s.values(3, 4), [4], s.values(4), s.values(4), 1e-5),
    "linear": lambda s: (s.values(3, 4), s.values(5, 4), s.values(5)),
    "mm": lambda s: (s.values(3, 4), s.values(4, 5)),
    "native_layer_norm": lambda s: (s.values(3, 4), [4], s.values(4), s.values(4), 1e-5),
    "rms_norm": lambda s: (s.values(3, 4), [4], s.values(4), 1e-5),
    "scatter": lambda s: (s.values(3, 4), 1, s.places(4, 2).expand(3, 2), s.values(3, 2)),
    "where": lambda s: (s.mask(3, 4), s.values(3, 4), s.values(3, 4)),
    "_fused_rms_norm": lambda s: (s.values(3, 4), [4], s.values(4), 1e-5),
}

#: Registered for one caller of PyTorch's, which tests of their own go through.
THROUGH_A_CALLER = {
    "aten::_scaled_dot_product_fused_attention_overrideable": "scaled_dot_product_attention",
}


@dataclass(frozen=True)
class Registered:
    """A registered operator that makes its results, and the forms that write into given ones."""

    name: str  # "aten::add.Tensor"
    function: Any
    out: Any | None
    in_place: Any | None

    @property
    def base(self) -> str:
        return self.name.removeprefix("aten::").partition(".")[0]

    @property
    def pointwise(self) -> bool:
        return torch.Tag.pointwise in self.function.tags or self.base in UNTAGGED

    def arguments(self, dtype: torch.dtype | None = None, seed: int = 0) -> Arguments:
        """Arguments on the CPU, without those that have defaults.

        Without `dtype`, of float32, or of int64 where the operator has no floating operands.
        """
        usual = torch.int64 if self.base.startswith("bitwise") else torch.float32
        source = Source(dtype or usual, positive=self.base in POSITIVE, seed=seed)
        if self.base in SPECIAL:
            return SPECIAL[self.base](source)
        schema = self.function._schema
        if self.base in REDUCTIONS:
            typed = {item.name: str(item.type) for item in schema.arguments}
            given = [1] if typed["dim"].startswith(("List", "Optional[List")) else 1
            return (source.values(3, 4), given)
        if self.base in ALONG:
            return (source.values(3, 4), 1, *ALONG[self.base])
        if not self.pointwise:
            raise KeyError(f"{self.name} has no operands: add some to SPECIAL in {__file__}")
        return tuple(
            self._operand(source, item.name, str(item.type))
            for item in schema.arguments
            if not item.has_default_value() or item.name in ("min", "max")
        )

    def _operand(self, source: Source, name: str, type_name: str) -> Any:
        if type_name == "Tensor":
            return source.values(3, 4)
        if type_name in ("number", "Optional[number]"):
            bound = {"min": -1, "max": 1}.get(name, 2)
            return bound if not source.dtype.is_floating_point else bound * 0.75
        raise KeyError(f"{self.name}: nothing gives `{name}`, a {type_name}; see {__file__}")


def overload(name: str) -> Any:
    """The function of "aten::add.Tensor" in `torch.ops`."""
    base, _, variant = name.removeprefix("aten::").partition(".")
    return getattr(getattr(torch.ops.aten, base), variant or "default")


def _inputs(function: Any) -> list[tuple[str, str]]:
    return [(item.name, str(item.type)) for item in function._schema.arguments if not item.is_out]


def _writes(function: Any) -> bool:
    return any(
        item.alias_info is not None and item.alias_info.is_write
        for item in function._schema.arguments
    )


def _operators() -> Iterator[Registered]:
    functions = {name: overload(name) for name in _native.registered_overloads()}
    plain = {name: function for name, function in functions.items() if not _writes(function)}
    writing = {name: function for name, function in functions.items() if _writes(function)}
    claimed: set[str] = set()
    for name, function in plain.items():
        base = function._schema.name
        forms: dict[bool, Any] = {}
        for other, form in writing.items():
            is_out = any(item.is_out for item in form._schema.arguments)
            wanted = base if is_out else f"{base}_"
            types = [kind for _, kind in _inputs(form)] == [kind for _, kind in _inputs(function)]
            if form._schema.name == wanted and types:
                forms[is_out] = form
                claimed.add(other)
        yield Registered(name, function, forms.get(True), forms.get(False))
    if left := set(writing) - claimed:
        raise AssertionError(f"forms of no registered operator: {', '.join(sorted(left))}")


#: Every registered operator but those of `THROUGH_A_CALLER`.
OPERATORS = [found for found in _operators() if found.name not in THROUGH_A_CALLER]


def on(device: str | torch.device, value: Any) -> Any:
    """`value` with every tensor in it on `device`, in a layout of its own."""
    if isinstance(value, Tensor):
        return value.to(device)
    if isinstance(value, (list, tuple)):
        return type(value)(on(device, item) for item in value)
    return value


def tensors_of(value: Any) -> list[Tensor]:
    """The tensors in a result or in arguments, in their order."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in tensors_of(item)]
    return []


def replaced(value: Any, change: Callable[[Tensor], Tensor], which: int) -> Any:
    """Arguments with tensor number `which` replaced by what `change` makes of it."""
    count = -1

    def walk(item: Any) -> Any:
        nonlocal count
        if isinstance(item, Tensor):
            count += 1
            return change(item) if count == which else item
        if isinstance(item, (list, tuple)):
            return type(item)(walk(each) for each in item)
        return item

    return walk(value)


def instead(_: Tensor, new: Tensor) -> Tensor:
    """`new`: a change for `replaced`."""
    return new
