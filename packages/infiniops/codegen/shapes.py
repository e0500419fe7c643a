"""Shape rules: the small language in which a declaration says what shape a tensor has.

The text is a Python expression of one of these forms, where NAME is an argument:

    NAME.shape                          the shape of another tensor
    broadcast(NAME, NAME, ...)          the shape that several tensors broadcast to
    reduce(NAME, DIMS, KEEPDIM)         a tensor's shape without the dimensions that the attribute
                                        DIMS names; with size 1 there where KEEPDIM is true
    concat(NAME, DIM)                   the tensors of a list one after another along DIM
    replace(NAME, DIM, ITEM)            a tensor's shape with ITEM as the size of DIM
    matmul(NAME, NAME)                  the shape of a matrix product, as torch.matmul has it
    matmul(NAME, NAME, ADDEND)          the same; ADDEND, if it is there, broadcasts to it
    [ITEM, ITEM, ...]                   one ITEM per dimension:
        3                                 that size
        _                                 any size
        NAME.shape[-1]                    a size of another tensor
        NAME.shape[-1] // 2               a part of a size, which must divide it
        ATTRIBUTE                         the value of an integer attribute
        *NAME.shape[:-1]                  several sizes of another tensor
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Literal:
    """A fixed size."""

    size: int


@dataclass(frozen=True)
class Any:
    """Any size."""


@dataclass(frozen=True)
class Size:
    """`tensor.shape[index] // divisor`."""

    tensor: str
    index: int
    divisor: int = 1


@dataclass(frozen=True)
class Value:
    """The value of an integer attribute."""

    attribute: str


@dataclass(frozen=True)
class Slice:
    """`*tensor.shape[begin:end]`; None means from the start or to the end."""

    tensor: str
    begin: int | None
    end: int | None


Item = Literal | Any | Size | Slice | Value


@dataclass(frozen=True)
class Reduce:
    """`reduce(tensor, dims, keepdim)`."""

    tensor: str
    dims: str
    keepdim: str


@dataclass(frozen=True)
class Concat:
    """`concat(tensors, dim)`."""

    tensors: str
    dim: str


@dataclass(frozen=True)
class Replace:
    """`replace(tensor, dim, item)`."""

    tensor: str
    dim: str
    item: Item


@dataclass(frozen=True)
class Product:
    """`matmul(left, right)` or `matmul(left, right, addend)`."""

    left: str
    right: str
    addend: str | None


@dataclass(frozen=True)
class Shape:
    """A shape rule: its text, and the tensors to broadcast, a function, or one item per
    dimension.
    """

    text: str
    broadcast: tuple[str, ...] = ()
    items: tuple[Item, ...] = ()
    function: Reduce | Concat | Replace | Product | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Every tensor that the rule mentions."""
        items = list(self.items)
        whole: tuple[str, ...] = ()
        match self.function:
            case Reduce(tensor) | Concat(tensor):
                whole = (tensor,)
            case Replace(tensor, _, item):
                whole = (tensor,)
                items.append(item)
            case Product(left, right, addend):
                whole = (left, right) if addend is None else (left, right, addend)
        mentioned = (i.tensor for i in items if isinstance(i, (Size, Slice)))
        return (*self.broadcast, *whole, *mentioned)

    @property
    def fitting(self) -> str | None:
        """The tensor that the shape does not follow from but must fit; it may be absent."""
        return self.function.addend if isinstance(self.function, Product) else None

    @property
    def attributes(self) -> tuple[str, ...]:
        """Every attribute that the rule mentions."""
        items = list(self.items)
        own: tuple[str, ...] = ()
        match self.function:
            case Reduce(_, dims, keepdim):
                own = (dims, keepdim)
            case Concat(_, dim):
                own = (dim,)
            case Replace(_, dim, item):
                own = (dim,)
                items.append(item)
        return (*own, *(item.attribute for item in items if isinstance(item, Value)))

    @property
    def has_any(self) -> bool:
        """Whether some size is free."""
        return any(isinstance(item, Any) for item in self.items)

    def least_rank_of(self, tensor: str) -> int:
        """The smallest rank of `tensor` for which every index of the rule exists."""
        ranks = [0]
        items = (
            (*self.items, self.function.item) if isinstance(self.function, Replace) else self.items
        )
        for item in items:
            if isinstance(item, Size) and item.tensor == tensor:
                ranks.append(-item.index if item.index < 0 else item.index + 1)
        if isinstance(self.function, Product) and tensor in (
            self.function.left,
            self.function.right,
        ):
            ranks.append(1)
        return max(ranks)


