"""What one build tree generates from: the declarations, the implementations, the options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .declaration import Operator
from .implementations import Implementation, SharedKernel


@dataclass(frozen=True)
class Build:
    """The input of every generator."""

    version: str
    abi_version: int
    rt_abi_version: int
    devices: tuple[str, ...]
    kernel_sets: tuple[str, ...]
    cpp_entries: bool
    operators: tuple[Operator, ...]
    implementations: tuple[Implementation, ...]
    selection_inputs: tuple[Path, ...] = ()
    """The files that the selection was read from, or leads to."""
    selection: Mapping[str, object] = field(default_factory=dict)
    """What was selected, in the form of an `ops.json`."""
    accuracy: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    """Operator -> dtype -> what `benchmarks/accuracy.py` measured."""

    @property
    def shared_kernels(self) -> tuple[SharedKernel, ...]:
        """The kernels that some implementation shares with others, each once."""
        found = {kernel.include: kernel for item in self.implementations for kernel in item.shared}
        return tuple(found[include] for include in sorted(found))

    def implementations_of(self, operator: Operator, device: str) -> tuple[Implementation, ...]:
        """The implementations of `operator` on `device`, by slot. `sim` runs those of the CPU."""
        family = "cpu" if device == "sim" else device
        own = (
            item
            for item in self.implementations
            if item.operator == operator.name and item.device == family
        )
        return tuple(sorted(own, key=lambda item: item.slot))
