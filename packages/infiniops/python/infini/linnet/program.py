"""Executables: a few operator calls in order, with what passes between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import infini.ops
from infini.linnet.recording import recording
from linnet.backends import Context, ExecutableMeta
from linnet.torch.dtypes import torch_dtype

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class FromInput:
    """One of the region's inputs, by position."""

    position: int


@dataclass(frozen=True)
class FromPath:
    """A parameter, buffer or state."""

    path: str


@dataclass(frozen=True)
class FromJoined:
    """Sibling weights as one tensor, one after another along their first axis."""

    paths: tuple[str, ...]


@dataclass(frozen=True)
class FromConstant:
    """A number, as a tensor without dimensions."""

    number: bool | int | float
    dtype: str


@dataclass(frozen=True)
class Result:
    """One of the region's outputs, by position."""

    position: int


@dataclass(frozen=True)
class Temporary:
    """A tensor that lives within one run; those of one executable have different `slot`s."""

    slot: int
    shape: tuple[int, ...]
    dtype: str


Place: TypeAlias = FromInput | FromPath | FromJoined | FromConstant | Result | Temporary


@dataclass(frozen=True)
class Viewed:
    """A place: indexed by `view` (slices and None), then seen as `shape`, then with its dimensions
    in `order`, where these are given.
    """

    place: Place
    view: tuple[slice | None, ...] = ()
    shape: tuple[int, ...] | None = None
    order: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Launch:
    """One operator call: its tensor arguments, its other arguments, and its outputs in order."""

    operator: str
    tensors: Mapping[str, Viewed]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    outputs: Mapping[str, Viewed] = field(default_factory=dict)


class Program:
    """An executable that does its launches in order.

    `results` is the shape and dtype of each output of the region, or the path of the state that
    the output is the new content of.
    """

    def __init__(
        self,
        launches: Sequence[Launch],
        results: Sequence[tuple[tuple[int, ...], str] | str],
        meta: ExecutableMeta,
        device: str = "cpu",
    ) -> None:
        # Weights are read where they are: siblings lie side by side in one memory.
        self.meta = replace(meta, reads_in_place=True)
        self._device = device
        self.launches = tuple(launches)
        self._results = tuple(results)
        self._functions: tuple[Callable[..., Any], ...] = tuple(
            getattr(infini.ops, launch.operator) for launch in launches
        )
        self._joined = tuple(
            dict.fromkeys(
                viewed.place
                for launch in launches
                for viewed in launch.tensors.values()
                if isinstance(viewed.place, FromJoined)
            )
        )

    def on(self, device: str) -> Program:
        """The same work on tensors of a device, as PyTorch names it."""
        if device == self._device:
            return self
        return Program(self.launches, self._results, self.meta, device)

    def prepare(self, context: Context) -> None:
        """Lays sibling weights side by side. ValueError where they cannot lie so."""
        for joined in self._joined:
            if context.join(joined.paths) is None:
                raise ValueError(
                    f"the weights {', '.join(joined.paths)} cannot lie side by side: one of them "
                    "is tied, trained or of another dtype"
                )

    def execute(
        self, inputs: Sequence[Tensor], outputs: Sequence[Tensor | None], context: Context
    ) -> list[Tensor]:
        """Calls the operators, on the recording's stream while this thread records."""
        recorder = recording()
        run = _Run(inputs, self._outputs(outputs, context), context, self._device)
        stream = None if recorder is None else recorder.stream
        for launch, function in zip(self.launches, self._functions, strict=True):
            tensors = {name: run.tensor(viewed) for name, viewed in launch.tensors.items()}
            tensors.update((name, run.tensor(one)) for name, one in launch.outputs.items())
            function(**tensors, **launch.attributes, stream=stream)
        if recorder is not None:
            recorder.keep(run.kept)
        return run.results

    def _outputs(self, given: Sequence[Tensor | None], context: Context) -> list[Tensor]:
        import torch

        outputs: list[Tensor] = []
        for out, result in zip(given, self._results, strict=True):
            if isinstance(result, str):
                outputs.append(context.parameters[result])
            elif out is not None:
                outputs.append(out)
            else:
                shape, dtype = result
                outputs.append(torch.empty(shape, dtype=torch_dtype(dtype), device=self._device))
        return outputs


class _Run:
    """The tensors of one run."""

    def __init__(
        self, inputs: Sequence[Tensor], results: list[Tensor], context: Context, device: str
    ) -> None:
        self.device = device
        self.inputs = inputs
        self.results = results
        self.context = context
        #: What a recorded run must keep alive.
        self.kept: list[Tensor] = []
        self._own: dict[Temporary | FromConstant, Tensor] = {}

    def tensor(self, viewed: Viewed) -> Tensor:
        found = self._at(viewed.place)
        if viewed.view:
            found = found[viewed.view]
        if viewed.shape is not None:
            found = found.view(viewed.shape)
        return found if viewed.order is None else found.permute(viewed.order)

    def _at(self, place: Place) -> Tensor:
        if isinstance(place, FromInput):
            return self.inputs[place.position]
        if isinstance(place, Result):
            return self.results[place.position]
        if isinstance(place, FromPath):
            return self.context.parameters[place.path].detach()
        if isinstance(place, FromJoined):
            joined = self.context.join(place.paths)
            if joined is None:
                raise ValueError(f"the weights {', '.join(place.paths)} no longer lie side by side")
            return joined
        if place not in self._own:
            self._own[place] = self._make(place)
            self.kept.append(self._own[place])
        return self._own[place]

    def _make(self, place: Temporary | FromConstant) -> Tensor:
        import torch

        dtype = torch_dtype(place.dtype)
        if isinstance(place, FromConstant):
            return torch.tensor(place.number, dtype=dtype, device=self.device)
        recorder = recording()
        if recorder is not None:
            return recorder.temporary(place.slot, place.shape, dtype)
        return torch.empty(place.shape, dtype=dtype, device=self.device)
