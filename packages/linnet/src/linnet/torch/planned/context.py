"""What executables see of a model: its tensors by path, and sibling weights joined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from linnet.torch.module import LinnetModule
from linnet.torch.planned.items import RegionItem
from linnet.torch.watch import Snapshot, Watch

if TYPE_CHECKING:
    from linnet.torch.planned.plan import Plan


class Parameters(Mapping[str, Tensor]):
    """Path -> tensor of a model, looked up anew each time; `instead` replaces some."""

    def __init__(self, model: LinnetModule, instead: Mapping[str, Tensor] | None = None) -> None:
        self._model = model
        self._instead = dict(instead or {})

    def __getitem__(self, path: str) -> Tensor:
        found = self._instead.get(path)
        return self._model.tensor(path) if found is None else found

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._model.paths(), *self._instead]))

    def __len__(self) -> int:
        return sum(1 for _ in self)


class PlanContext:
    """A model's tensors as the executables of a plan use them; `model.context_for` makes it."""

    def __init__(
        self,
        model: LinnetModule,
        items: Iterable[RegionItem] = (),
        instead: Mapping[str, Tensor] | None = None,
        plan: Plan | None = None,
    ) -> None:
        self.model = model
        self.plan = plan
        self._parameters = Parameters(model, instead)
        self._items = tuple(items)
        #: The weights of each item as they were when it was prepared last.
        self._prepared: list[Snapshot | None] = [None] * len(self._items)
        read = dict.fromkeys(path for item in self._items for path in item.region.parameters)
        self._watch = Watch(model, read, contents=True)

    @property
    def device(self) -> torch.device:
        """Where the model is now."""
        return self.model.device

    @property
    def parameters(self) -> Mapping[str, Tensor]:
        """Path -> tensor, for parameters, buffers and states. KeyError for a path without one."""
        return self._parameters

    def join(self, paths: Sequence[str]) -> Tensor | None:
        """The parameters at `paths`, one after another along their first axis, as one tensor in
        the same memory; None where they cannot be laid out so.
        """
        return self.model.join(paths)

    def changed(self) -> bool:
        """Whether a weight that an executable reads was replaced or written since `prepare`."""
        return self._watch.changed()

    def prepare(self) -> None:
        """Prepares each executable whose weights were replaced or written since it was prepared
        last.
        """
        if not self.changed():
            return
        # Preparing may lay weights out anew (`join`), which others have seen elsewhere.
        for _ in range(3):
            stale = [n for n, item in enumerate(self._items) if not self._is_prepared(n, item)]
            if not stale:
                break
            for n in stale:
                item = self._items[n]
                _prepare(item, self)
                self._prepared[n] = Snapshot(self._weights(item))
        self._watch.renew()

    def _is_prepared(self, position: int, item: RegionItem) -> bool:
        found = self._prepared[position]
        return found is not None and found.holds_for(self._weights(item))

    def _weights(self, item: RegionItem) -> list[Tensor]:
        return [self._parameters[path] for path in item.region.parameters]


def _prepare(item: RegionItem, context: PlanContext) -> None:
    try:
        item.executable.prepare(context)
    except Exception as error:
        raise RuntimeError(f"{item.where()}: prepare failed: {error}") from error
