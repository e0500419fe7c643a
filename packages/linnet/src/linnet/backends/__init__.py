"""The contract for back ends, and the back ends that are installed.

A back end runs regions of a graph on a library of its own. Importing this package imports neither
a tensor framework nor a back end.
"""

from linnet.backends.contract import (
    CONTRACT,
    Backend,
    Capabilities,
    Context,
    Cost,
    Executable,
    ExecutableMeta,
    Look,
    Options,
    Place,
    Recorder,
    Replay,
    Requirement,
    Target,
)
from linnet.backends.discovery import GROUP, Skipped, available, skipped
from linnet.backends.region import Region, RegionError

__all__ = [
    "CONTRACT",
    "GROUP",
    "Backend",
    "Capabilities",
    "Context",
    "Cost",
    "Executable",
    "ExecutableMeta",
    "Look",
    "Options",
    "Place",
    "Recorder",
    "Region",
    "RegionError",
    "Replay",
    "Requirement",
    "Skipped",
    "Target",
    "available",
    "skipped",
]
