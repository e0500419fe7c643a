"""Recognises masks that let each query see the first keys of its row, and no later one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from linnet.graph import Graph, Step

#: How a value changes from one key to the next: not at all, or it grows.
Course: TypeAlias = Literal["flat", "growing"]

_INTEGERS = frozenset(("i32", "i64", "u32", "u64"))


def is_prefix_mask(graph: Graph, mask: int) -> bool:
    """Whether a bool value is true for the first keys along its last axis and false from some key
    on, whatever the inputs: `iota <= position` and what is made of such masks by reshaping,
    broadcasting and `and`.
    """
    return _prefix(graph, mask, len(graph.values[mask].shape) - 1)


def _prefix(graph: Graph, number: int, axis: int) -> bool:
    value, step = graph.values[number], graph.producers.get(number)
    if value.dtype != "bool" or step is None:
        return False
    if step.kind == "compare":
        left, right = (
            _course(graph, n, _operand_axis(graph, step, n, axis)) for n in step.operands
        )
        least_first = step.attributes["comparison"] in ("le", "lt")
        greatest_first = step.attributes["comparison"] in ("ge", "gt")
        return (least_first and (left, right) == ("growing", "flat")) or (
            greatest_first and (left, right) == ("flat", "growing")
        )
    if step.kind == "and":
        axes = [_operand_axis(graph, step, n, axis) for n in step.operands]
        return all(
            a is not None and _prefix(graph, n, a) for n, a in zip(step.operands, axes, strict=True)
        )
    source = _source_axis(graph, step, axis)
    return source is not None and _prefix(graph, step.operands[0], source)


def _course(graph: Graph, number: int, axis: int | None) -> Course | None:
    """How a value changes along one of its axes; None where that is not known. An axis that is
    None stands for one that the value does not have.
    """
    value, step = graph.values[number], graph.producers.get(number)
    if axis is None or value.shape[axis] == 1:
        return "flat"
    if step is None or value.dtype not in _INTEGERS:
        return None
    if step.kind == "iota":
        return "growing"
    if step.kind == "fill":
        return "flat"
    if step.kind == "cast":
        return _course(graph, step.operands[0], axis)
    if step.kind in ("add", "sub"):
        left, right = (
            _course(graph, n, _operand_axis(graph, step, n, axis)) for n in step.operands
        )
        if (left, right) in (("flat", "flat"), ("growing", "flat")):
            return left
        return right if step.kind == "add" and left == "flat" else None
    source = _source_axis(graph, step, axis)
    if source is not None:
        return _course(graph, step.operands[0], source)
    repeats = (
        step.kind == "broadcast" and _operand_axis(graph, step, step.operands[0], axis) is None
    )
    return "flat" if repeats else None


def _operand_axis(graph: Graph, step: Step, operand: int, axis: int) -> int | None:
    """The axis of an operand that meets `axis` of the result when shapes align on the right; None
    where the operand is repeated along it.
    """
    missing = len(graph.values[step.results[0]].shape) - len(graph.values[operand].shape)
    own = axis - missing
    return own if own >= 0 and graph.values[operand].shape[own] != 1 else None


def _source_axis(graph: Graph, step: Step, axis: int) -> int | None:
    """The axis of a view's operand whose elements lie along `axis` of the view, in the same order;
    None for other steps, and where there is no such axis.
    """
    if step.kind == "broadcast":
        return _operand_axis(graph, step, step.operands[0], axis)
    if step.kind == "permute":
        return int(step.attributes["axes"][axis])
    if step.kind == "slice":
        return axis if step.attributes["steps"][axis] > 0 else None
    if step.kind == "reshape":
        made = graph.values[step.results[0]].shape
        return _kept_axis(graph.values[step.operands[0]].shape, made, axis)
    return None


def _kept_axis(source: Sequence[int], made: Sequence[int], axis: int) -> int | None:
    """The axis of `source` that a reshape which only adds and drops axes of size 1 keeps as
    `axis`; None for any other reshape.
    """
    if made[axis] == 1 or [n for n in source if n != 1] != [n for n in made if n != 1]:
        return None
    position = sum(1 for n in made[:axis] if n != 1)
    return [n for n, size in enumerate(source) if size != 1][position]
