"""InfiniOps: operators of the Infini stack.

This release holds no operator yet; it reserves the name and the version that other packages of
the stack check.
"""

from importlib.metadata import version

__all__ = ["__version__"]

__version__: str = version("infiniops")
