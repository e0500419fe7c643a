"""IR documents as text to read: one operation a line, regions indented."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from linnet.ir.emit import generics, where

Record = dict[str, Any]
# Attributes that the line shows in other ways.
_SHOWN = ("callee", "given", "indices", "dims", "dtype", "explicit", "bindings", "cases", "parts")


def text(document: Record) -> Iterator[str]:
    """The lines of the constants and functions of a document of `linnet.ir.json`."""
    for one in document["constants"]:
        yield from constant(one, "const", "")
    for block in document["blocks"]:
        for one in block["constants"]:
            yield from constant(one, "const", f"{block['name']}.")
    for fn in document["functions"]:
        yield ""
        yield from function(fn)


def constant(one: Record, word: str, owner: str) -> Iterator[str]:
    """A constant and how it is computed."""
    yield f"{word} {owner}{one['name']}"
    yield from region(one, one["body"], "    ", "gives")


def function(fn: Record) -> Iterator[str]:
    """A function."""
    params = [f"%{p['value']} {p['name']}: {p['type']}" for p in fn["params"]]
    if fn["instance"] is not None:
        params.insert(0, f"%{fn['instance']} self")
    result = "" if fn["result"] is None else f" -> {fn['result']}"
    yield f"{fn['kind']} {fn['name']}{generics(fn)}({', '.join(params)}){result}{where(fn)}"
    for param in fn["params"]:
        if param["default"] is not None:
            yield f"  default of {param['name']}"
            yield from region(fn, param["default"], "    ", "gives")
    yield from region(fn, fn["body"], "    ", "return")
    if fn["gradient"] is not None:
        extra = fn["gradient"]["params"][len(fn["params"]) :]
        yield f"  grad({', '.join(value(fn, n) for n in extra)})"
        yield from region(fn, fn["gradient"], "    ", "return")


def region(fn: Record, node: Record, indent: str, last: str) -> Iterator[str]:
    """The operations of a region and what it gives."""
    for op in node["operations"]:
        yield indent + operation(fn, op)
        for number, inner in enumerate(op.get("regions", ())):
            yield indent + "  " + head(fn, op, number, inner)
            yield from region(fn, inner, indent + "    ", "gives")
    yield f"{indent}{last} {numbers(node['results'])}".rstrip()


def head(fn: Record, op: Record, number: int, inner: Record) -> str:
    """What stands before a nested region: the case that it is for, and its parameters."""
    names = {"if": ("then", "else"), "while": ("condition", "body")}.get(op["kind"])
    title = names[number] if names else "body"
    if op["kind"] == "match":
        case = op["attributes"]["cases"][number]
        title = case if isinstance(case, str) else case["variant"]
    params = ", ".join(value(fn, n) for n in inner["params"])
    return f"{title}({params})" if params else title


def operation(fn: Record, op: Record) -> str:
    """One operation without its regions."""
    results = ", ".join(value(fn, n) for n in op["results"])
    attributes = op["attributes"]
    words = [op["kind"]]
    if op["kind"] == "call":
        callee = attributes["callee"]
        words[0] = "semantic call" if callee["kind"] == "op" else "call"
        bound = ", ".join(f"{name} = {text}" for name, text in attributes["bindings"].items())
        words.append(callee["identity"] + (f"<{bound}>" if bound else ""))
    words.append(numbers(op["operands"]))
    words += [f"{k}={shown(v)}" for k, v in attributes.items() if k not in _SHOWN]
    if "indices" in attributes:
        axes = [
            f"{a['number']} {'*' * a['pack']}{a['name']}: {shown(a['extent'])}"
            for a in attributes["indices"]
        ]
        words.append(f"[{', '.join(axes)}]")
    if "parts" in attributes:
        words.append(f"[{', '.join(part(op, one) for one in attributes['parts'])}]")
    line = " ".join(word for word in words if word)
    return f"{results} = {line}" if results else line


def part(op: Record, one: Sequence[Any]) -> str:
    """One component of an index or slice."""
    kind, *values = one
    if kind == "index":
        return f"index {values[0]}"
    if kind == "element":
        return f"%{op['operands'][values[0]]}"
    return f"{kind} {':'.join(shown(v) for v in values)}"


def value(fn: Record, number: int) -> str:
    """`%3 name: type`."""
    record = fn["values"][number]
    name = f" {record['name']}" if record["name"] else ""
    return f"%{number}{name}: {record['type']}"


def numbers(values: Sequence[int]) -> str:
    """`%1 %2`."""
    return " ".join(f"%{n}" for n in values)


def shown(attribute: Any) -> str:
    """An attribute."""
    if isinstance(attribute, list):
        return ", ".join(map(shown, attribute))
    return str(attribute)
