"""Shared by all checkers of one run: the diagnostics, and resolving definitions on demand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from linnet.check.definitions import Definition, ModuleScope
from linnet.shapes import Constraint, Facts, counterexample
from linnet.source import Diagnostic, Mark, Span
from linnet.syntax import tree


class Resolver(Protocol):
    """Completes a definition: types, generics, fields. Repeated calls do nothing."""

    def __call__(self, definition: Definition, at: Mark) -> None:
        """Completes `definition`, needed at `at`."""


class Session:
    """One run of the checker."""

    def __init__(self, resolver: Resolver | None = None) -> None:
        self.diagnostics: list[Diagnostic] = []
        self.resolver = resolver

    def resolve(self, definition: Definition, at: Mark) -> None:
        """Completes `definition`, needed at `at`."""
        assert self.resolver is not None
        self.resolver(definition, at)


class Reporter:
    """Reports about one module."""

    def __init__(self, session: Session, module: ModuleScope) -> None:
        self.session = session
        self.module = module
        self.records = module.records
        self.facts = Facts()
        self._waiting: list[tuple[Constraint, str, str, Span, tuple[str, ...]]] | None = None

    def mark(self, at: tree.Node | Span, label: str = "") -> Mark:
        """A mark in this module's file."""
        span = at.span if isinstance(at, tree.Node) else at
        return Mark(self.module.file, span, label)

    def error(
        self,
        code: str,
        message: str,
        at: tree.Node | Span,
        label: str = "",
        *,
        notes: Iterable[str] = (),
        helps: Iterable[str] = (),
        related: Iterable[Mark] = (),
    ) -> None:
        """Reports an error."""
        self.session.diagnostics.append(
            Diagnostic(
                code, message, self.mark(at, label), tuple(related), tuple(notes), tuple(helps)
            )
        )

    # Obligations

    def hold_obligations(self) -> None:
        """Collects requirements until `release_obligations`, when the facts are known."""
        self._waiting = []

    def release_obligations(self) -> None:
        """Proves what was collected."""
        waiting, self._waiting = self._waiting or [], None
        for constraint, code, message, span, notes in waiting:
            self.require(constraint, code, message, span, notes)

    def require(
        self,
        constraint: Constraint,
        code: str,
        message: str,
        at: tree.Node | Span,
        notes: tuple[str, ...] = (),
    ) -> bool:
        """Reports `message` unless the facts prove the constraint."""
        span = at.span if isinstance(at, tree.Node) else at
        if self._waiting is not None:
            self._waiting.append((constraint, code, message, span, notes))
            return True
        if constraint.left.invalid or constraint.right.invalid:
            self.error(code, f"{message}: a size leaves the 64-bit range", span, "overflow")
            return False
        if self.facts.prove(constraint):
            return True
        found = counterexample(self.facts, constraint)
        helps: tuple[str, ...] = ()
        if constraint.left.leaves or constraint.right.leaves:
            helps = (f"state it where the sizes are declared: `where {constraint}`",)
        self.error(
            code,
            message,
            span,
            f"`{constraint}` is not proved",
            notes=(*notes, *example_notes(found)),
            helps=helps,
        )
        return False


def example_notes(found: dict[str, int] | None) -> tuple[str, ...]:
    """A note that shows a counterexample, if there is one."""
    if not found:
        return ()
    shown = ", ".join(f"{name} = {value}" for name, value in found.items())
    return (f"it fails for example with {shown}",)
