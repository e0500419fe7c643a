"""The checker: a file and what it uses, to a checked program."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from linnet.check.declare import give_up, open_scope, resolve
from linnet.check.definitions import (
    BlockDef,
    Definition,
    FunctionDef,
    ImportedItem,
    ImportedModule,
    ModuleScope,
)
from linnet.check.loader import LoadedModule, load
from linnet.check.order import components
from linnet.check.session import Session
from linnet.check.statements import BodyChecker
from linnet.source import (
    Diagnostic,
    LinnetError,
    Mark,
    SourceFile,
    clip,
    read_source,
    sort_diagnostics,
)
from linnet.source.collection import no_collections
from linnet.source.recursion import deep_recursion


@dataclass(frozen=True)
class CheckedProgram:
    """A module with everything it uses, and what was found. `modules` ends with the module."""

    module: ModuleScope | None
    modules: tuple[ModuleScope, ...]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The diagnostics that are no warnings."""
        return tuple(d for d in self.diagnostics if d.severity == "error")

    def ensure_valid(self) -> ModuleScope:
        """The module; LinnetError if the program has errors."""
        if self.errors or self.module is None:
            raise LinnetError(self.errors)
        return self.module


# More definitions than this that name each other are a cycle, whatever the names mean; fewer are
# found out by resolving them.
LONGEST_CYCLE = 64

# Scopes of library modules, checked once in a process. The lists are their diagnostics: none.
_library: dict[LoadedModule, ModuleScope] = {}


def check(file: SourceFile, first: Diagnostic | None = None) -> CheckedProgram:
    """Checks a source file and every module it uses. `first` is an error found in reading it."""
    with deep_recursion(), no_collections():
        loaded = load(file, first)
        if loaded.errors:
            return CheckedProgram(None, (), sort_diagnostics(loaded.errors))
        session = Session()
        session.resolver = lambda definition, at: resolve(definition, at, session)
        scopes: dict[LoadedModule, ModuleScope] = {}
        for module in loaded.modules:
            known = _library.get(module)
            if known is not None:
                scopes[module] = known
                continue
            before = len(session.diagnostics)
            scopes[module] = open_scope(module, scopes, session)
            check_module(scopes[module], session)
            if module.library and len(session.diagnostics) == before:
                _library[module] = scopes[module]
        modules = tuple(scopes.values())
        find_recursion(modules, session)
        find_writing_conditions(modules, session)
    return CheckedProgram(modules[-1], modules, settle_diagnostics(session.diagnostics))


def check_file(path: str | Path) -> CheckedProgram:
    """Checks the file at `path`; OSError if it cannot be read."""
    file, wrong = read_source(Path(path))
    return check(file, wrong)


def check_text(text: str, name: str = "text.linnet") -> CheckedProgram:
    """Checks a text that is no file; it can use the library only."""
    return check(SourceFile(name, text))


def settle_diagnostics(found: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Sorted; without warnings when there are errors."""
    errors = [d for d in found if d.severity == "error"]
    return sort_diagnostics(errors or found)


def check_module(module: ModuleScope, session: Session) -> None:
    """Resolves every item of a module, then checks every body."""
    for group in components(module.items):
        complete_group(group, session)
    for fn in module.functions():
        BodyChecker(session, module).check_function(fn)
    warn_unused(module, session)


def complete_group(group: list[Definition], session: Session) -> None:
    """Resolves items that name each other; E2122 for so many that they must be a cycle."""
    if len(group) > LONGEST_CYCLE:
        first = group[0]
        mark = Mark(first.scope.file, first.span, "one of them")
        message = f"{len(group)} definitions need one another, `{clip(first.name)}` among them"
        session.diagnostics.append(Diagnostic("E2122", message, mark))
        for item in group:
            give_up(item)
        return
    for item in group:
        complete(item, session)


def complete(item: Definition, session: Session) -> None:
    """Resolves an item and, for a block, what is inside."""
    session.resolve(item, Mark(item.scope.file, item.span))
    if isinstance(item, BlockDef):
        for group in components(item.items.values()):
            complete_group(group, session)


def warn_unused(module: ModuleScope, session: Session) -> None:
    """W1001 and W1003."""
    for name, value in module.names.items():
        if isinstance(value, (ImportedItem, ImportedModule)) and not value.used:
            mark = Mark(module.file, value.span, "unused")
            session.diagnostics.append(
                Diagnostic("W1001", f"`{name}` is imported and not used", mark)
            )
    for item in module.items:
        if isinstance(item, BlockDef):
            for member in item.members.values():
                if not member.used and not member.name.startswith("_"):
                    mark = Mark(module.file, member.node.name.span, "unused")
                    message = f"the {member.kind} `{member.name}` is never used"
                    session.diagnostics.append(Diagnostic("W1003", message, mark))


def find_recursion(modules: tuple[ModuleScope, ...], session: Session) -> None:
    """E2119 for each function from which a call leads back to itself."""
    done: set[FunctionDef] = set()
    for module in modules:
        if module in _library.values():
            continue
        for start in module.functions():
            if start in done:
                continue
            # The functions on the way here, each with the calls that are still to be followed.
            path = {start: list(start.callees)}
            while path:
                fn = next(reversed(path))
                rest = path[fn]
                if not rest:
                    del path[fn]
                    done.add(fn)
                    continue
                following = rest.pop()
                if following in path:
                    way = list(path)
                    report_recursion(way[way.index(following) :], session)
                elif following not in done:
                    path[following] = list(following.callees)


def find_writing_conditions(modules: tuple[ModuleScope, ...], session: Session) -> None:
    """E2190 for a condition of `while` that calls a function which writes a state."""
    for module in modules:
        for fn in module.functions():
            for callee, span in fn.condition_callees.items():
                if callee.may_write_state():
                    session.diagnostics.append(
                        Diagnostic(
                            "E2190",
                            "a loop condition that writes a state is not implemented",
                            Mark(module.file, span, f"`{callee.name}` writes a state"),
                            helps=("write it in the body of the loop",),
                        )
                    )


def report_recursion(cycle: list[FunctionDef], session: Session) -> None:
    """E2119 at the call that closes the cycle."""
    first = cycle[0]
    last = cycle[-1]
    names = [f"`{clip(f.name)}`" for f in (*cycle, first)]
    if len(names) > 6:
        names[3:-2] = ["..."]
    shown = " -> ".join(names)
    mark = Mark(last.scope.file, last.callees[first], "the call leads back")
    session.diagnostics.append(
        Diagnostic("E2119", f"functions do not call themselves: {shown}", mark)
    )


__all__ = ["CheckedProgram", "check", "check_file", "check_text"]
