"""Notices that tensors of a model were replaced, moved or written, at the cost of a look."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import Tensor, nn


class Watch:
    """Tensors of a module by path, as they were when `renew` was called last.

    A tensor counts as changed when another one is at its path, when it lies elsewhere, or, with
    `contents`, when PyTorch counted a write to it. Writes through `.data` are not counted by
    PyTorch, and so are not seen.
    """

    def __init__(self, model: nn.Module, paths: Iterable[str], contents: bool) -> None:
        self._model = model
        self._paths = tuple(paths)
        self._contents = contents
        self._modules: list[tuple[dict[str, Any], str, nn.Module]] = []
        self._leaves: list[tuple[dict[str, Any], str, Tensor, int, int]] = []
        self._renewed = False

    def changed(self) -> bool:
        """Whether a tensor changed since `renew`; true before the first one."""
        if not self._renewed:
            return True
        for table, name, module in self._modules:
            if table.get(name) is not module:
                return True
        for table, name, tensor, address, version in self._leaves:
            if table.get(name) is not tensor or tensor.data_ptr() != address:
                return True
            if self._contents and tensor._version != version:
                return True
        return False

    def renew(self) -> None:
        """Takes the tensors as they are now. KeyError for a path that has none."""
        modules: dict[tuple[str, ...], nn.Module] = {(): self._model}
        chain = []
        leaves = []
        for path in self._paths:
            *parents, name = path.split(".")
            module = self._model
            for depth, part in enumerate(parents):
                key = tuple(parents[: depth + 1])
                if key not in modules:
                    child = module._modules.get(part)
                    if child is None:
                        raise KeyError(path)
                    modules[key] = child
                    chain.append((module._modules, part, child))
                module = modules[key]
            table: dict[str, Any] = module._parameters
            if table.get(name) is None:
                table = module._buffers
            tensor = table.get(name)
            if tensor is None:
                raise KeyError(path)
            leaves.append((table, name, tensor, tensor.data_ptr(), tensor._version))
        self._modules, self._leaves = chain, leaves
        self._renewed = True
