"""What Linnet and a back end promise each other; `docs/linnet/backends.md` is the same in prose.

Nothing here imports a tensor framework: tensors are `torch.Tensor` at run time and named only in
annotations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from torch import Tensor

    from linnet.backends.region import Region
    from linnet.graph import Graph

#: The version of everything in this module. A back end names the one it was written for; Linnet
#: uses no back end that names another.
CONTRACT = 1


@dataclass(frozen=True)
class Target:
    """The device that a plan is made for.

    `kind` is PyTorch's device type (`cpu`, `cuda`, `infini`), `index` its number, `name` the
    processor as its maker calls it, `capability` the compute capability (`(9, 0)`; empty where the
    family has none), `torch_version` the version of PyTorch that runs the rest of the plan.
    """

    kind: str
    index: int = 0
    name: str = ""
    capability: tuple[int, ...] = ()
    torch_version: str = ""


@dataclass(frozen=True)
class Capabilities:
    """What a back end can do on a target; `probe` returns None where it can do nothing.

    `dtypes` names the element types it takes (`f32`, `bf16`, ...); Linnet refuses its regions that
    compute with others. None means that `match` looks at dtypes itself.
    """

    dtypes: frozenset[str] | None = None


@dataclass(frozen=True)
class Cost:
    """What one run of a region takes: seconds, and bytes moved where that is known."""

    seconds: float
    bytes: int | None = None


@dataclass(frozen=True)
class Options:
    """How a plan is made.

    `margin`: the share of the generated source's time that a region must save (0.02: 2%).
    `compile`: the `torch.compile` back end of the generated slices; None runs them as they are.
    `memory`: bytes that the plan may keep beyond the model's weights; None means no bound.
    `selection`: `greedy` takes the regions that save the most first; `exact` finds the set of
    regions that saves the most, where no memory bound couples them.
    """

    margin: float = 0.02
    compile: str | None = None
    memory: int | None = None
    selection: Literal["greedy", "exact"] = "greedy"

    def __post_init__(self) -> None:
        if not 0 <= self.margin < 1:
            raise ValueError(f"Options: margin must be at least 0 and below 1, got {self.margin!r}")
        if self.memory is not None and type(self.memory) is not int:
            raise TypeError(f"Options: memory must be a number of bytes, got {self.memory!r}")
        if self.memory is not None and self.memory < 0:
            raise ValueError(f"Options: memory must be at least 0 bytes, got {self.memory!r}")
        if self.selection not in ("greedy", "exact"):
            raise ValueError(
                f"Options: selection must be 'greedy' or 'exact', got {self.selection!r}"
            )


@dataclass(frozen=True)
class Requirement:
    """An input whose elements must lie in `least` to `greatest`, both inclusive: token ids,
    positions. `input` is its place among the region's inputs.
    """

    input: int
    least: int
    greatest: int


@dataclass(frozen=True)
class ExecutableMeta:
    """What an executable touches beside its inputs and outputs, and when it may fail.

    `states_read` and `states_written` are paths. `holds` is the number of bytes that it keeps
    beyond the model's own weights once it is prepared (repacked weights, workspaces). `requires`:
    once recorded it cannot fail when these hold; None, the default, promises nothing. Linnet checks
    them before a replay, and copies the states of a step only where something in it may fail.
    `reads_in_place`: it keeps nothing of what its weights hold, so that a weight that was written
    needs no `prepare`; one that was replaced or moved still does.
    """

    states_read: tuple[str, ...] = ()
    states_written: tuple[str, ...] = ()
    holds: int = 0
    requires: tuple[Requirement, ...] | None = None
    reads_in_place: bool = False


class Context(Protocol):
    """What an executable sees of the model that it runs in; `linnet.torch.planned` makes it."""

    @property
    def parameters(self) -> Mapping[str, Tensor]:
        """Path -> tensor, for parameters, buffers and states. KeyError names near paths."""
        ...

    def join(self, paths: Sequence[str]) -> Tensor | None:
        """The parameters at `paths`, one after another along their first axis, as one tensor that
        shares their memory; None where they cannot be laid out so.
        """
        ...


class Executable(Protocol):
    """A region made ready to run."""

    meta: ExecutableMeta

    def prepare(self, context: Context) -> None:
        """Makes ready what depends on weights. Called before the first `execute`, and again after
        a weight that the region reads was replaced or written (replaced alone, where it reads them
        in place).
        """
        ...

    def execute(
        self, inputs: Sequence[Tensor], outputs: Sequence[Tensor | None], context: Context
    ) -> Sequence[Tensor]:
        """Computes the region and returns its outputs in order.

        `inputs` are the region's inputs in order, of any strides. `outputs` has an entry for each
        output: None, or a tensor to write the result to and return (always so while recording).
        """
        ...


@runtime_checkable
class Backend(Protocol):
    """An object that runs regions of a graph on a library of its own.

    Optional methods: `compile_regions(regions, target, options)` returns a list of executables,
    for compilers that gain from seeing all regions at once; `recorder(target)` returns a
    `Recorder`, or None where steps on this target cannot be recorded; `look(places, tensors)`
    returns a `Look`, or None where it cannot look at these.
    """

    name: str
    version: str
    contract: int

    def probe(self, target: Target) -> Capabilities | None:
        """What it can do on `target`; None declines."""
        ...

    def match(self, graph: Graph, target: Target) -> Iterable[Region]:
        """The regions that it can run. They may overlap: the plan chooses among them."""
        ...

    def compile(self, region: Region, target: Target, options: Options) -> Executable:
        """Makes a region ready to run."""
        ...

    def estimate_cost(self, region: Region, target: Target) -> Cost | None:
        """The cost of a region if it is known without running it."""
        ...


class Recorder(Protocol):
    """Records what executables of one back end do, so that it can be done again without Python.

    `docs/linnet/backends.md`, section Recorders, says what holds while recording.
    """

    def recording(self) -> AbstractContextManager[Any]:
        """Inside, `execute` of the back end's executables appends its work instead of doing it."""
        ...

    def finish(self) -> Replay:
        """Everything recorded so far, in order. Nothing is recorded afterwards."""
        ...


class Replay(Protocol):
    """Recorded work. Dropping the last reference frees what it owns."""

    @property
    def calls(self) -> int:
        """How many kernel calls it makes, for the plan's report."""
        ...

    def run(self) -> None:
        """Does the recorded work in order: on cpu it is done on return, elsewhere it is queued on
        PyTorch's current stream. Runs no Python and allocates nothing. Raises what a call raised;
        the calls after it do not run.
        """
        ...


#: A table of a module, a name, and what the table has under it.
Place: TypeAlias = tuple[dict[str, Any], str, object]


class Look(Protocol):
    """Remembers places and tensors of a model, to say before each replay whether they changed.

    Linnet has one of its own; a back end may offer one that takes less time.
    """

    def holds(self) -> bool:
        """Whether each table still has the same object under its name, and each tensor has the
        same address, shape, strides, dtype and device. Writes to a tensor do not count.
        """
        ...
