"""The key `linnet` of a declaration: which Linnet ops and step kinds an operator computes."""

from __future__ import annotations

import re

from .declaration import Attribute, Linnet, LinnetSource, Tensor
from .document import Value

#: `mask` or `mask[:, None]`.
_VIEWED = re.compile(r"(?P<name>\w+)(?:\[(?P<items>(?::|None)(?:\s*,\s*(?::|None))*)\])?$")


def read_linnet(
    value: Value | None, inputs: tuple[Tensor, ...], attributes: tuple[Attribute, ...]
) -> tuple[Linnet, ...]:
    """A key with `::` is an op, whose arguments have names; any other is a step kind, whose
    operands have positions. Attributes that are not mentioned keep their default.
    """
    if value is None:
        return ()
    names = (*(tensor.name for tensor in inputs), *(one.name for one in attributes))
    tensors = frozenset(tensor.name for tensor in inputs)
    found: list[Linnet] = []
    for key, item in value.mapping().items():
        is_op = "::" in key
        pairs: list[tuple[str, LinnetSource]] = []
        when: tuple[tuple[str, str], ...] = ()
        for name, target in item.mapping().items():
            if name == "when" and not is_op:
                when = tuple((field, one.text()) for field, one in target.mapping().items())
                continue
            if name not in names:
                raise target.error(f"`{name}` is no input or attribute: {', '.join(names)}")
            pairs.append((name, _source(target, is_op, name in tensors)))
        given = dict(pairs)
        missing = [t.name for t in inputs if not t.optional and t.name not in given]
        missing += [a.name for a in attributes if not a.has_default and a.name not in given]
        if missing:
            raise item.error(f"nothing is said about {', '.join(missing)}")
        found.append(Linnet(key if is_op else None, None if is_op else key, tuple(pairs), when))
    return tuple(found)


def _source(target: Value, is_op: bool, is_tensor: bool) -> LinnetSource:
    if target.is_mapping():
        if is_tensor:
            raise target.error("a tensor comes from an argument or operand")
        return _fixed(target)
    if not is_op:
        return LinnetSource("operand", target.integer())
    match = _VIEWED.match(target.text())
    if match is None:
        raise target.error(
            f"expected an argument, or one with a view such as `mask[:, None]`, got "
            f"{target.text()!r}"
        )
    items = match["items"]
    view = tuple(part.strip() for part in items.split(",")) if items else ()
    if view and not is_tensor:
        raise target.error("only a tensor has a view")
    return LinnetSource("argument", match["name"], view)


def _fixed(target: Value) -> LinnetSource:
    """An attribute's value that no argument gives."""
    fields = target.mapping()
    ((kind, item), *others) = list(fields.items()) or [("", target)]
    if others or kind not in ("value", "attribute", "result"):
        raise target.error("expected one of `value`, `attribute`, `result`")
    if kind == "value":
        return LinnetSource("value", item.scalar())
    if kind == "result" and item.text() != "dtype":
        raise item.error(f"expected `dtype`, got {item.text()!r}")
    return LinnetSource("attribute" if kind == "attribute" else "result", item.text())
