"""The symbolic form of checked modules."""

from linnet.ir.lower import lower, lower_function
from linnet.ir.model import IRConstant, IRFunction, IRModule, Operation, Region
from linnet.ir.verify import verify_ir

__all__ = [
    "IRConstant",
    "IRFunction",
    "IRModule",
    "Operation",
    "Region",
    "lower",
    "lower_function",
    "verify_ir",
]
