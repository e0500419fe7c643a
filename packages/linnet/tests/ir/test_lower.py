"""Every checked program lowers to well-formed IR, and the IR's JSON says what the source says."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from linnet_helpers.programs import all_programs

from linnet.check import check_text
from linnet.check.definitions import BlockDef
from linnet.ir import IRModule, Operation, Region, lower, verify_ir
from linnet.ir.json import manifest_records, module_to_json
from linnet.source import Span

PROGRAMS = all_programs()


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_programs_lower_to_well_formed_ir(number: int) -> None:
    module = check_text(PROGRAMS[number]).ensure_valid()
    lowered = lower(module)
    verify_ir(lowered)
    json.dumps(module_to_json(lowered, None))
    assert len(lowered.functions) == len(module.functions())


def test_manifest_counts_arrays_and_marks_what_may_be_absent() -> None:
    text = """module m
block Unit<N: Dim> {
    param gain: Tensor[N, 2 * N; f32]
    param bias: Tensor[N; f32]? = none
}
pub block Root<N: Dim, L: Dim> {
    sub units: [Unit<N + 1>; L]
    state seen: Tensor[4; i64]
    sub last: Unit<N>? = none
}
"""
    module = check_text(text).ensure_valid()
    root = next(i for i in module.items if isinstance(i, BlockDef) and i.name == "Root")
    rows = [
        (r["path"], r["kind"], r["shape"], r["repeat"], r["optional"])
        for r in manifest_records(root)
    ]
    assert rows == [
        ("units.*.gain", "param", ["N + 1", "2*N + 2"], ["L"], False),
        ("units.*.bias", "param", ["N + 1"], ["L"], True),
        ("seen", "state", ["4"], [], False),
        ("last.gain", "param", ["N", "2*N"], [], True),
        ("last.bias", "param", ["N"], [], True),
    ]


@pytest.mark.parametrize(
    ("operation", "complaint"),
    [
        (Operation("mystery", (), (9,), {}, (), Span(0, 0)), "no operation 'mystery'"),
        (Operation("neg", (7,), (1,), {}, (), Span(0, 0)), "reads the value 7 before"),
        (Operation("neg", (0,), (0,), {}, (), Span(0, 0)), "makes the value 0 again"),
        (Operation("size", (), (1,), {}, (), Span(0, 0)), "lacks the attribute 'size'"),
        (Operation("if", (0,), (1,), {}, (), Span(0, 0)), "has 0 regions"),
    ],
)
def test_verifier_names_what_is_malformed(operation: Operation, complaint: str) -> None:
    module = check_text("module m\nfn f(x: f32) -> f32 { return -x }").ensure_valid()
    lowered = lower(module)
    ((definition, function),) = lowered.functions.items()
    broken = replace(function, body=Region((), (operation,), ()))
    with pytest.raises(ValueError, match=complaint):
        verify_ir(IRModule(module, {definition: broken}, {}))
