"""A loaded model: a PyTorch module whose methods are the entries."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
from torch import Tensor, nn

from linnet.graph import Graph
from linnet.source import near_names
from linnet.torch.dtypes import FLOATS, dense_problem, describe, describe_tensor, torch_dtype
from linnet.torch.inputs import bind, check_variants, describe_input, name_inputs, unflatten
from linnet.torch.interpret import interpret
from linnet.torch.joining import join_parameters
from linnet.torch.program import Program
from linnet.torch.runner import Runner
from linnet.torch.stages import Portion
from linnet.torch.watch import Watch
from linnet.torch.weights import Declared

if TYPE_CHECKING:
    from linnet.backends import Backend, Options
    from linnet.torch.planned import Captured, Finding, Plan, PlanContext

#: `None` and True: generated source; False: the interpreter; `reduce-overhead`: a CUDA graph of the
#: generated source; another text: a `torch.compile` back end.
Compile: TypeAlias = "bool | str | None"
Inputs: TypeAlias = "Sequence[Any] | Mapping[str, Any]"


class Block(nn.Module):
    """A block instance; it holds parameters, buffers and states, and prints them."""

    def __init__(self) -> None:
        super().__init__()
        self.declared: dict[str, Declared] = {}

    def extra_repr(self) -> str:
        """One line for each member: `weight: bf16[64, 64]`."""
        lines = []
        for name, entry in self.declared.items():
            mark = "?" if entry.optional else ""
            kind = "" if entry.kind == "param" else f"{entry.kind} "
            lines.append(f"{kind}{name}{mark}: {describe(entry.shape, entry.dtype)}")
        return "\n".join(lines)


class LinnetModule(Block):
    """A model at fixed generics with its weights; `linnet.torch.load` makes it.

    Each entry is a method that takes the entry's inputs and returns its result: a tensor, a tuple
    for a tuple, a dictionary for a struct. Entries whose names `nn.Module` uses itself (`train`)
    are reached by `run_entry` only.
    """

    def __init__(
        self,
        program: Program,
        tensors: Mapping[str, Tensor],
        *,
        device: torch.device | str = "cpu",
        numerics: str = "fast",
        compile: Compile = None,
        trainable: bool = False,
    ) -> None:
        super().__init__()
        self.program = program
        self.numerics = numerics
        self.compile_mode = compile
        self.trainable = trainable
        self.bound = frozenset(tensors)
        self._graphs: dict[Any, Graph] = {}
        self._runners: dict[Any, Runner] = {}
        self._steps: dict[int, Captured] = {}
        self._latest: dict[str, Graph] = {}
        self._fitting: dict[int, Watch] = {}
        self._device = torch.device(device)
        for entry in program.declared(self.bound):
            self._add(entry, tensors.get(entry.path))

    def _add(self, entry: Declared, tensor: Tensor | None) -> None:
        # One object for each name: thousands of them are looked up again and again.
        *parents, name = map(sys.intern, entry.path.split("."))
        block: nn.Module = self
        for part, following in pairwise([*parents, name]):
            child = block._modules.get(part)
            if child is None:
                child = nn.ModuleList() if following.isdigit() else Block()
                block._modules[part] = child
            block = child
        if isinstance(block, Block):
            block.declared[name] = entry
        # Straight into the tables, since `register_parameter` refuses names such as `half`.
        if entry.kind == "state":
            zeros = torch.zeros(entry.shape, dtype=torch_dtype(entry.dtype), device=self._device)
            block._buffers[name] = zeros
            block._non_persistent_buffers_set.add(name)
        elif tensor is None:
            block._parameters[name] = None
        elif entry.kind == "buffer":
            block._buffers[name] = tensor
        else:
            train = self.trainable and entry.dtype in FLOATS
            block._parameters[name] = nn.Parameter(tensor, requires_grad=train)

    # --- the tensors ---

    @property
    def device(self) -> torch.device:
        """Where the model's tensors are, and where its inputs must be."""
        for path in self.bound:
            found = self._find(path)
            if found is not None:
                return found.device
        return next((tensor.device for tensor in self.buffers()), self._device)

    def tensor(self, path: str) -> Tensor:
        """The parameter, buffer or state at `path`; KeyError for a path that has none."""
        found = self._find(path)
        if found is None:
            near = near_names(path, self.paths(), 3)
            hint = f"; near ones are {', '.join(near)}" if near else ""
            raise KeyError(f"{self.program.name} has no tensor at {path!r}{hint}")
        return found

    def _find(self, path: str) -> Tensor | None:
        *parents, name = path.split(".")
        block: nn.Module | None = self
        for part in parents:
            block = None if block is None else block._modules.get(part)
        if block is None:
            return None
        found = block._parameters.get(name)
        return block._buffers.get(name) if found is None else found

    def paths(self) -> Iterator[str]:
        """The paths of all parameters, buffers and states that there are."""
        yield from (name for name, _ in self.named_parameters(remove_duplicate=False))
        yield from (name for name, _ in self.named_buffers(remove_duplicate=False))

    def state_paths(self) -> tuple[str, ...]:
        """The paths of all states, in the order of the source."""
        declared = self.program.declared(self.bound)
        return tuple(entry.path for entry in declared if entry.kind == "state")

    def reset_state(self) -> None:
        """Sets every state to zeros, in place."""
        for path in self.state_paths():
            self.tensor(path).zero_()

    def join(self, paths: Sequence[str]) -> Tensor | None:
        """The parameters at `paths` as one tensor, one after another along their first axis, in
        shared memory; None where they cannot lie so. See `linnet.torch.joining`.
        """
        return join_parameters(self, paths)

    # --- copies ---

    def __deepcopy__(self, memo: dict[int, Any]) -> LinnetModule:
        """A model with tensors of its own; what was made to run this one is made anew for it."""
        copied = self.__class__.__new__(self.__class__)
        memo[id(self)] = copied
        memo[id(self.program)] = self.program
        made = ("_graphs", "_runners", "_steps", "_latest", "_fitting")
        for name, value in self.__dict__.items():
            copied.__dict__[name] = {} if name in made else deepcopy(value, memo)
        return copied

    def __reduce_ex__(self, protocol: object) -> Any:
        """TypeError: a checked program is no data."""
        raise TypeError(
            f"{self.program.name}: a LinnetModule cannot be pickled; save its state_dict() and "
            "give that to linnet.torch.load with the source"
        )

    # --- running entries ---

    def __getattr__(self, name: str) -> Any:
        program = self.__dict__.get("program")
        if program is not None and name in program.entries:
            return partial(self._call_entry, name)
        return super().__getattr__(name)

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Runs the entry `forward`."""
        return self._call_entry("forward", *inputs, **named)

    def _call_entry(self, entry: str, *inputs: Any, **named: Any) -> Any:
        given = name_inputs(entry, self._inputs_of(entry), inputs)
        twice = [name for name in named if name in given]
        if twice:
            raise TypeError(f"entry {entry}: input {twice[0]!r} is given twice")
        return self.run_entry(entry, {**given, **named})

    def run_entry(
        self,
        name: str,
        inputs: Inputs,
        generics: Mapping[str, Any] | None = None,
        compile: Compile = None,
    ) -> Any:
        """Runs an entry and returns its result.

        Generics of the entry come from the inputs' shapes, or from `generics`. `compile`
        overrides what `load` was given. Raises TypeError, ValueError or IndexError that names
        the input before anything is written; a call that fails leaves the states as they were.
        """
        graph = self.graph_for(name, inputs, generics)
        tensors = self.bind(graph, inputs)
        results = self.run_graph(graph, tensors, self.compile_mode if compile is None else compile)
        return unflatten(graph.result, iter(results))

    def bind(self, graph: Graph, inputs: Inputs) -> list[Tensor]:
        """The flat input tensors of a graph. TypeError, ValueError or IndexError names the input
        that does not fit, what was expected and what was given.
        """
        named = name_inputs(graph.entry, self._inputs_of(graph.entry), inputs)
        tensors = bind(graph, named, self.device)
        variants = self.program.variants(graph.entry)
        if variants:
            check_variants(graph, tensors, variants)
        return tensors

    def run_graph(
        self, graph: Graph, inputs: Sequence[Tensor], compile: Compile = None
    ) -> list[Tensor]:
        """Runs a graph of this model on bound inputs, stores its states, returns flat results."""
        if compile == "reduce-overhead":
            return self._captured(graph)(list(inputs))
        generation = self.check_tensors(graph)
        states = {state.path: self.tensor(state.path) for state in graph.states}
        if compile is False:
            parameters = {p.path: self.tensor(p.path) for p in graph.parameters}
            results, written = interpret(graph, inputs, parameters, states, self.device)
            fixed: list[Tensor] = []
        else:
            runner = self.runner(graph, compile)
            results, written = runner.run(inputs, self.tensor, generation)
            fixed = runner.kept()
        return commit(results, written, states, fixed)

    def check_tensors(self, graph: Graph) -> int:
        """ValueError for a tensor that was replaced by one which is not as declared. Returns a
        number that is another one when a tensor of the graph was replaced or moved.
        """
        watch = self._fitting.get(id(graph))
        if watch is not None and not watch.changed():
            return watch.renewals
        used = [(one.path, graph.values[one.value]) for one in graph.parameters]
        used += [(one.path, graph.values[one.value]) for one in graph.states]
        for path, value in used:
            tensor = self.tensor(path)
            problem = dense_problem(tensor)
            if tuple(tensor.shape) != value.shape or tensor.dtype != torch_dtype(value.dtype):
                problem = f"got {describe_tensor(tensor)}"
            if problem is not None:
                expected = describe(value.shape, value.dtype)
                raise ValueError(f"{self.program.name}: {path}: expected {expected}, {problem}")
        if watch is None:
            watch = Watch(self, [path for path, _ in used], contents=False)
            self._fitting[id(graph)] = watch
        watch.renew()
        return watch.renewals

    def _captured(self, graph: Graph) -> Captured:
        found = self._steps.get(id(graph))
        if found is None:
            from linnet.torch.planned.whole_graph import capture_source

            found = self._steps[id(graph)] = capture_source(self, graph)
        return found

    def runner(self, graph: Graph, compile: Compile = None) -> Runner:
        """The generated source of a graph, ready to run; made once."""
        key = (id(graph), compile if isinstance(compile, str) else None)
        found = self._runners.get(key)
        if found is None:
            found = self.slice_runner(
                graph, Portion.whole(graph), key[1], shared=False, in_place=not self.trainable
            )
            self._runners[key] = found
        return found

    def slice_runner(
        self,
        graph: Graph,
        portion: Portion,
        compile: str | None = None,
        shared: bool = True,
        in_place: bool = False,
    ) -> Runner:
        """The generated source of a portion of a graph, ready to run; `shared` and `in_place` as
        for `emit`.
        """
        return Runner.of_graph(
            graph,
            portion,
            device=self.device,
            numerics=self.numerics,
            fold_weights=not self.trainable,
            join=None if self.trainable else self.join,
            backend=compile,
            shared=shared,
            in_place=in_place,
        )

    def graph_for(
        self, entry: str, inputs: Inputs, generics: Mapping[str, Any] | None = None
    ) -> Graph:
        """The graph of an entry for inputs like `inputs`; the same object for equal ones."""
        named = name_inputs(entry, self._inputs_of(entry), inputs)
        described = {name: describe_input(entry, name, value) for name, value in named.items()}
        chosen = dict(generics or {})
        key = (entry, _frozen(described), _frozen(chosen))
        graph = self._graphs.get(key)
        if graph is None:
            graph = self.program.graph_for(entry, described, chosen, self.bound)
            self._graphs[key] = graph
        self._latest[entry] = graph
        return graph

    def generated_source(
        self, entry: str, inputs: Inputs | None = None, generics: Mapping[str, Any] | None = None
    ) -> str:
        """The PyTorch source that runs an entry, for `inputs`, or else for the latest inputs that
        it ran with.
        """
        self._inputs_of(entry)
        if inputs is not None:
            graph = self.graph_for(entry, inputs, generics)
        elif entry in self._latest:
            graph = self._latest[entry]
        elif not self._inputs_of(entry):
            graph = self.graph_for(entry, [], generics)
        else:
            raise ValueError(
                f"entry {entry}: its sizes depend on its inputs; give `inputs`, or run it first"
            )
        return self.runner(graph).source.text

    # --- plans ---

    def plan_for(
        self,
        entry: str,
        inputs: Inputs,
        backends: Sequence[Backend] | None = None,
        compile: str | None = None,
        memory: int | None = None,
        measure: bool = True,
        options: Options | None = None,
    ) -> Plan:
        """Divides an entry over back ends, for inputs like `inputs`.

        `backends`: those to ask, in order; None means all that are installed
        (`linnet.backends.available`). `compile`: the `torch.compile` back end of the generated
        slices. `memory`: bytes that the plan may keep beyond the model's weights. `measure=False`
        times nothing: each back end takes what it matches, the largest regions first. `options`
        sets the same and more; an argument of its own wins.

        Times of each kind of region are kept in `$LINNET_HOME/benchmarks.json` and read from
        there. A back end that fails loses its regions, and the report says why. Planning changes
        no state; it may lay sibling weights out side by side.
        """
        from linnet.torch.planned.planner import plan_for

        return plan_for(self, entry, inputs, backends, compile, memory, measure, options)

    def context_for(self, plan: Plan) -> PlanContext:
        """This model's tensors for a plan of it, with the plan's executables prepared."""
        from linnet.torch.planned.context import PlanContext

        if plan.model is not self:
            raise ValueError("context_for: the plan was made for another model")
        context = PlanContext(self, plan.regions, plan=plan)
        context.prepare()
        return context

    def conform(
        self,
        entry: str,
        inputs: Inputs,
        backend: Backend,
        tolerance: float = 0.01,
        stress: bool = False,
    ) -> list[Finding]:
        """Runs each region that a back end takes both ways, by the back end and by the generated
        source, on the same inputs; a finding passes when the largest difference is within
        `tolerance`. A region that writes state runs once, on a copy, and is not compared.
        `stress` repeats it with large and tiny values and negative zeros, and with NaN in places of
        an input or state (a cache past its length) that the generated source does not look at.
        """
        from linnet.torch.planned.conform import conform

        return conform(self, entry, inputs, backend, tolerance, stress)

    def _inputs_of(self, entry: str) -> tuple[str, ...]:
        if entry not in self.program.entries:
            raise AttributeError(
                f"{self.program.name} has no entry {entry!r}; it has: "
                f"{', '.join(self.program.entries)}"
            )
        return self.program.inputs_of(entry)


def commit(
    results: Sequence[Tensor],
    written: Mapping[str, Tensor],
    states: Mapping[str, Tensor],
    fixed: Iterable[Tensor] = (),
) -> list[Tensor]:
    """Stores new state contents and returns the results as tensors that stay what they are.

    A result that lies in memory which later calls change or share (a state, a constant) is copied
    first, and so is a new content that lies in another state. `fixed` are such other tensors.
    """
    if not states and not fixed:
        return list(results)
    memory = {_memory(tensor) for tensor in (*states.values(), *fixed)}
    owned = [tensor.clone() if _memory(tensor) in memory else tensor for tensor in results]
    with torch.no_grad():
        contents = {
            path: tensor.clone() if _memory(tensor) in memory else tensor
            for path, tensor in written.items()
        }
        for path, tensor in contents.items():
            states[path].copy_(tensor)
    return owned


def _memory(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _frozen(value: Any) -> Any:
    if isinstance(value, Mapping):
        return tuple((key, _frozen(part)) for key, part in value.items())
    if isinstance(value, (tuple, list)):
        return tuple(_frozen(part) for part in value)
    return value
