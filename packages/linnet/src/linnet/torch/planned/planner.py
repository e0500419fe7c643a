"""Makes plans: proposals, times, selection, items, in this order."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor

from linnet.backends import Backend, Executable, Options, Replay, Target, available
from linnet.backends.store import BenchmarkStore, Timing
from linnet.graph import Graph
from linnet.torch.dtypes import torch_dtype
from linnet.torch.interpret import interpret_values
from linnet.torch.module import Inputs, LinnetModule
from linnet.torch.operations import unchecked_positions
from linnet.torch.planned.captured import Captured
from linnet.torch.planned.context import PlanContext
from linnet.torch.planned.device_graph import device_graphs
from linnet.torch.planned.engine import Engine
from linnet.torch.planned.items import Item, RegionItem, arrange, portion_of
from linnet.torch.planned.layouts import layouts_of
from linnet.torch.planned.measure import Run, rotated, time_pair
from linnet.torch.planned.plan import Plan, StepTimes
from linnet.torch.planned.proposals import (
    Proposal,
    Refusal,
    compile_regions,
    describe_failure,
    propose,
)
from linnet.torch.planned.recording import execute_into, make_recorder, state_results
from linnet.torch.planned.select import Choice, exact, greedy
from linnet.torch.planned.target import target_for
from linnet.torch.runner import Runner
from linnet.torch.stages import Portion


def plan_for(
    model: LinnetModule,
    entry: str,
    inputs: Inputs,
    backends: Sequence[Backend] | None = None,
    compile: str | None = None,
    memory: int | None = None,
    measure: bool = True,
    options: Options | None = None,
) -> Plan:
    """Divides an entry over back ends, for inputs like `inputs`; `LinnetModule.plan_for` has the
    contract.
    """
    base = Options() if options is None else options
    if not isinstance(base, Options):
        raise TypeError(f"plan_for: options must be Options, got {type(base).__name__}")
    chosen = replace(
        base,
        compile=base.compile if compile is None else compile,
        memory=base.memory if memory is None else memory,
    )
    if chosen.compile == "reduce-overhead":
        raise ValueError(
            'plan_for: compile="reduce-overhead" is no compiler of slices; run the plan by Captured'
        )
    asked = available() if backends is None else _checked(backends)
    graph = model.graph_for(entry, inputs)
    return _Planner(model, graph, inputs, chosen).plan(asked, measure)


def _checked(backends: Sequence[Backend]) -> list[Backend]:
    """The back ends; TypeError for what is none, such as a name or a class."""
    if not isinstance(backends, (list, tuple)):
        raise TypeError(
            f"plan_for: backends must be a list of back ends, got {type(backends).__name__}"
        )
    for backend in backends:
        if backend is None:
            raise TypeError("plan_for: backends: expected back ends, got None")
        if isinstance(backend, type):
            raise TypeError(
                f"plan_for: backends: {backend.__name__} is a class; give {backend.__name__}()"
            )
        if not callable(getattr(backend, "match", None)):
            raise TypeError(f"plan_for: backends: {type(backend).__name__} is no back end")
    return list(backends)


@dataclass
class _Kind:
    """Regions of one kind on one back end: compiled and timed once."""

    key: str
    proposals: list[Proposal]
    executable: Executable | None = None
    times: Timing | None = None


class _Planner:
    def __init__(self, model: LinnetModule, graph: Graph, inputs: Inputs, options: Options) -> None:
        self.model = model
        self.graph = graph
        self.given = inputs
        self.inputs = model.bind(graph, inputs)
        self.options = options
        self.target: Target = target_for(model.device)
        self.refusals: list[Refusal] = []

    @cached_property
    def states(self) -> dict[str, Tensor]:
        """Copies of the states: timing works on them, so that planning changes none."""
        return {s.path: self.model.tensor(s.path).clone() for s in self.graph.states}

    def plan(self, backends: Sequence[Backend], measure: bool) -> Plan:
        proposals, self.refusals = propose(self.graph, backends, self.target)
        kinds = self.kinds(proposals)
        self.compile_first(kinds)
        measured = measure and self.time(kinds)
        items, selection, other = self.select(kinds, measure)
        times = StepTimes(selection=selection, other_selection=other)
        if measure:
            items, times = self.decide_whole(items, times, measured)
        return Plan(self.model, self.graph, items, self.refusals, self.target, self.options, times)

    # --- proposals ---

    def kinds(self, proposals: Sequence[Proposal]) -> list[_Kind]:
        kinds: dict[str, _Kind] = {}
        for proposal in proposals:
            key = self.key(proposal)
            kinds.setdefault(key, _Kind(key, [])).proposals.append(proposal)
        return list(kinds.values())

    def key(self, proposal: Proposal) -> str:
        """Everything that a region's times depend on."""
        return self.document(
            {
                "backend": [proposal.backend.name, proposal.backend.version],
                "kind": proposal.region.kind,
                "layouts": layouts_of(self.graph, proposal.region, self.model.tensor),
                "recorded": self.recorded(proposal.backend),
            }
        )

    def document(self, what: dict[str, Any]) -> str:
        """A key of the store: `what` was timed, on what machine and how."""
        cpu = self.model.device.type == "cpu"
        circumstances = {
            "device": [self.target.kind, self.target.name, list(self.target.capability)],
            "torch": self.target.torch_version,
            "compile": self.options.compile,
            "numerics": self.model.numerics,
            "threads": torch.get_num_threads() if cpu else None,
        }
        return json.dumps({**what, **circumstances}, separators=(",", ":"))

    def recorded(self, backend: Backend) -> bool:
        """Whether a captured step replays what the back end does."""
        if device_graphs(self.model.device) is not None:
            return True
        return not isinstance(make_recorder(backend, self.target), str)

    def compile_first(self, kinds: list[_Kind]) -> None:
        """Compiles one region of each kind; drops a kind none of whose regions compiles."""
        for kind in list(kinds):
            first = kind.proposals[0]
            (made,) = compile_regions(first.backend, [first.region], self.target, self.options)
            if isinstance(made, str):
                self.refuse(kind.proposals, made)
                kinds.remove(kind)
            else:
                kind.executable = made

    def refuse(self, proposals: Sequence[Proposal], reason: str) -> None:
        self.refusals += [Refusal(p.backend.name, reason, p.region) for p in proposals]

    # --- times ---

    def time(self, kinds: list[_Kind]) -> bool:
        """Times each kind that the store does not know; drops those that fail. Returns whether
        anything was timed.
        """
        store = BenchmarkStore()
        for kind in kinds:
            kind.times = store.get(kind.key)
        unknown = [kind for kind in kinds if kind.times is None]
        if not unknown:
            return False
        wanted = {n for kind in unknown for n in kind.proposals[0].region.inputs}
        parameters = {p.path: self.model.tensor(p.path) for p in self.graph.parameters}
        with torch.no_grad():
            values = interpret_values(
                self.graph, self.inputs, parameters, self.states, self.model.device, wanted
            )
        found: dict[str, Timing] = {}
        for kind in unknown:
            try:
                kind.times = found[kind.key] = self.time_kind(kind, values)
            except Exception as error:
                self.refuse(kind.proposals, f"failed when it was timed: {describe_failure(error)}")
                kinds.remove(kind)
        store.put(found)
        return True

    def time_kind(self, kind: _Kind, values: dict[int, Tensor]) -> Timing:
        region = kind.proposals[0].region
        assert kind.executable is not None
        item = RegionItem(region, kind.proposals[0].backend, kind.executable)
        context = self.context([item])
        runner = self.runner(portion_of(self.graph, region.steps))
        lookup = context.parameters.__getitem__
        copies = rotated([values[number] for number in region.inputs])
        with torch.no_grad():
            own = [self.backend_run(item, given, context) for given in copies]
            generated: list[Run] = [partial(runner.run, given, lookup) for given in copies]
            own, generated = self.graphed(own, generated)
            return Timing(*time_pair(own, generated, self.model.device))

    def graphed(self, own: list[Run], generated: list[Run]) -> tuple[list[Run], list[Run]]:
        """The calls as a captured step does them: as graphs of the device, where it has such. As
        they are, both sides, where one of them cannot be captured.
        """
        graphs = device_graphs(self.model.device)
        if graphs is None:
            return own, generated
        for call in (*own, *generated):
            call()  # what is done at first use must not be part of a graph
        try:
            with unchecked_positions():
                replays = [graphs.capture(partial(_run, call))[1] for call in (*own, *generated)]
        except Exception:
            return own, generated
        return list(replays[: len(own)]), list(replays[len(own) :])

    def backend_run(self, item: RegionItem, inputs: Sequence[Tensor], context: PlanContext) -> Run:
        """A region's run as a captured step does it: replayed where its back end records."""
        recorder = (
            make_recorder(item.backend, self.target)
            if device_graphs(self.model.device) is None
            else "the device has graphs"
        )
        if isinstance(recorder, str):
            nothing = [None] * len(item.outputs)
            return partial(Engine(self.graph, [item]).execute, item, inputs, nothing, context)
        written = state_results(self.graph, [item])
        outputs = [
            context.parameters[written[number]] if number in written else self.empty(number)
            for number in item.outputs
        ]
        with recorder.recording():
            execute_into(item, inputs, outputs, context)
        replay = recorder.finish()
        # The memory must live as long as the replay.
        return partial(_replay, replay, (inputs, outputs))

    def empty(self, number: int) -> Tensor:
        value = self.graph.values[number]
        return torch.empty(value.shape, dtype=torch_dtype(value.dtype), device=self.model.device)

    def context(self, items: Sequence[RegionItem]) -> PlanContext:
        """A context on copies of the states, its executables prepared."""
        context = PlanContext(self.model, items, self.states)
        context.prepare()
        return context

    def runner(self, portion: Portion) -> Runner:
        return self.model.slice_runner(self.graph, portion, self.options.compile)

    # --- selection ---

    def select(self, kinds: Sequence[_Kind], measure: bool) -> tuple[list[Item], str, float | None]:
        """The items, which selection made them, and what the other selection would save."""
        left = [(kind, p) for kind in kinds for p in kind.proposals if self.worth(kind, p, measure)]
        while True:
            choices = [_choice(kind, proposal, measure) for kind, proposal in left]
            taken, selection, other = self.choose(choices, measure)
            regions, failed = self.compile_taken([left[n] for n in taken])
            if not failed:
                break
            # Their place is free for others now.
            left = [pair for pair in left if not any(pair[1] is gone for gone in failed)]
        used = {id(left[n][1]) for n in taken}
        for (_, proposal), choice in zip(left, choices, strict=True):
            if id(proposal) not in used:
                self.refuse([proposal], self.why_not(choice, regions))
        items = arrange(self.graph, regions, self.runner)
        return list(items), selection, other

    def worth(self, kind: _Kind, proposal: Proposal, measure: bool) -> bool:
        """Whether a region saves enough to be chosen at all; says so in the report if not."""
        assert kind.executable is not None
        if not measure or kind.times is None:
            return True
        saved = kind.times.generated - kind.times.backend
        if saved > 0 and saved >= self.options.margin * kind.times.generated:
            return True
        self.refuse(
            [proposal],
            f"takes {kind.times.backend * 1e6:.1f} us, generated source "
            f"{kind.times.generated * 1e6:.1f} us: saves less than {self.options.margin:.0%}",
        )
        return False

    def choose(
        self, choices: Sequence[Choice], measure: bool
    ) -> tuple[list[int], str, float | None]:
        memory = self.options.memory
        by_greed = greedy(choices, memory)
        if memory is not None or not measure:
            return by_greed, "greedy", None
        best = exact(choices)
        totals = [sum(choices[n].saves for n in taken) for taken in (by_greed, best)]
        if self.options.selection == "exact":
            return best, "exact", totals[0]
        return by_greed, "greedy", totals[1]

    def why_not(self, choice: Choice, regions: Sequence[RegionItem]) -> str:
        for item in regions:
            if item.region.overlaps(choice.region):
                ahead = "saves more" if choice.timed else "is no smaller; nothing was timed"
                return f"overlaps a region that {item.backend.name} runs and that {ahead}"
        return f"would keep {choice.holds} bytes more, past the bound of {self.options.memory}"

    def compile_taken(
        self, taken: Sequence[tuple[_Kind, Proposal]]
    ) -> tuple[list[RegionItem], list[Proposal]]:
        """The chosen regions compiled, and those that do not compile, which it refuses."""
        items: list[RegionItem] = []
        failed: list[Proposal] = []
        for backend in {id(p.backend): p.backend for _, p in taken}.values():
            own = [(kind, p) for kind, p in taken if p.backend is backend]
            made = compile_regions(backend, [p.region for _, p in own], self.target, self.options)
            for (kind, proposal), executable in zip(own, made, strict=True):
                if isinstance(executable, str):
                    self.refuse([proposal], executable)
                    failed.append(proposal)
                    continue
                times = kind.times
                items.append(
                    RegionItem(
                        proposal.region,
                        backend,
                        executable,
                        times.backend if times else None,
                        times.generated if times else None,
                    )
                )
        return items, failed

    def decide_whole(
        self, items: list[Item], times: StepTimes, measured: bool
    ) -> tuple[list[Item], StepTimes]:
        """Keeps the better one of the plan and all-generated source, both as a captured step. They
        are timed only when something was measured in this call; an earlier time of the same plan
        decides otherwise.
        """
        regions = [item for item in items if isinstance(item, RegionItem)]
        if not regions:
            return items, times
        key, store = self.whole_key(regions), BenchmarkStore()
        found = store.get(key)
        if measured:
            sides = [self.whole_run(items), self.whole_run(self.all_generated())]
            found = Timing(*time_pair([sides[0]], [sides[1]], self.model.device))
            store.put({key: found})
        if found is None:
            return items, times
        planned, plain = found.backend, found.generated
        kept = replace(times, planned=planned, generated=plain)
        if planned <= plain:
            return items, kept
        reason = (
            f"the whole plan took {planned * 1e6:.1f} us, all generated source {plain * 1e6:.1f} us"
        )
        self.refusals += [Refusal(item.backend.name, reason, item.region) for item in regions]
        return self.all_generated(), replace(kept, planned=plain)

    def all_generated(self) -> list[Item]:
        return list(arrange(self.graph, [], self.runner))

    def whole_key(self, regions: Sequence[RegionItem]) -> str:
        """Everything that the time of a plan depends on."""
        taken = [[i.backend.name, i.backend.version, list(i.region.steps)] for i in regions]
        recorded = sorted({i.backend.name for i in regions if self.recorded(i.backend)})
        graph = self.graph
        steps = [(s.kind, s.operands, s.results, dict(s.attributes), s.bodies) for s in graph.steps]
        values = [(v.shape, v.dtype) for v in graph.values]
        text = repr((steps, values, graph.constants, taken, recorded))
        return self.document({"plan": hashlib.sha256(text.encode()).hexdigest()})

    def whole_run(self, items: list[Item]) -> Run:
        plan = self.made(items, StepTimes())
        context = PlanContext(self.model, plan.regions, self.states, plan)
        context.prepare()
        return partial(Captured(plan, context), self.given)

    def made(self, items: Sequence[Item], times: StepTimes) -> Plan:
        return Plan(self.model, self.graph, items, self.refusals, self.target, self.options, times)


def _run(call: Run) -> list[Tensor]:
    call()
    return []


def _replay(replay: Replay, memory: object) -> None:
    replay.run()


def _choice(kind: _Kind, proposal: Proposal, measure: bool) -> Choice:
    assert kind.executable is not None
    holds = kind.executable.meta.holds
    if measure and kind.times is not None:
        return Choice(proposal.region, kind.times.generated - kind.times.backend, holds, timed=True)
    return Choice(proposal.region, float(len(proposal.region.steps)), holds)
