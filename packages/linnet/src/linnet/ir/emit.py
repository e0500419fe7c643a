"""IR documents back to source.

`emit` reads what `linnet.ir.json` writes and nothing else. A value that has a name, or that is read
more than once or by another region, becomes a `let`; any other is written where it is read. The
arms of a branch and the elements of index notation hold expressions only, so in them every value is
written where it is read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from linnet.format import format_text
from linnet.ir.emit_bodies import BodyEmitter
from linnet.ir.json import VERSION
from linnet.source.recursion import deep_recursion

Record = dict[str, Any]


def emit(document: Any) -> str:
    """The source of an IR document, formatted; checking it and lowering gives the same program.

    ValueError for what is no such document, also for one without functions' bodies, as
    `linnet inspect` prints without `--ir`.
    """
    if not isinstance(document, dict) or document.get("version") != VERSION:
        raise ValueError(f"this is no IR document of version {VERSION}")
    if "functions" not in document:
        raise ValueError("the document has no functions: print it with `linnet inspect --ir`")
    try:
        with deep_recursion():
            lines = list(_module(document))
    except (LookupError, TypeError, AttributeError, AssertionError) as error:
        raise ValueError(
            f"the IR document is damaged: {type(error).__name__} {error}".rstrip()
        ) from error
    return format_text("\n".join(lines) + "\n")


def _module(document: Record) -> Iterable[str]:
    yield f"module {document['module']}"
    yield from imports(document["imports"])
    for item in document["enums"]:
        yield f"{public(item)}enum {item['name']} {{ {', '.join(item['variants'])} }}"
    for item in document["aliases"]:
        yield f"{public(item)}type {item['name']}{generics(item)} = {item['type']}"
    for item in document["structs"]:
        yield f"{public(item)}struct {item['name']}{generics(item)} {{"
        yield from (f"{field['name']}: {field['type']}" for field in item["fields"])
        yield "}"
    taken = {item["as"] for item in document["imports"]} | {
        item["name"]
        for kind in ("enums", "aliases", "structs", "constants", "blocks")
        for item in document[kind]
    }
    taken |= {plain_name(fn) for fn in document["functions"] if fn["block"] is None}
    for item in document["constants"]:
        yield constant(item, taken)
    for fn in document["functions"]:
        if fn["block"] is None:
            yield from function(fn, taken)
    for item in document["blocks"]:
        yield from block(item, document["functions"], taken)


def imports(records: list[Record]) -> Iterable[str]:
    """One `use` line for each module."""
    modules: dict[str, list[str]] = {}
    for one in records:
        alias = "" if one["as"] == one["name"] else f" as {one['as']}"
        modules.setdefault(one["module"], []).append(one["name"] + alias)
    for module, names in modules.items():
        yield f"use {module}::{{{', '.join(names)}}}"


def public(item: Record) -> str:
    """The visibility of an item."""
    return "pub " if item["public"] else ""


def plain_name(fn: Record) -> str:
    """A function's own name."""
    return str(fn["name"]).rpartition("::")[2].rpartition(".")[2]


def generics(item: Record) -> str:
    """Declared generics."""
    shown = []
    for one in item["generics"]:
        star = "*" if one["kind"] == "Shape" else ""
        default = "" if one["default"] is None else f" = {one['default']}"
        shown.append(f"{star}{one['name']}: {one['kind']}{default}")
    return f"<{', '.join(shown)}>" if shown else ""


def where(item: Record) -> str:
    """Constraints."""
    return f" where {', '.join(item['constraints'])}" if item["constraints"] else ""


def constant(item: Record, taken: set[str]) -> str:
    """A constant."""
    annotation = "" if item["type"] is None else f": {item['type']}"
    value = BodyEmitter(item, taken).value(item["body"])
    return f"{public(item)}const {item['name']}{annotation} = {value}"


def block(item: Record, functions: list[Record], taken: set[str]) -> Iterable[str]:
    """A block with its members, constants and methods."""
    yield f"{public(item)}block {item['name']}{generics(item)}{where(item)} {{"
    for member in item["members"]:
        default = "" if member["default"] is None else f" = {member['default']}"
        yield f"{member['kind']} {member['name']}: {member['type']}{default}"
    methods = [fn for fn in functions if fn["block"] == item["name"]]
    inside = taken | {plain_name(fn) for fn in methods}
    inside |= {one["name"] for kind in ("generics", "members", "constants") for one in item[kind]}
    for one in item["constants"]:
        yield constant(one, inside)
    for fn in methods:
        yield from function(fn, inside)
    yield "}"


def function(fn: Record, taken: set[str]) -> Iterable[str]:
    """A function, op, entry or method."""
    inside = taken | {one["name"] for kind in ("generics", "params") for one in fn[kind]}
    emitter = BodyEmitter(fn, inside)
    params = []
    for param in fn["params"]:
        emitter.name(param["value"], param["name"])
        default = "" if param["default"] is None else f" = {emitter.value(param['default'])}"
        params.append(f"{param['name']}: {param['type']}{default}")
    result = "" if fn["result"] is None else f" -> {fn['result']}"
    head = f"{public(fn)}{fn['kind']} {plain_name(fn)}{generics(fn)}({', '.join(params)}){result}"
    yield f"{head}{where(fn)} {{"
    yield from emitter.body(fn["body"])
    if fn["gradient"] is None:
        yield "}"
        return
    gradient = fn["gradient"]
    names = ", ".join(emitter.fresh(n) for n in gradient["params"][len(fn["params"]) :])
    yield f"}} grad({names}) {{"
    yield from emitter.body(gradient)
    yield "}"
