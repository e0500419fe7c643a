"""What values of the IR are while a graph is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from linnet.check.definitions import BlockDef
from linnet.check.types import ArrayType, BlockType, OptionalType, Type
from linnet.graph.bound import Bound
from linnet.graph.builder import Builder
from linnet.graph.elements import Element
from linnet.graph.model import SourceSpan, Tree
from linnet.graph.work import check_instances
from linnet.source import SourceFile, Span


@dataclass(frozen=True)
class Ref:
    """A graph value."""

    number: int


@dataclass(frozen=True)
class Instance:
    """A block instance: its path, and its block's generics."""

    block: BlockDef
    bound: Bound
    path: str

    def child(self, name: str) -> str:
        """The path of a member."""
        return f"{self.path}.{name}" if self.path else name


@dataclass(frozen=True)
class ArrayInstance:
    """The instances of a block array."""

    items: tuple[Instance, ...]


@dataclass(frozen=True)
class Record:
    """A struct's fields."""

    fields: Mapping[str, Datum]


# None is an absent optional; int and float are values known while the graph is made.
Datum: TypeAlias = (
    "Ref | Element | Instance | ArrayInstance | Record | tuple[Datum, ...] | int | float | None"
)


def child_of(
    instance: Instance, name: str, t: Type, has_child: Callable[[Instance], bool]
) -> Datum:
    """The child instance `name` of type `t`."""
    path = instance.child(name)
    if isinstance(t, OptionalType):
        assert isinstance(t.inner, BlockType)
        found = make_instance(t.inner, instance.bound, path)
        return found if has_child(found) else None
    if isinstance(t, ArrayType):
        count = instance.bound.size(t.size)
        check_instances(count, path)
        return ArrayInstance(
            tuple(make_instance(t.element, instance.bound, f"{path}.{i}") for i in range(count))
        )
    assert isinstance(t, BlockType)
    return make_instance(t, instance.bound, path)


def make_instance(t: BlockType, outer: Bound, path: str) -> Instance:
    """An instance of a block type whose arguments are in terms of `outer`."""
    bound = Bound()
    for generic, value in zip(t.definition.generics, t.arguments, strict=True):
        bound.bind(generic.key, outer.argument(value))
    return Instance(t.definition, bound, path)


def settled(builder: Builder, datum: Datum) -> Datum:
    """A datum whose numbers known while the graph is made are constants of the graph."""
    if isinstance(datum, (int, float)):
        return Ref(builder.constant(datum, "i64" if isinstance(datum, int) else "f64"))
    if isinstance(datum, Element):
        assert not datum.axes
        return Ref(datum.number)
    if isinstance(datum, tuple):
        return tuple(settled(builder, d) for d in datum)
    if isinstance(datum, Record):
        return Record({name: settled(builder, d) for name, d in datum.fields.items()})
    return datum


def flatten(datum: Datum) -> tuple[int, ...]:
    """The graph values of a datum, in order."""
    if datum is None:
        return ()
    if isinstance(datum, Ref):
        return (datum.number,)
    if isinstance(datum, tuple):
        return tuple(n for d in datum for n in flatten(d))
    assert isinstance(datum, Record), datum
    return tuple(n for d in datum.fields.values() for n in flatten(d))


def unflatten(like: Datum, numbers: list[int]) -> Datum:
    """A datum of the same structure; takes its values off the front of `numbers`."""
    if like is None:
        return None
    if isinstance(like, Ref):
        return Ref(numbers.pop(0))
    if isinstance(like, tuple):
        return tuple(unflatten(d, numbers) for d in like)
    assert isinstance(like, Record), like
    return Record({name: unflatten(d, numbers) for name, d in like.fields.items()})


def tree_of(datum: Datum) -> Tree:
    """A datum as the tree that a graph records."""
    if datum is None:
        return None
    if isinstance(datum, (Ref, Element)):
        return datum.number
    if isinstance(datum, tuple):
        return tuple(tree_of(d) for d in datum)
    assert isinstance(datum, Record), datum
    return {name: tree_of(d) for name, d in datum.fields.items()}


def source_span(file: SourceFile, span: Span) -> SourceSpan:
    """A span with lines and columns."""
    start, end = file.position(span.start), file.position(span.end)
    return SourceSpan(file.name, start.line, start.column, end.line, end.column)