def parse_shape(text: str) -> Shape:
    """Read a shape rule. Raises ValueError with what is wrong."""
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"`{text}` is not a shape rule: {error.msg}") from error
    match node:
        case ast.Attribute():
            return Shape(text, items=(Slice(_tensor(node, text), None, None),))
        case ast.Call(func=ast.Name(id="broadcast"), args=[_, _, *_], keywords=[]):
            names = tuple(arg.id for arg in node.args if isinstance(arg, ast.Name))
            if len(names) == len(node.args):
                return Shape(text, broadcast=names)
        case ast.Call(
            func=ast.Name(id="reduce"),
            args=[ast.Name(id=tensor), ast.Name(id=dims), ast.Name(id=keepdim)],
            keywords=[],
        ):
            return Shape(text, function=Reduce(tensor, dims, keepdim))
        case ast.Call(
            func=ast.Name(id="concat"), args=[ast.Name(id=tensor), ast.Name(id=dim)], keywords=[]
        ):
            return Shape(text, function=Concat(tensor, dim))
        case ast.Call(
            func=ast.Name(id="replace"),
            args=[ast.Name(id=tensor), ast.Name(id=dim), item],
            keywords=[],
        ):
            return Shape(text, function=Replace(tensor, dim, _item(item, text)))
        case ast.Call(
            func=ast.Name(id="matmul"),
            args=[ast.Name(id=left), ast.Name(id=right), *rest],
            keywords=[],
        ):
            match rest:
                case []:
                    return Shape(text, function=Product(left, right, None))
                case [ast.Name(id=addend)]:
                    return Shape(text, function=Product(left, right, addend))
        case ast.List():
            return Shape(text, items=tuple(_item(item, text) for item in node.elts))
    raise ValueError(f"`{text}` is not a shape rule")


def evaluate_shape(
    rule: Shape,
    shapes: Mapping[str, tuple[int, ...]],
    free: int = 1,
    values: Mapping[str, int] | None = None,
) -> tuple[int, ...]:
    """The shape that the items or the broadcast of `rule` give for concrete `shapes` and `values`
    of attributes; free sizes become `free`. Functions have no such value: ValueError.
    """
    if rule.function is not None:
        raise ValueError(f"`{rule.text}` has no value without its attributes")
    if rule.broadcast:
        rank = max(len(shapes[name]) for name in rule.broadcast)
        padded = [(1,) * (rank - len(shapes[name])) + shapes[name] for name in rule.broadcast]
        columns = zip(*padded, strict=True)
        return tuple(next((size for size in sizes if size != 1), 1) for sizes in columns)
    result: list[int] = []
    for item in rule.items:
        match item:
            case Literal(size):
                result.append(size)
            case Any():
                result.append(free)
            case Size(tensor, index, divisor):
                result.append(shapes[tensor][index] // divisor)
            case Value(attribute):
                result.append((values or {})[attribute])
            case Slice(tensor, begin, end):
                result.extend(shapes[tensor][begin:end])
    return tuple(result)


def _item(node: ast.expr, text: str) -> Item:
    match node:
        case ast.Constant(value=int(size)) if size >= 0 and not isinstance(size, bool):
            return Literal(size)
        case ast.Name(id="_"):
            return Any()
        case ast.Name(id=name):
            return Value(name)
        case ast.Subscript(value=ast.Attribute() as value, slice=index):
            return Size(_tensor(value, text), _integer(index, text))
        case ast.BinOp(
            left=ast.Subscript(value=ast.Attribute() as value, slice=index),
            op=ast.FloorDiv(),
            right=ast.Constant(value=int(divisor)),
        ) if divisor > 0 and not isinstance(divisor, bool):
            return Size(_tensor(value, text), _integer(index, text), divisor)
        case ast.Starred(
            value=ast.Subscript(
                value=ast.Attribute() as value, slice=ast.Slice(lower=lower, upper=upper, step=None)
            )
        ):
            begin = None if lower is None else _integer(lower, text)
            end = None if upper is None else _integer(upper, text)
            return Slice(_tensor(value, text), begin, end)
    raise ValueError(f"`{ast.unparse(node)}` in `{text}` is not a size")


def _tensor(node: ast.Attribute, text: str) -> str:
    if node.attr == "shape" and isinstance(node.value, ast.Name):
        return node.value.id
    raise ValueError(f"`{ast.unparse(node)}` in `{text}` is not the shape of an argument")


def _integer(node: ast.expr, text: str) -> int:
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return -value
    raise ValueError(f"`{ast.unparse(node)}` in `{text}` is not an index")
