"""The accelerators on which the contracts are checked: infini, and CUDA where there is one."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

import pytest
import torch


@dataclass(frozen=True)
class Accelerator:
    """A device type and its module."""

    name: str
    module: ModuleType

    def zeros(self, *sizes: int) -> torch.Tensor:
        return torch.zeros(*sizes, dtype=torch.int32, device=self.name)


@pytest.fixture(params=["infini", "cuda"])
def accelerator(request: pytest.FixtureRequest) -> Accelerator:
    """Infini always; CUDA as the reference where it is available."""
    name: str = request.param
    module = torch.get_device_module(name)
    if name == "cuda" and not module.is_available():
        pytest.skip("CUDA is not available")
    return Accelerator(name, module)
