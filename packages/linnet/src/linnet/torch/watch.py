"""Notices that tensors of a model were replaced, moved or written, at the cost of a look."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter, is_
from typing import Any, TypeAlias

from torch import Tensor, nn

from linnet.backends import Look, Place

#: Makes a look at places and tensors, or None where it cannot look at them.
MakeLook: TypeAlias = Callable[[Sequence[Place], Sequence[Tensor]], Look | None]

_dtype, _version = attrgetter("dtype"), attrgetter("_version")


class Snapshot:
    """How tensors were when it was made: where they lie, how, and how often they were written.

    PyTorch counts writes to a tensor, but not those through its `.data`. A captured step looks at
    every tensor of a model before each replay, so a look is a few passes over all of them without
    a line of Python for each.

    Raises ValueError for a tensor of inference mode, whose writes are not counted, where `contents`
    are to be seen.
    """

    def __init__(self, tensors: Iterable[Tensor], contents: bool = True) -> None:
        self._tensors = list(tensors)
        self._contents = contents
        if contents and any(map(Tensor.is_inference, self._tensors)):
            raise ValueError(
                "a weight was made under torch.inference_mode(), where PyTorch counts no writes, "
                "so a change of it could not be seen; make it outside, or give a clone made outside"
            )
        self._facts = self._look()

    def _look(self) -> tuple[list[object], ...]:
        tensors = self._tensors
        return (
            list(map(Tensor.data_ptr, tensors)),
            list(map(_version, tensors)) if self._contents else [],
            list(map(Tensor.stride, tensors)),
            list(map(Tensor.size, tensors)),
            list(map(_dtype, tensors)),
        )

    def holds(self) -> bool:
        """Whether the same tensors are still so."""
        return self._look() == self._facts

    def holds_for(self, tensors: Sequence[Tensor]) -> bool:
        """Whether these are the same tensors, still so."""
        same = len(tensors) == len(self._tensors) and all(map(is_, tensors, self._tensors))
        return same and self.holds()


class Watch:
    """Tensors of a module by path, as they were when `renew` was called last.

    A tensor counts as changed when another one is at its path, when it lies elsewhere or in another
    way (`.data` was set to a view), or, with `contents`, when it was written. Where writes do not
    count, `make_look` may give a faster way to look.
    """

    def __init__(
        self,
        model: nn.Module,
        paths: Iterable[str],
        contents: bool,
        make_look: MakeLook | None = None,
    ) -> None:
        self._model = model
        self._paths = tuple(paths)
        self._contents = contents
        self._make_look = None if contents else make_look
        self._look: Look | None = None
        #: Where modules and tensors stand (a table and a name), and which stood there.
        self._tables: list[dict[str, Any]] = []
        self._names: list[str] = []
        self._objects: list[object] = []
        self._snapshot: Snapshot | None = None
        #: How often `renew` was called.
        self.renewals = 0

    def changed(self) -> bool:
        """Whether a tensor changed since `renew`; true before the first one."""
        if self._look is not None:
            return not self._look.holds()
        if self._snapshot is None:
            return True
        found = map(dict.get, self._tables, self._names)
        return not all(map(is_, found, self._objects)) or not self._snapshot.holds()

    def renew(self) -> None:
        """Takes the tensors as they are now. KeyError for a path that has none."""
        modules: dict[tuple[str, ...], nn.Module] = {(): self._model}
        places: list[Place] = []
        tensors = []
        for path in self._paths:
            *parents, name = map(sys.intern, path.split("."))
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
        self._look = None if self._make_look is None else self._make_look(places, tensors)
        if self._look is None:
            self._keep(places, tensors)
        self.renewals += 1

    def _keep(self, places: Sequence[Place], tensors: Iterable[Tensor]) -> None:
        """Remembers them for looks of its own."""
        self._tables = [table for table, _, _ in places]
        self._names = [name for _, name, _ in places]
        self._objects = [found for _, _, found in places]
        self._snapshot = Snapshot(tensors, self._contents)
