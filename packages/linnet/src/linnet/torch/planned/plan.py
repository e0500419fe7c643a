"""A plan: one entry at one binding, divided over back ends and generated source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

import torch
from torch import Tensor

from linnet.backends import Options, Target
from linnet.graph import Graph
from linnet.torch.dtypes import torch_dtype
from linnet.torch.inputs import check_variants
from linnet.torch.module import Inputs, LinnetModule, commit
from linnet.torch.planned.context import PlanContext
from linnet.torch.planned.engine import Engine
from linnet.torch.planned.items import Item, RegionItem, SliceItem
from linnet.torch.planned.proposals import Refusal
from linnet.torch.planned.report import Report, make_report


@dataclass(frozen=True)
class StepTimes:
    """Seconds of one step: predicted from the regions, and measured where this call measured."""

    planned: float | None = None
    generated: float | None = None
    selection: str = "greedy"
    other_selection: float | None = None


class Plan:
    """What runs where, for inputs like those that it was made for. `model.plan_for` makes it.

    `items` in order are regions on back ends and slices of generated source. Running a plan
    computes no gradients.
    """

    def __init__(
        self,
        model: LinnetModule,
        graph: Graph,
        items: Sequence[Item],
        refusals: Sequence[Refusal],
        target: Target,
        options: Options,
        times: StepTimes,
    ) -> None:
        self.model = model
        self.graph = graph
        self.items = tuple(items)
        self.refusals = tuple(refusals)
        self.target = target
        self.options = options
        self.times = times
        self.engine = Engine(graph, items)
        values = [graph.values[item.value] for item in graph.inputs]
        self._expected = [(value.shape, torch_dtype(value.dtype)) for value in values]

    @property
    def regions(self) -> tuple[RegionItem, ...]:
        """The items that back ends run."""
        return tuple(item for item in self.items if isinstance(item, RegionItem))

    @property
    def slices(self) -> tuple[SliceItem, ...]:
        """The items that generated source runs."""
        return tuple(item for item in self.items if isinstance(item, SliceItem))

    def bind(self, inputs: Inputs, device: torch.device) -> list[Tensor]:
        """The flat input tensors. TypeError, ValueError or IndexError names the input that does
        not fit what was planned.
        """
        if self._fit(inputs, device):
            variants = self.model.program.variants(self.graph.entry)
            if variants:
                check_variants(self.graph, inputs, variants)
            return list(inputs)
        try:
            return self.model.bind(self.graph, inputs)
        except ValueError as error:
            raise ValueError(
                f"{error}; this plan was made for {self.signature()}: plan again for other sizes"
            ) from error

    def _fit(self, inputs: Inputs, device: torch.device) -> TypeGuard[list[Tensor]]:
        """Whether the inputs are a list of just the tensors that were planned; others need a look
        at each part.
        """
        return (
            isinstance(inputs, list)
            and len(inputs) == len(self._expected)
            and all(
                isinstance(tensor, Tensor)
                and tensor.shape == shape
                and tensor.dtype == dtype
                and tensor.device == device
                and tensor.layout == torch.strided
                for tensor, (shape, dtype) in zip(inputs, self._expected, strict=True)
            )
        )

    def signature(self) -> str:
        """The inputs that it was made for: `x f32[1, 64], pos i64`."""
        from linnet.torch.program import expected_input

        parts = (f"{i.name} {expected_input(self.graph, i.value)}" for i in self.graph.inputs)
        return ", ".join(parts) or "no inputs"

    def run(self, inputs: Inputs, context: PlanContext) -> list[Tensor]:
        """Runs the plan step by step; returns the entry's results, flat and in order.

        Raises before anything runs when an input does not fit. When a step fails, the states are
        as they were, and the error names the back end or the generated source, and the place.
        """
        self.check_context(context)
        tensors = self.bind(inputs, context.device)
        self.model.check_tensors(self.graph)
        context.prepare()
        results, written = self.engine.run(tensors, context)
        states = {state.path: context.parameters[state.path] for state in self.graph.states}
        return commit(results, written, states, self.shared())

    def shared(self) -> list[Tensor]:
        """Tensors that every run shares and no caller may be given."""
        return [tensor for item in self.slices for tensor in item.runner.kept()]

    def check_context(self, context: PlanContext) -> None:
        """ValueError for a context of another plan or model."""
        if getattr(context, "plan", None) is not self:
            raise ValueError(
                "the context was made for another plan; use model.context_for(plan) of this one"
            )

    def report(self) -> Report:
        """What runs where and why; `print` shows it as text, `to_json` gives it as data."""
        return make_report(self)
