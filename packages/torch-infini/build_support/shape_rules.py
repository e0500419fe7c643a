"""Turns a shape rule of operators.json into C++ statements (docs/infiniops/operators-json.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from build_support.declarations import Argument
from build_support.schemas import UnservedError

_WHOLE = re.compile(r"^(\w+)\.shape$")
_BROADCAST = re.compile(r"^broadcast\((\w+), (\w+)\)$")
_REDUCE = re.compile(r"^reduce\((\w+), (\w+), (\w+)\)$")
_REPLACE = re.compile(r"^replace\((\w+), (\w+), (.+)\)$")
_SIZE = re.compile(r"^(\w+)\.shape\[(-?\d+)\](?: // (\d+))?$")
_SLICE = re.compile(r"^\*(\w+)\.shape\[(-?\d*):(-?\d*)\]$")


def shape_statements(
    output: Argument, tensors: Mapping[str, str], values: Mapping[str, str], shape: str
) -> Iterator[str]:
    """Yields statements that append the sizes of `output` to the C++ variable `shape`.

    Args:
        output: the result.
        tensors: the C++ variable of each input.
        values: the C++ variable of each attribute.
        shape: the C++ variable that takes the sizes.

    Raises:
        UnservedError: the rule is of no known form.
    """
    rule = output.shape or ""
    try:
        yield from _statements(rule, tensors, values, shape)
    except KeyError as error:
        raise UnservedError(
            f"the shape rule {rule!r} of its result reads {error}, which nothing gives"
        ) from error


def _statements(
    rule: str, tensors: Mapping[str, str], values: Mapping[str, str], shape: str
) -> Iterator[str]:
    if match := _WHOLE.match(rule):
        yield f"AppendSizes({shape}, {tensors[match[1]]}, 0, kToEnd);"
    elif match := _BROADCAST.match(rule):
        yield f"AppendBroadcast({shape}, {tensors[match[1]]}, {tensors[match[2]]});"
    elif match := _REDUCE.match(rule):
        tensor, dims = tensors[match[1]], values[match[2]]
        keepdim = values.get(match[3], "false")
        yield f"AppendReduced({shape}, {tensor}, Dims({dims}).Of({tensor}), {keepdim});"
    elif match := _REPLACE.match(rule):
        size = _size(match[3], tensors, values, rule)
        yield f"AppendReplaced({shape}, {tensors[match[1]]}, {values[match[2]]}, {size});"
    elif rule.startswith("[") and rule.endswith("]"):
        for item in re.split(r",\s*(?![^\[]*\])", rule[1:-1]):
            if match := _SLICE.match(item):
                begin, end = match[2] or "0", match[3] or "kToEnd"
                yield f"AppendSizes({shape}, {tensors[match[1]]}, {begin}, {end});"
            elif item:
                yield f"{shape}.push_back({_size(item, tensors, values, rule)});"
    else:
        raise UnservedError(f"the shape rule {rule!r} of its result is unknown")


def _size(item: str, tensors: Mapping[str, str], values: Mapping[str, str], rule: str) -> str:
    if re.fullmatch(r"\d+", item):
        return item
    if match := _SIZE.match(item):
        size = f"{tensors[match[1]]}.size({match[2]})"
        return f"{size} / {match[3]}" if match[3] else size
    if item in values:
        return values[item]
    raise UnservedError(f"the shape rule {rule!r} of its result is unknown")
