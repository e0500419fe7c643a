"""Index notation as whole-tensor steps.

Inside a comprehension every value is an element: a tensor whose axes are named by indices. The
operations of its region run on all elements at once; operands are brought to common axes by
`permute` and `reshape`, and reductions become `reduce` or, for sums of products over shared
indices, `contract`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from linnet.graph.builder import Builder
from linnet.graph.model import SourceSpan
from linnet.graph.verify import broadcast_shapes

Axis = tuple[int, int]


@dataclass(frozen=True)
class Element:
    """A tensor whose axes are indices; no axes for a scalar."""

    number: int
    axes: tuple[Axis, ...]


class ElementSteps:
    """Emits the steps of one comprehension. `order` ranks axes, outputs before reduced ones."""

    def __init__(self, builder: Builder, span: SourceSpan | None) -> None:
        self.builder = builder
        self.span = span
        self.order: dict[Axis, int] = {}
        self.sizes: dict[Axis, int] = {}
        self.index_axes: dict[int, tuple[Axis, ...]] = {}

    def declare(self, index: int, sizes: tuple[int, ...]) -> tuple[Axis, ...]:
        """The axes of an index: one, or any number for a pack index."""
        axes = tuple((index, k) for k in range(len(sizes)))
        for axis, size in zip(axes, sizes, strict=True):
            self.order[axis] = len(self.order)
            self.sizes[axis] = size
        self.index_axes[index] = axes
        return axes

    # Steps with one result

    def shape(self, number: int) -> tuple[int, ...]:
        """The shape of a value."""
        return self.builder.values[number].shape

    def dtype(self, number: int) -> str:
        """The dtype of a value."""
        return self.builder.values[number].dtype

    def emit(
        self,
        kind: str,
        operands: tuple[int, ...],
        shape: tuple[int, ...],
        dtype: str,
        **attributes: Any,
    ) -> int:
        """One step with one result."""
        return self.builder.step(kind, operands, [(shape, dtype)], self.span, attributes)[0]

    def reshape(self, number: int, shape: tuple[int, ...]) -> int:
        """`number` in another shape, if it is another."""
        if self.shape(number) == shape:
            return number
        return self.emit("reshape", (number,), shape, self.dtype(number))

    def permute(self, number: int, axes: tuple[int, ...]) -> int:
        """`number` with its axes in another order, if it is another."""
        if axes == tuple(range(len(axes))):
            return number
        shape = tuple(self.shape(number)[a] for a in axes)
        return self.emit("permute", (number,), shape, self.dtype(number), axes=axes)

    # Axes

    def ranked(self, axes: set[Axis]) -> tuple[Axis, ...]:
        """Axes in their common order."""
        return tuple(sorted(axes, key=self.order.__getitem__))

    def aligned(self, element: Element, axes: tuple[Axis, ...]) -> int:
        """A value that broadcasts over `axes`: sorted, size 1 where the element lacks an axis."""
        if not element.axes:
            return element.number
        wanted = tuple(a for a in axes if a in element.axes)
        number = self.permute(element.number, tuple(element.axes.index(a) for a in wanted))
        first = axes.index(wanted[0])
        shape = tuple(self.sizes[a] if a in element.axes else 1 for a in axes[first:])
        return self.reshape(number, shape)

    def elementwise(
        self, kind: str, elements: list[Element], dtype: str, attributes: dict[str, Any]
    ) -> Element:
        """An elementwise step over the axes of all operands."""
        axes = self.ranked({a for e in elements for a in e.axes})
        numbers = tuple(self.aligned(e, axes) for e in elements)
        shape = broadcast_shapes(*(self.shape(n) for n in numbers))
        assert shape is not None
        number = self.emit(kind, numbers, shape, dtype, **attributes)
        return Element(number, axes)

    # Reading

    def read(
        self,
        base: int,
        parts: tuple[tuple[str, Any], ...],
        elements: list[Element],
        size: Callable[[Any], int],
    ) -> Element:
        """`base[parts]`; an `element` part names one of `elements`."""
        axes: list[Axis | int | None] = []
        starts, stops = [], []
        for kind, value in parts:
            if kind == "index":
                for axis in self.index_axes[value]:
                    starts.append(0)
                    stops.append(self.shape(base)[len(axes)])
                    axes.append(axis)
            elif kind == "constant":
                at = size(value)
                starts.append(at)
                stops.append(at + 1)
                axes.append(None)
            else:
                starts.append(0)
                stops.append(self.shape(base)[len(axes)])
                axes.append(value)
        number = base
        if None in axes:
            shape = tuple(b - a for a, b in zip(starts, stops, strict=True))
            number = self.emit(
                "slice",
                (number,),
                shape,
                self.dtype(base),
                starts=tuple(starts),
                stops=tuple(stops),
                steps=(1,) * len(axes),
            )
            kept = tuple(s for s, a in zip(shape, axes, strict=True) if a is not None)
            number = self.reshape(number, kept)
        present = [a for a in axes if a is not None]
        plain = [a for a in present if isinstance(a, tuple)]
        gathered = len(plain) < len(present) or len(set(plain)) < len(plain)
        if not gathered:
            return Element(number, tuple(plain))
        return self.gather(number, present, elements)

    def gather(self, number: int, axes: list[Axis | int], elements: list[Element]) -> Element:
        """Reads at computed positions; an index that repeats or takes part in one counts up."""
        taken = [elements[a] for a in axes if isinstance(a, int)]
        inside = {axis for e in taken for axis in e.axes}
        plain = [a for a in axes if isinstance(a, tuple)]
        inside |= {a for a in plain if plain.count(a) > 1}
        common = self.ranked(inside)
        positions: list[int] = []
        operands: list[int] = [number]
        rest: list[Axis] = []
        for place, axis in enumerate(axes):
            if isinstance(axis, int):
                element = elements[axis]
            elif axis in inside:
                counter = self.emit("iota", (), (self.sizes[axis],), "i64")
                element = Element(counter, (axis,))
            else:
                rest.append(axis)
                continue
            positions.append(place)
            operands.append(self.aligned(element, common))
        shapes = [self.shape(n) for n in operands[1:]]
        shape = broadcast_shapes(*shapes)
        assert shape is not None
        source = self.shape(number)
        left = tuple(s for place, s in enumerate(source) if place not in positions)
        result = self.emit(
            "element", tuple(operands), (*shape, *left), self.dtype(number), axes=tuple(positions)
        )
        return Element(result, (*common, *rest))

    # Reducing

    def reduce(self, reduction: str, element: Element, axes: tuple[Axis, ...]) -> Element:
        """Reduces an element over axes that it has."""
        places = tuple(element.axes.index(a) for a in axes)
        if not places:
            return element
        shape = tuple(s for k, s in enumerate(self.shape(element.number)) if k not in places)
        number = self.emit(
            "reduce",
            (element.number,),
            shape,
            self.dtype(element.number),
            reduction=reduction,
            axes=places,
        )
        return Element(number, tuple(a for a in element.axes if a not in axes))

    def contracts(self, left: Element, right: Element, axes: tuple[Axis, ...]) -> bool:
        """Whether a sum of products is better one step: both share what is summed, not all else."""
        a, b = set(left.axes), set(right.axes)
        return bool(axes) and set(axes) <= a and set(axes) <= b and a != b

    def contract(self, left: Element, right: Element, axes: tuple[Axis, ...]) -> Element:
        """The sum over `axes` of left * right."""
        output = self.ranked((set(left.axes) | set(right.axes)) - set(axes))
        labels: dict[Axis, int] = {}
        for axis in (*left.axes, *right.axes):
            labels.setdefault(axis, len(labels))
        number = self.emit(
            "contract",
            (left.number, right.number),
            tuple(self.sizes[a] for a in output),
            self.dtype(left.number),
            inputs=tuple(tuple(labels[a] for a in e.axes) for e in (left, right)),
            output=tuple(labels[a] for a in output),
        )
        return Element(number, output)

    # Finishing

    def whole(self, element: Element, axes: tuple[Axis, ...]) -> int:
        """The tensor over exactly these axes, in this order."""
        shape = tuple(self.sizes[a] for a in axes)
        number = self.aligned(element, axes)
        if self.shape(number) == shape:
            return number
        return self.emit("broadcast", (number,), shape, self.dtype(number))
