"""Back ends that fail in any way are named in the plan, and the plan goes on."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from linnet_helpers.runtime import Reference, close, inputs, model_of

from linnet.backends import Options, Region, Requirement, Target
from linnet.backends.testing import two_layer_graph
from linnet.graph import Graph
from linnet.torch.planned import Captured

Change = Callable[[Reference], None]


def broken(method: str, value: Any) -> Change:
    def change(backend: Reference) -> None:
        def raise_or_return(*args: Any) -> Any:
            if isinstance(value, Exception):
                raise value
            return value

        setattr(backend, method, raise_or_return)

    return change


def regions(make: Callable[[Graph], Any]) -> Change:
    def change(backend: Reference) -> None:
        match = backend.match
        backend.match = lambda graph, target: [*match(graph, target), make(graph)]

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (broken("probe", RuntimeError("no driver")), "RuntimeError: no driver"),
        (broken("probe", True), "probe returned an object of type bool"),
        (broken("probe", None), "declines cpu"),
        (broken("match", RuntimeError("lost")), "RuntimeError: lost"),
        (broken("match", 7), "'int' object is not iterable"),
        (broken("compile", RuntimeError("no kernel")), "compile failed: RuntimeError: no kernel"),
        (broken("compile", None), "compile returned None, which has no method prepare"),
        (broken("recorder", RuntimeError("full")), None),
        (regions(lambda graph: "a text"), "match returned an object of type str, not a Region"),
        (regions(lambda graph: Region.of(graph, 5, 99)), "names step 26"),
        (regions(lambda graph: Region.of(graph, 3, 3)), "the region has no steps"),
        (regions(lambda graph: Region.of_steps(graph, [0, 0])), "overlaps itself"),
        (regions(lambda graph: Region.of_steps(graph, [0, 12])), "is not convex"),
        (regions(lambda graph: Region.of(two_layer_graph(), 0, 1)), "region of another graph"),
    ],
)
def test_a_faulty_back_end_is_named_and_the_plan_goes_on(
    change: Change, reason: str | None
) -> None:
    faulty, good = Reference("faulty"), Reference("good")
    change(faulty)
    model = model_of(two_layer_graph())
    plan = model.plan_for("forward", inputs(), backends=[faulty, good])
    (made,) = plan.run(inputs(), model.context_for(plan))
    assert close(made, model.run_entry("forward", inputs(), compile=False))
    if reason is not None:
        named = [r for r in plan.refusals if r.backend == "faulty" and reason in r.reason]
        assert named, plan.refusals
        assert reason in str(plan.report()).replace("\n", " ") or len(reason) > 60


def meta(**fields: Any) -> Change:
    """Its executables have another meta."""

    def change(backend: Reference) -> None:
        compile = backend.compile

        def changed(region: Region, target: Target, options: Options) -> Any:
            executable: Any = compile(region, target, options)
            executable.meta = SimpleNamespace(
                **{"states_read": (), "states_written": (), "holds": 0, "requires": None, **fields}
            )
            return executable

        setattr(backend, "compile", changed)  # noqa: B010  # a method, to a type checker

    return change


def together(result: Any) -> Change:
    """Compiles all its regions at once."""

    def change(backend: Reference) -> None:
        def compile_regions(regions: Any, target: Target, options: Options) -> Any:
            if isinstance(result, Exception):
                raise result
            return result

        setattr(backend, "compile_regions", compile_regions)  # noqa: B010  # an optional method

    return change


def half_a_match(backend: Reference) -> None:
    match = backend.match

    def broken_off(graph: Graph, target: Target) -> Any:
        yield from match(graph, target)
        raise RuntimeError("lost on the way")

    setattr(backend, "match", broken_off)  # noqa: B010  # a method, to a type checker


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (meta(holds=-1), "its executable holds -1 bytes"),
        (meta(reads_in_place=1), "its executable's reads_in_place is 1, expected True or False"),
        (meta(holds=1.5), "meta must be an ExecutableMeta"),
        (meta(states_read=None), "meta must be an ExecutableMeta"),
        (meta(states_written=("cache",)), "writes the state cache, and the region does not"),
        (meta(requires=[]), "meta.requires must be None or a tuple of Requirement"),
        (meta(requires=(7,)), "meta.requires must be None or a tuple of Requirement"),
        (meta(requires=(Requirement(9, 0, 1),)), "requires something of input 9"),
        (meta(requires=(Requirement(0, 0, 1),)), "requires integers of input 0, which has none"),
        (together(RuntimeError("no")), "compile_regions failed: RuntimeError: no"),
        (together([]), "compile_regions returned 0 executables for 8 regions"),
        (together(None), "compile_regions failed: TypeError"),
        (together([None] * 8), "compile returned None, which has no method prepare"),
        (half_a_match, "RuntimeError: lost on the way"),
    ],
)
def test_what_a_faulty_back_end_compiles_is_refused_and_the_good_ones_run(
    change: Change, reason: str
) -> None:
    faulty, good = Reference("faulty"), Reference("good")
    change(faulty)
    model = model_of(two_layer_graph())
    plan = model.plan_for("forward", inputs(), backends=[faulty, good], measure=False)
    named = [r for r in plan.refusals if r.backend == "faulty" and reason in r.reason]
    assert named, plan.refusals
    assert {item.backend.name for item in plan.regions} == {"good"}
    (made,) = Captured(plan, model.context_for(plan))(inputs())
    assert close(made, model.run_entry("forward", inputs(), compile=False))


def test_a_back_end_that_spoils_its_inputs_while_it_is_timed_spoils_no_others() -> None:
    def spoil(executable: Any, given: Any, out: Any, context: Any) -> Any:
        made = executable(given, out, context)
        given[0].fill_(torch.nan)
        return made

    faulty = Reference("faulty", records=False)
    compile = faulty.compile

    def compiled(region: Region, target: Target, options: Options) -> Any:
        made: Any = compile(region, target, options)
        execute = made.execute
        made.execute = lambda i, o, c: spoil(execute, i, o, c)
        return made

    setattr(faulty, "compile", compiled)  # noqa: B010  # a method, to a type checker
    model, given = model_of(two_layer_graph()), inputs()
    model.plan_for("forward", given, backends=[faulty], options=Options(margin=0.99))
    assert torch.equal(given[0], inputs()[0])


@pytest.mark.parametrize(
    ("contract", "reason"),
    [(2, "contract version 2"), (None, "contract version None")],
)
def test_a_back_end_of_another_contract_never_runs(contract: Any, reason: str) -> None:
    other = Reference("other")
    other.contract = contract
    model = model_of(two_layer_graph())
    plan = model.plan_for("forward", inputs(), backends=[other], measure=False)
    assert plan.regions == ()
    assert reason in plan.refusals[0].reason
    assert other.compiled == []


def test_two_back_ends_of_one_name_cannot_both_run() -> None:
    model = model_of(two_layer_graph())
    plan = model.plan_for("forward", inputs(), backends=[Reference(), Reference()], measure=False)
    assert "two back ends are called 'reference'" in plan.refusals[0].reason


class Bad(Reference):
    """Its executables misbehave when they run."""

    def __init__(self, run: Callable[[Any], Any]) -> None:
        super().__init__("bad", records=False)
        self.run = run

    def compile(self, region: Region, target: Target, options: Options) -> Any:
        executable: Any = super().compile(region, target, options)
        original = executable.execute
        executable.execute = lambda i, o, c: self.run(original(i, o, c))
        return executable


def fail(outputs: Any) -> Any:
    raise RuntimeError("out of luck")


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (fail, "out of luck"),
        (lambda outputs: [], "execute returned 0 outputs, not 1"),
        (lambda outputs: [outputs[0].double()], r"execute returned f64\[3, "),
        (lambda outputs: [outputs[0][:1]], r"execute returned f32\[1, "),
        (lambda outputs: ["text"], "execute returned a str, not a tensor"),
        (lambda outputs: [outputs[0].to("meta")], "execute returned a tensor on meta, not cpu"),
        (lambda outputs: None, "'NoneType' object is not iterable"),
    ],
)
def test_an_executable_that_fails_is_refused_when_timed_and_named_when_run(
    run: Callable[[Any], Any], reason: str
) -> None:
    model = model_of(two_layer_graph())
    measured = model.plan_for("forward", inputs(), backends=[Bad(run)])
    assert measured.regions == ()
    plain = reason.replace("\\", "")
    assert any("failed when it was timed" in r.reason for r in measured.refusals)
    assert any(plain in r.reason for r in measured.refusals)
    plan = model.plan_for("forward", inputs(), backends=[Bad(run)], measure=False)
    with pytest.raises(Exception, match=rf"forward: back end bad, .*linnet:.*{reason}"):
        plan.run(inputs(), model.context_for(plan))
