"""Runs the passes over a module until none changes anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from linnet.ir.model import IRFunction, IRModule
from linnet.ir.passes.canonicalize import canonicalize
from linnet.ir.passes.duplicates import merge_duplicates
from linnet.ir.passes.renumber import renumber
from linnet.ir.passes.rewrite import rewrite
from linnet.ir.passes.rules import Legality
from linnet.ir.passes.unused import drop_unused
from linnet.source.recursion import deep_recursion

Pass: TypeAlias = Callable[[IRFunction, Legality], IRFunction]
PASSES: tuple[Pass, ...] = (
    lambda fn, _: canonicalize(fn),
    rewrite,
    lambda fn, _: merge_duplicates(fn),
    lambda fn, _: drop_unused(fn),
)
# Each round makes a function smaller or simpler; this many rounds mean that two rules disagree.
ROUNDS = 100


def optimize(
    module: IRModule,
    legality: Legality = Legality.EXACT,
    after: Callable[[IRModule], None] | None = None,
) -> IRModule:
    """The module after all passes, with rewriting rules up to `legality`.

    `after` is called with the module after each pass, for a verifier. The constants stay as they
    are.
    """
    with deep_recursion():
        for _ in range(ROUNDS):
            before = module
            for one in PASSES:
                functions = {d: one(fn, legality) for d, fn in module.functions.items()}
                module = replace(module, functions=functions)
                if after is not None:
                    after(module)
            if all(same(before.functions[d], fn) for d, fn in module.functions.items()):
                functions = {d: renumber(fn) for d, fn in module.functions.items()}
                return replace(module, functions=functions)
    raise AssertionError(f"the passes over {module.module.name} do not come to an end")


def same(first: IRFunction, second: IRFunction) -> bool:
    """Whether two forms of a function have the same operations."""
    return (first.body, first.gradient) == (second.body, second.gradient) and [
        p.default for p in first.params
    ] == [p.default for p in second.params]
