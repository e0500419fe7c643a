import itertools
from importlib.util import find_spec
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from inputs import (  # type: ignore[import-not-found]  # noqa: E402  # on the path by conftest, after the skip
    dtypes_of_inputs,
    random_inputs,
)
from sweep import (  # type: ignore[import-not-found]  # noqa: E402  # on the path by conftest, after the skip
    Sweep,
    cases,
    fits,
    load_sweeps,
    report,
    run_layout,
)

import infini.ops  # noqa: E402  # after the setting or skip above

SWEEPS = load_sweeps()
CASES = [
    pytest.param(
        sweep,
        dtype,
        layout,
        id=f"{sweep.operator}-{dtype}-{layout}",
        marks=[pytest.mark.smoke] if layout in ("contiguous", "alias") else [],
    )
    for sweep in SWEEPS
    for dtype, layout in itertools.product(sweep.tolerance, sweep.layouts)
]


@pytest.mark.parametrize(("sweep", "dtype", "layout"), CASES)
def test_operator_agrees_with_its_oracle(
    sweep: Sweep, dtype: str, layout: str, seed: int, record_property: Any
) -> None:
    count = run_layout(sweep, dtype, layout, seed)
    record_property("cases", count)
    may_alias = any(
        output["may_alias"] and output["dtype"].startswith("like") for output in sweep.outputs
    )
    assert count > 0 or (layout == "alias" and not may_alias)


def test_every_operator_of_the_build_has_a_sweep() -> None:
    assert tuple(sweep.operator for sweep in SWEEPS) == infini.ops.operators()


@pytest.mark.smoke
@pytest.mark.parametrize("sweep", SWEEPS, ids=lambda sweep: sweep.operator)
def test_every_device_gives_what_the_cpu_gives(sweep: Sweep, devices: list[str], seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    function = getattr(infini.ops, sweep.operator)
    for dtype_name, (turn, case) in itertools.product(sweep.tolerance, enumerate(cases(sweep))):
        shape, attributes, absent = case
        if absent or not fits(sweep, shape["shapes"], attributes):
            continue
        dtypes = dtypes_of_inputs(sweep.inputs, sweep.main, dtype_name, turn)
        inputs = random_inputs(sweep.inputs, shape["shapes"], dtypes, attributes, generator)
        given = {name: value for name, value in inputs.items() if value is not None}
        expected = _tuple(function(**given, **attributes))
        for device in devices:
            if device == "cpu":
                continue
            there = {name: _moved(value, f"{device}:1") for name, value in given.items()}
            made = _tuple(function(**there, **attributes))
            for one, wanted in zip(made, expected, strict=True):
                assert one.device == f"{device}:1"
                back = torch.from_dlpack(one.to_cpu())
                assert back.shape == wanted.shape
                assert _bits(back) == _bits(wanted), (
                    f"{sweep.operator} {dtype_name} {shape['name']} {attributes} on {device}"
                )
    if find_spec("infini.rt"):
        from infini import rt

        assert rt.get_device() == 0


def _tuple(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def _moved(value: Any, device: str) -> Any:
    if isinstance(value, list):
        return [_moved(one, device) for one in value]
    dtype = str(value.dtype).removeprefix("torch.")
    there = infini.ops.empty(list(value.shape), dtype=dtype, device=device)
    there.copy_from(value)
    return there


def _bits(tensor: Any) -> bytes:
    return bytes(tensor.contiguous().reshape(-1).view(torch.uint8).numpy())


def test_report_fails_for_a_wrong_element() -> None:
    sweep = SWEEPS[0]
    bound = {"ulp": 1}
    right = torch.ones(3, 4)
    wrong = right.clone()
    wrong[1, 2] = 1.001
    with pytest.raises(AssertionError, match=r"at \(1, 2\) expected 1.0, got 1.00"):
        report(sweep, wrong, right.to(torch.float64), "case", bound)
    report(sweep, right, right.to(torch.float64), "case", bound)
