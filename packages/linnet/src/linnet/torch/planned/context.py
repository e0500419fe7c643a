"""What executables see of a model: its tensors by path, and sibling weights joined."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from linnet.backends import Backend, Look, Place
from linnet.torch.joining import join_parameters
from linnet.torch.module import LinnetModule
from linnet.torch.planned.items import RegionItem
from linnet.torch.planned.large_pages import LargePages
from linnet.torch.planned.proposals import describe_failure
from linnet.torch.watch import MakeLook, Snapshot, Watch

if TYPE_CHECKING:
    from linnet.torch.planned.plan import Plan


class LookWarning(UserWarning):
    """A back end's look at weights failed; Linnet's own serves instead."""


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
        #: Looks at places and tensors with a back end's help, where one of the plan offers it.
        self.make_look = look_maker([item.backend for item in self._items])
        #: Where siblings are joined, while executables are prepared.
        self._pages: LargePages | None = None
        self._in_place, kept = _weights_by_use(self._items)
        self._watches = (
            Watch(model, self._in_place, contents=False, make_look=self.make_look),
            Watch(model, kept, contents=True),
        )

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
        pages = self._pages
        return join_parameters(self.model, paths, None if pages is None else pages.take_as)

    def changed(self) -> bool:
        """Whether a weight that an executable reads was replaced since `prepare`, or written where
        the executable keeps something of what it holds.
        """
        return any(watch.changed() for watch in self._watches)

    def prepare(self) -> None:
        """Prepares each executable whose weights changed since it was prepared last."""
        if not self.changed():
            return
        if self.plan is not None:  # not where tensors were put in for a trial
            self._pages = LargePages.for_weights(self.model, self._in_place)
        self._prepare_stale()
        # Siblings lie there now, since executables have joined them; the others follow.
        if self._pages is not None and self._pages.move(self.model, self._in_place):
            self._prepare_stale()
        self._pages = None
        for watch in self._watches:
            watch.renew()

    def _prepare_stale(self) -> None:
        # Preparing may lay weights out anew (`join`), which others have seen elsewhere.
        for _ in range(3):
            stale = [n for n, item in enumerate(self._items) if not self._is_prepared(n, item)]
            if not stale:
                break
            for n in stale:
                item = self._items[n]
                _prepare(item, self)
                contents = not item.reads_in_place
                self._prepared[n] = Snapshot(self._weights(item), contents)

    def _is_prepared(self, position: int, item: RegionItem) -> bool:
        found = self._prepared[position]
        return found is not None and found.holds_for(self._weights(item))

    def _weights(self, item: RegionItem) -> list[Tensor]:
        return [self._parameters[path] for path in item.region.parameters]


def look_maker(backends: Iterable[Backend]) -> MakeLook | None:
    """The first offer of a look among back ends. One that fails is warned of, and not used."""
    for backend in dict.fromkeys(backends):
        offered = getattr(backend, "look", None)
        if offered is not None:
            return partial(_look, backend.name, offered)
    return None


def _look(
    name: str, offered: MakeLook, places: Sequence[Place], tensors: Sequence[Tensor]
) -> Look | None:
    try:
        return offered(places, tensors)
    except Exception as error:
        text = f"{name}: look failed: {describe_failure(error)}; weights are looked at without it"
        warnings.warn(text, LookWarning, stacklevel=2)
        return None


def _weights_by_use(items: Sequence[RegionItem]) -> tuple[list[str], list[str]]:
    """The paths of weights that are only read where they are, and the other ones."""
    kept = {
        path: None for item in items if not item.reads_in_place for path in item.region.parameters
    }
    read = dict.fromkeys(path for item in items for path in item.region.parameters)
    return [path for path in read if path not in kept], list(kept)


def _prepare(item: RegionItem, context: PlanContext) -> None:
    try:
        item.executable.prepare(context)
    except Exception as error:
        raise RuntimeError(f"{item.where()}: prepare failed: {error}") from error
