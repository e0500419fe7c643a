"""InfiniOps as a back end of Linnet: `linnet.backends` finds it by its entry point `infiniops`.

It runs the Linnet ops and steps that `operators.json` names, so an operator that is added there is
used here without any change. Needs linnet-lang with its extra `torch`.
"""

from infini.linnet.backend import InfiniOps

__all__ = ["InfiniOps"]
