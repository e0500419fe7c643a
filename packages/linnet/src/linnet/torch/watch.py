"""Notices that tensors of a model were replaced, moved or written, at the cost of a look."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter, is_
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

#: Where a tensor lies, how, and how often it was written; another one means another content.
Stamp: TypeAlias = "tuple[int, torch.Size, tuple[int, ...], torch.dtype, int]"
_dtype = attrgetter("dtype")


def stamp(tensor: Tensor) -> Stamp:
    """The stamp of a tensor. ValueError for one of inference mode, whose writes are not counted."""
    version = _version(tensor)
    return tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype, version


def _version(tensor: Tensor) -> int:
    if tensor.is_inference():
        raise ValueError(
            "a weight was made under torch.inference_mode(), where PyTorch counts no writes, so a "
            "change of it could not be seen; make it outside, or give a clone made outside"
        )
    return tensor._version


class Watch:
    """Tensors of a module by path, as they were when `renew` was called last.

    A tensor counts as changed when another one is at its path, when it lies elsewhere or in another
    way (`.data` was set to a view), or, with `contents`, when PyTorch counted a write to it. Writes
    through `.data` are not counted by PyTorch, and so are not seen.

    A captured step looks at every tensor of a model before each replay, so a look is a few passes
    without a line of Python for each tensor.
    """

    def __init__(self, model: nn.Module, paths: Iterable[str], contents: bool) -> None:
        self._model = model
        self._paths = tuple(paths)
        self._contents = contents
        #: Where modules and tensors stand (a table and a name), and which stood there.
        self._tables: list[dict[str, Any]] = []
        self._names: list[str] = []
        self._objects: list[object] = []
        self._tensors: list[Tensor] = []
        self._addresses: list[int] = []
        self._layouts: list[object] = []
        self._versions: list[int] = []
        self._renewed = False

    def changed(self) -> bool:
        """Whether a tensor changed since `renew`; true before the first one."""
        if not self._renewed:
            return True
        found = map(dict.get, self._tables, self._names)
        if not all(map(is_, found, self._objects)):
            return True
        if list(map(Tensor.data_ptr, self._tensors)) != self._addresses:
            return True
        if self._layouts_now() != self._layouts:
            return True
        return self._contents and [t._version for t in self._tensors] != self._versions

    def renew(self) -> None:
        """Takes the tensors as they are now. KeyError for a path that has none."""
        modules: dict[tuple[str, ...], nn.Module] = {(): self._model}
        places: list[tuple[dict[str, Any], str, object]] = []
        tensors = []
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
                    places.append((module._modules, part, child))
                module = modules[key]
            table: dict[str, Any] = module._parameters
            if table.get(name) is None:
                table = module._buffers
            tensor = table.get(name)
            if tensor is None:
                raise KeyError(path)
            places.append((table, name, tensor))
            tensors.append(tensor)
        self._tables = [table for table, _, _ in places]
        self._names = [name for _, name, _ in places]
        self._objects = [found for _, _, found in places]
        self._tensors = tensors
        self._addresses = list(map(Tensor.data_ptr, tensors))
        self._layouts = self._layouts_now()
        self._versions = [_version(tensor) for tensor in tensors] if self._contents else []
        self._renewed = True

    def _layouts_now(self) -> list[object]:
        tensors = self._tensors
        return [
            *map(Tensor.size, tensors),
            *map(Tensor.stride, tensors),
            *map(_dtype, tensors),
        ]
