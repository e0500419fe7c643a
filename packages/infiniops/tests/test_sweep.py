import itertools
from importlib.util import find_spec
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from devices import (  # type: ignore[import-not-found]  # noqa: E402  # on the path by conftest, after the skip
    bits,
    fetched,
    moved,
)
from inputs import (  # type: ignore[import-not-found]  # noqa: E402  # on the path by conftest, after the skip
    dtypes_of_inputs,
    random_inputs,
)
from sweep import (  # type: ignore[import-not-found]  # noqa: E402  # on the path by conftest, after the skip
    Sweep,
    cases,
    emptied_shapes,
    expected_of,
    fits,
    load_sweeps,
    report,
    run_layout,
    sampled_cases,
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


WITH_SHAPES = [sweep for sweep in SWEEPS if sweep.shapes]


@pytest.mark.parametrize("sweep", WITH_SHAPES, ids=lambda sweep: sweep.operator)
def test_each_size_may_be_zero(sweep: Sweep, seed: int) -> None:
    """What torch gives of no elements, or an error where torch raises one; then a call as usual."""
    generator = torch.Generator().manual_seed(seed)
    function = getattr(infini.ops, sweep.operator)
    ran = 0
    for dtype in sweep.tolerance:
        usual = next(iter(sampled_cases(sweep, dtype, generator)))
        for (size, shapes), attributes in itertools.product(
            emptied_shapes(sweep), sweep.attributes
        ):
            if not fits(sweep, shapes, attributes):
                continue
            dtypes = dtypes_of_inputs(sweep.inputs, sweep.main, dtype, size)
            inputs = random_inputs(sweep.inputs, shapes, dtypes, attributes, generator)
            case = f"{dtype} {shapes} {attributes}"
            try:
                expected = expected_of(sweep, inputs, attributes)
            except (RuntimeError, IndexError):
                with pytest.raises(ValueError, match=f"^{sweep.operator}.*: .*`"):
                    function(**inputs, **attributes)
                continue
            made = _tuple(function(**inputs, **attributes))
            for one, wanted in zip(made, expected, strict=True):
                report(sweep, one, wanted, case, sweep.tolerance[dtype])
            ran += 1
        name, attributes, absent, inputs = usual
        given = {name: value for name, value in inputs.items() if name not in absent}
        made = _tuple(function(**given, **attributes))
        for one, wanted in zip(made, expected_of(sweep, inputs, attributes), strict=True):
            report(sweep, one, wanted, f"{dtype} {name} after empty", sweep.tolerance[dtype])
    assert ran > 0


@pytest.mark.parametrize("sweep", WITH_SHAPES, ids=lambda sweep: sweep.operator)
def test_equal_calls_give_equalbits(sweep: Sweep, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    function = getattr(infini.ops, sweep.operator)
    for dtype in sweep.tolerance:
        for shape, attributes, absent, inputs in sampled_cases(sweep, dtype, generator):
            given = {name: value for name, value in inputs.items() if name not in absent}
            first, second = (_tuple(function(**given, **attributes)) for _ in range(2))
            assert [bits(one) for one in first] == [bits(one) for one in second], (
                f"{sweep.operator} {dtype} {shape} {attributes} without {absent}"
            )


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
            there = {name: moved(value, f"{device}:1") for name, value in given.items()}
            made = _tuple(function(**there, **attributes))
            for one, wanted in zip(made, expected, strict=True):
                assert one.device == f"{device}:1"
                back = fetched(one)
                assert back.shape == wanted.shape
                assert bits(back) == bits(wanted), (
                    f"{sweep.operator} {dtype_name} {shape['name']} {attributes} on {device}"
                )
    if find_spec("infini.rt"):
        from infini import rt

        assert rt.get_device() == 0


def _tuple(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def test_report_fails_for_a_wrong_element() -> None:
    sweep = SWEEPS[0]
    bound = {"ulp": 1}
    right = torch.ones(3, 4)
    wrong = right.clone()
    wrong[1, 2] = 1.001
    with pytest.raises(AssertionError, match=r"at \(1, 2\) expected 1.0, got 1.00"):
        report(sweep, wrong, right.to(torch.float64), "case", bound)
    report(sweep, right, right.to(torch.float64), "case", bound)
