"""Passes over IR, to a fixed point."""

from linnet.ir.passes.optimize import PASSES, optimize
from linnet.ir.passes.rules import RULES, Legality, Rule

__all__ = ["PASSES", "RULES", "Legality", "Rule", "optimize"]
