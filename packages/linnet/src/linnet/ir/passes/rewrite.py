"""Applies rewriting rules."""

from __future__ import annotations

from linnet.ir.model import IRFunction, Operation
from linnet.ir.passes.rebuild import Rebuilder
from linnet.ir.passes.rules import RULES, Legality


def rewrite(fn: IRFunction, legality: Legality) -> IRFunction:
    """Replaces operations by simpler ones, by the rules that `legality` allows."""
    return _Rewriter(fn, legality).function()


class _Rewriter(Rebuilder):
    def __init__(self, fn: IRFunction, legality: Legality) -> None:
        super().__init__(fn)
        self.rules = [rule for rule in RULES if rule.legality <= legality]

    def visit(self, op: Operation) -> tuple[int, ...] | None:
        for rule in self.rules:
            if op.kind == rule.kind:
                found = rule.apply(self, op)
                if found is not None:
                    return (found,)
        return None
