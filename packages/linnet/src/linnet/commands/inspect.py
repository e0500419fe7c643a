"""`linnet inspect`: what a module offers, and its IR."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from linnet.check.definitions import ModuleScope
from linnet.commands.console import CommandError, fail, load, print_json, say, show_diagnostics

if TYPE_CHECKING:
    from linnet.ir import IRModule

# The names of `linnet.ir.passes.Legality`, which other commands need not load.
LEVELS = ("exact", "ieee", "equivalent", "approximate")


def add_inspect(commands: Any) -> None:
    """Adds the command."""
    command = commands.add_parser("inspect", help="show parameters, entries, and the IR")
    command.add_argument("file", metavar="FILE")
    command.add_argument("--root", help="the root block, where the module has several")
    command.add_argument("--ir", action="store_true", help="with every function's operations")
    add_passes(command)
    command.add_argument("--json", action="store_true", help="print the document as JSON")
    command.set_defaults(run=run_inspect)


def add_passes(command: argparse.ArgumentParser) -> None:
    """Adds the option that runs the passes over IR first."""
    command.add_argument(
        "--passes",
        choices=LEVELS,
        help="IR after all passes, with rules whose results may differ this far",
    )


def lowered(module: ModuleScope, passes: str | None) -> IRModule:
    """The IR of a module, after the passes if a level is given."""
    from linnet.ir import lower
    from linnet.ir.passes import Legality, optimize

    found = lower(module)
    return found if passes is None else optimize(found, Legality[passes.upper()])


def run_inspect(options: argparse.Namespace) -> int:
    """Prints the interface; 1 if the source has errors, 2 for a root that does not exist."""
    from linnet.check.definitions import BlockDef
    from linnet.graph.binding import find_root
    from linnet.graph.bound import BindingError
    from linnet.ir.json import interface_to_json, module_to_json
    from linnet.ir.text import text

    try:
        program = load(options.file)
        if program.errors:
            show_diagnostics(program.errors)
            return 1
        module = program.ensure_valid()
        blocks = [i for i in module.items if isinstance(i, BlockDef) and i.public]
        root = find_root(program, options.root) if options.root or len(blocks) == 1 else None
    except (CommandError, BindingError) as error:
        return fail(str(error))
    if options.ir:
        document = module_to_json(lowered(module, options.passes), root)
    else:
        document = interface_to_json(module, root)
    if options.json:
        print_json(document)
    else:
        lines = interface_lines(document)
        say("\n".join([*lines, *(text(document) if options.ir else ())]))
    return 0


def interface_lines(document: dict[str, Any]) -> list[str]:
    """The interface as text."""
    lines = [f"module {document['module']}"]
    root = document["root"]
    if root:
        shown = ", ".join(f"{g['name']}: {g['kind']}" for g in root["generics"])
        lines.append(f"root {root['name']}<{shown}>" if shown else f"root {root['name']}")
        lines += [f"  where {one}" for one in root["constraints"]]
    for one in document["manifest"]:
        repeat = f"  x {' x '.join(one['repeat'])}" if one["repeat"] else ""
        mark = "?" if one["optional"] else ""
        shape = ", ".join(one["shape"])
        lines.append(f"  {one['kind']:6} {one['path']}{mark}: {one['dtype']}[{shape}]{repeat}")
    for entry in document["entries"]:
        params = ", ".join(f"{p['name']}: {p['type']}" for p in entry["params"])
        result = "" if entry["result"] is None else f" -> {entry['result']}"
        lines.append(f"entry {entry['name']}({params}){result}")
    return lines
