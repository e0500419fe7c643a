"""Proves that an installed third-party library has what a linked operator needs.

`resolve` does everything: it reads the contracts under `src/linked/`, keeps the selected ones,
finds their libraries in a Python environment, proves symbols and schemas, and writes the manifest
that CMake includes. No library is loaded in this process, and torch is not imported.
"""

from importlib.metadata import version

__version__: str = version("linked-resolver")

from .diagnostics import CODES, ContractError, Problem, ResolveError, render
from .environment import Environment, ResolverSetupError
from .inspection import InspectedLibrary, Inspection, RegisteredOperator, inspect
from .pipeline import prove, resolve
from .resolution import Resolution
from .selection import Choice, Selection, parse_selection, read_ops_json
from .tools import Tools, find_tools

__all__ = [
    "CODES",
    "Choice",
    "ContractError",
    "Environment",
    "InspectedLibrary",
    "Inspection",
    "Problem",
    "RegisteredOperator",
    "Resolution",
    "ResolveError",
    "ResolverSetupError",
    "Selection",
    "Tools",
    "__version__",
    "find_tools",
    "inspect",
    "parse_selection",
    "prove",
    "read_ops_json",
    "render",
    "resolve",
]
