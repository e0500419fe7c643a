"""Generated source made ready to run on a model's tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from linnet.graph import Graph
from linnet.torch.emit import Source, emit
from linnet.torch.generated import Functions, load_functions
from linnet.torch.stages import Portion
from linnet.torch.watch import Snapshot

#: `main` of a module compiled by a `torch.compile` back end, by both.
_compiled: dict[tuple[Functions, str], Callable[..., tuple[Tensor, ...]]] = {}


def compiled_main(functions: Functions, backend: str) -> Callable[..., tuple[Tensor, ...]]:
    """`main` compiled by a `torch.compile` back end; once for each text and back end."""
    key = (functions, backend)
    if key not in _compiled:
        _compiled[key] = torch.compile(functions.main, backend=backend, dynamic=False)
    return _compiled[key]


#: The weights at some paths as one tensor, or None; `LinnetModule.join`.
Join = Callable[[Sequence[str]], "Tensor | None"]


class Runner:
    """`main` of generated source with the constants and prepared weights that it needs.

    Constants are made at the first run. What was prepared from weights is made anew when one of
    them was replaced or written.
    """

    def __init__(
        self,
        source: Source,
        functions: Functions,
        device: torch.device,
        join: Join | None,
        backend: str | None,
    ) -> None:
        self.source = source
        self._functions = functions
        self._device = device
        self._join = join
        self._main = functions.main if backend is None else compiled_main(functions, backend)
        self._constants: tuple[Tensor, ...] | None = None
        self._prepared: tuple[Tensor, ...] = ()
        self._prepared_from: Snapshot | None = None
        self._generation: int | None = None
        self._read: tuple[list[Tensor], list[Tensor]] = ([], [])

    @staticmethod
    def of_graph(
        graph: Graph,
        portion: Portion | None = None,
        *,
        device: torch.device,
        numerics: str = "fast",
        fold_weights: bool = True,
        join: Join | None = None,
        backend: str | None = None,
        shared: bool = False,
        in_place: bool = False,
    ) -> Runner:
        """Emits and imports the source of a portion of `graph` (all of it by default)."""
        joins = None if join is None else (lambda paths: join(paths) is not None)
        source = emit(
            graph,
            portion,
            numerics=numerics,
            fold_weights=fold_weights,
            joins=joins,
            shared=shared,
            in_place=in_place,
        )
        functions = load_functions(source, graph.entry)
        return Runner(source, functions, device, join, backend)

    def run(
        self,
        inputs: Sequence[Tensor],
        tensor: Callable[[str], Tensor],
        generation: int | None = None,
    ) -> tuple[list[Tensor], dict[str, Tensor]]:
        """Runs it; returns the outputs, and by path the new content of the states it writes.
        `tensor` looks up a parameter, buffer or state by path. In two runs of one `generation` it
        gives the same tensors at the same places, which are then not looked up again. Nothing is
        written but the states that the source writes in place.
        """
        source = self.source
        if self._constants is None:
            self._constants = self._functions.constants(self._device)
        self._prepare(tensor)
        if generation is None or generation != self._generation:
            parameters = [tensor(path) for path in source.parameters]
            parameters += [self._joined(group) for group in source.joined]
            self._read = parameters, [tensor(path) for path in source.states]
            self._generation = generation
        parameters, states = self._read
        try:
            made = self._main(
                inputs, parameters, states, self._constants, self._prepared, self._device
            )
        except (RuntimeError, IndexError, ZeroDivisionError) as error:
            place = self._functions_place(error)
            if place is None:
                raise
            raised = IndexError if isinstance(error, IndexError) else RuntimeError
            raise raised(f"{place}: {error}") from error
        count = len(source.outputs)
        return list(made[:count]), dict(zip(source.written, made[count:], strict=True))

    def _functions_place(self, error: BaseException) -> str | None:
        """The line of Linnet source that failed, by the last comment before the generated line."""
        file = getattr(self._functions, "__file__", None)
        trace, line = error.__traceback__, 0
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == file:
                line = trace.tb_lineno
            trace = trace.tb_next
        for text in reversed(self.source.text.splitlines()[:line]):
            stripped = text.strip()
            if stripped.startswith("# "):
                return stripped.removeprefix("# ")
            if stripped.startswith("def "):
                return None
        return None

    def kept(self) -> list[Tensor]:
        """The tensors that every run shares: constants and prepared weights."""
        return [*(self._constants or ()), *self._prepared]

    def _joined(self, paths: Sequence[str]) -> Tensor:
        joined = None if self._join is None else self._join(paths)
        if joined is None:
            raise RuntimeError(
                f"the weights {', '.join(paths)} no longer lie side by side and cannot be laid so "
                "again (one is trained or tied now); load the model again"
            )
        return joined

    def _prepare(self, tensor: Callable[[str], Tensor]) -> None:
        parameters = [tensor(path) for path in self.source.prepare_parameters]
        if self._prepared_from is None or not self._prepared_from.holds_for(parameters):
            assert self._constants is not None
            seen = Snapshot(parameters)
            with torch.no_grad():
                self._prepared = self._functions.prepare(parameters, self._constants)
            self._prepared_from = seen
