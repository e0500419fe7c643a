"""`torch.compile` on infini: Dynamo's interface to the device.

PyTorch's compiler takes seconds to import, and finds devices in a table of its own. So the
interface is registered at the moment when that table is imported, whoever imports it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

TABLE = "torch._dynamo.device_interface"


def install() -> None:
    """Registers the interface, now or when Dynamo is imported."""
    if (table := sys.modules.get(TABLE)) is not None:
        _register(table)
    else:
        sys.meta_path.insert(0, _AfterImport())


class _AfterImport(MetaPathFinder):
    """Finds the table's module as the other finders do, and registers once it has run."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See the class."""
        if name != TABLE:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _RegisteringLoader(spec.loader)
        return spec


class _RegisteringLoader(Loader):
    """Runs a module with its own loader, then registers."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """See the class."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """See the class."""
        self._loader.exec_module(module)
        _register(module)


def _register(table: Any) -> None:
    """Enters the interface into Dynamo's table, `infini` and each of its devices."""
    from torch_infini import infini

    class Worker:
        """What compiling processes ask; they cannot use the device."""

        set_device = staticmethod(infini.set_device)
        current_device = staticmethod(infini.current_device)
        get_device_properties = staticmethod(infini.get_device_properties)

    names = {
        "device": infini.device,
        "Event": infini.Event,
        "Stream": infini.Stream,
        "Worker": Worker,
        "current_device": staticmethod(infini.current_device),
        "set_device": staticmethod(infini.set_device),
        "exchange_device": staticmethod(infini.exchange_device),
        "maybe_exchange_device": staticmethod(infini.exchange_device),
        "device_count": staticmethod(infini.device_count),
        "is_available": staticmethod(infini.is_available),
        "stream": staticmethod(infini.stream),
        "current_stream": staticmethod(infini.current_stream),
        "set_stream": staticmethod(infini.set_stream),
        "_set_stream_by_id": staticmethod(_set_stream_by_id),
        "synchronize": staticmethod(infini.synchronize),
        "get_device_properties": staticmethod(infini.get_device_properties),
        "get_compute_capability": staticmethod(infini.get_device_capability),
        "is_bf16_supported": staticmethod(lambda including_emulation=False: True),
        "memory_allocated": staticmethod(infini.memory_allocated),
        "is_triton_capable": staticmethod(lambda device=None: False),
    }
    interface = type("InfiniInterface", (table.DeviceInterface,), names)
    table.register_interface_for_device("infini", interface)
    for index in range(infini.device_count()):
        table.register_interface_for_device(f"infini:{index}", interface)


def _set_stream_by_id(stream_id: int, device_index: int, device_type: int) -> None:
    from torch_infini import infini

    infini.set_stream(
        infini.Stream(stream_id=stream_id, device_index=device_index, device_type=device_type)
    )
