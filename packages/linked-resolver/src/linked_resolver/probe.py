"""The program of the child interpreter that loads libraries; nothing here runs in the resolver.

Its text is handed to another interpreter with `-c`, so it imports only the standard library and,
through a name, torch. It reads one request as JSON from standard input and writes one JSON object
per line to the file descriptor that an environment variable names: `{"step": ...}` before each
thing that may kill it, then the answers.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

# torch lists these among its keys; they mark places between keys and hold no kernels.
MARKS = ("StartOf", "EndOf")


def main() -> None:
    """Answers the request."""
    request = json.load(sys.stdin)
    sys.path[:] = request["search_path"]
    descriptor = int(os.environ.pop(request["answer_variable"]))

    def say(**values: Any) -> None:
        os.write(descriptor, (json.dumps(values) + "\n").encode())

    say(step="importing torch")
    try:
        torch = importlib.import_module("torch")
    except Exception as error:
        say(no_torch=f"{type(error).__name__}: {error}")
        return
    for library in request["libraries"]:
        say(step=f"loading {library['path']}", library=library["path"])
        say(**answer(torch, library))
    # Destructors of libraries are not what is asked about, and some fail without their device.
    os._exit(0)


def answer(torch: Any, library: Any) -> dict[str, Any]:
    """Loads one library and says what it registered."""
    path = library["path"]
    before = set(torch._C._dispatch_get_all_op_names())
    keys = [(name, key) for name, key in library["keys"] if has_kernel(torch, name, key)]
    was_mapped = is_mapped(path)
    try:
        for dependency in library["dependencies"]:
            ctypes.CDLL(dependency, ctypes.RTLD_GLOBAL)
        torch.ops.load_library(path)
    except OSError as error:
        return {"answered": path, "not_loaded": str(error.__cause__ or error)}
    after = set(torch._C._dispatch_get_all_op_names())
    asked = sorted(after - before) if library["operators"] is None else library["operators"]
    return {
        "answered": path,
        # A library that another one had brought along has registered its operators already.
        "earlier_kernels": [] if was_mapped else keys,
        "registered": sorted(after if was_mapped else after - before),
        "schemas": {text: declared(torch, text) for text in library["schemas"]},
        "operators": {name: operator(torch, name, after) for name in asked},
        "all_keys": [key for key in dispatch_keys(torch) if is_key(torch, key)],
    }


def is_mapped(path: str) -> bool:
    """Whether the process has the library in its memory."""
    return any(line.rstrip("\n").endswith(f" {path}") for line in Path("/proc/self/maps").open())


def declared(torch: Any, text: str) -> dict[str, Any]:
    """The parsed schema of a contract, or why torch does not parse it."""
    try:
        return {"schema": describe(torch._C.parse_schema(text))}
    except RuntimeError as error:
        # The first sentence, then the schema with a mark under its mistake.
        first, *rest = [line for line in str(error).splitlines() if line.strip()] or [""]
        return {"error": "\n".join([first.partition(". ")[0], *rest[:3]])}


def operator(torch: Any, name: str, names: set[str]) -> dict[str, Any] | None:
    """The registered schema of `namespace::name.overload`, and the keys that it has kernels for."""
    if name not in names:
        return None
    qualified, _, overload = name.partition(".")
    try:
        schema = torch._C._get_schema(qualified, overload)
    except RuntimeError:
        schema = None  # kernels without a definition
    return {
        "schema": None if schema is None else describe(schema),
        "keys": [key for key in dispatch_keys(torch) if has_kernel(torch, name, key)],
    }


def dispatch_keys(torch: Any) -> list[str]:
    """The names of torch's dispatch keys."""
    return [key for key in torch._C.DispatchKey.__members__ if not key.startswith(MARKS)]


def is_key(torch: Any, key: str) -> bool:
    """Whether torch itself reads the key; some that it lists it does not."""
    try:
        torch._C._dispatch_has_kernel_for_dispatch_key("aten::add.Tensor", key)
    except RuntimeError:
        return False
    return True


def has_kernel(torch: Any, name: str, key: str) -> bool:
    """Whether a kernel is registered under exactly this key."""
    try:
        return bool(torch._C._dispatch_has_kernel_for_dispatch_key(name, key))
    except RuntimeError:
        return False


def describe(schema: Any) -> dict[str, Any]:
    """The parts of a parsed schema as plain values."""
    labels: dict[str, str] = {}
    return {
        "name": schema.name,
        "overload": schema.overload_name,
        "arguments": [
            {
                "name": argument.name,
                **kind(argument, labels),
                "default": default(argument.default_value)
                if argument.has_default_value()
                else None,
                "keyword_only": bool(argument.kwarg_only),
            }
            for argument in schema.arguments
        ],
        "returns": [{"name": item.name or "", **kind(item, labels)} for item in schema.returns],
    }


def kind(argument: Any, labels: dict[str, str]) -> dict[str, Any]:
    """Type, fixed length and mutability. Alias labels are numbered by their first appearance:
    `Tensor!`, `Tensor(a!)` and `Tensor(out!)` say the same."""
    alias = argument.alias_info
    sets: list[list[str]] = []
    if alias is not None:
        for group in (alias.before_set, alias.after_set):
            sets.append(
                sorted(
                    item if item == "*" else labels.setdefault(item, chr(ord("a") + len(labels)))
                    for item in sorted(group)
                )
            )
        # `Tensor!` has an empty set afterwards; nothing but a written `->` differs from before.
        sets[1] = sets[1] or sets[0]
    return {
        # Not `str()`, which writes SymInt as int.
        "type": argument.real_type.str(),
        "length": argument.N,
        "alias": None if alias is None else {"writes": bool(alias.is_write), "sets": sets},
    }


def default(value: Any) -> dict[str, Any]:
    """A default value; numbers keep every bit."""
    exact = repr(value)
    if isinstance(value, float):
        exact = value.hex()
    elif isinstance(value, (list, tuple)):
        exact = repr([default(item)["exact"] for item in value])
    return {"kind": type(value).__name__, "exact": exact, "text": repr(value)}


if __name__ == "__main__":
    main()
