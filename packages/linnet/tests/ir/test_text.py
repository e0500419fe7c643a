"""The text form of IR shows every operation with what it reads and gives."""

from __future__ import annotations

import pytest
from linnet_helpers.programs import all_programs
from linnet_helpers.trips import operation_count

from linnet.check import check_text
from linnet.ir import lower
from linnet.ir.json import module_to_json
from linnet.ir.text import text

PROGRAMS = all_programs()

SOURCE = """module m
const EPS: f32 = 0.5
pub op scale<N: Dim>(x: Tensor[N, 4; f32], i: i64) -> Tensor[N; f32] where N > 0 {
    let y[n] = sum[k] x[n, k] * x[n, 0]
    let z = if i > 2 { y } else { y * EPS }
    return z
} grad(y, dy) { return broadcast_to(reshape(dy, [N, 1]), [N, 4]) }
fn use_it(x: Tensor[3, 4; f32]) -> Tensor[3; f32] { return scale(x, 1) }
"""

SHOWN = """const EPS
    %0: f32 = constant value=0.5
    gives %0

op m::scale<N: Dim>(%0 x: Tensor[N, 4; f32], %1 i: i64) -> Tensor[N; f32] where N > 0
    %6 y: Tensor[N; f32] = comprehension [0 n: N]
      body
        %5: f32 = reduce reduction=sum [1 k: 4]
          body
            %2: f32 = element %0 [index 0, index 1]
            %3: f32 = element %0 [index 0, constant 0]
            %4: f32 = mul %2 %3
            gives %4
        gives %5
    %7: i64 = size size=2
    %8: bool = compare %1 %7 comparison=gt
    %11 z: Tensor[N; f32] = if %8
      then
        gives %6
      else
        %9: f32 = constant value=0.5
        %10: Tensor[N; f32] = mul %6 %9
        gives %10
    return %11
  grad(%12 y: Tensor[N; f32], %13 dy: Tensor[N; f32])
    %14: Tensor[N, 1; f32] = reshape %13
    %15: Tensor[N, 4; f32] = broadcast %14
    return %15

fn m::use_it(%0 x: Tensor[3, 4; f32]) -> Tensor[3; f32]
    %1: i64 = size size=1
    %2: Tensor[3; f32] = semantic call m::scale<N = 3> %0 %1
    return %2"""


def test_operations_regions_constants_and_gradients_are_shown() -> None:
    document = module_to_json(lower(check_text(SOURCE).ensure_valid()), None)
    assert "\n".join(text(document)) == SHOWN


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_every_operation_has_a_line(number: int) -> None:
    module = check_text(PROGRAMS[number]).ensure_valid()
    document = module_to_json(lower(module), None)
    lines = list(text(document))
    assert sum(" = " in line or "state_write" in line for line in lines) >= operation_count(
        document
    )
    assert all(line == line.rstrip() for line in lines)
