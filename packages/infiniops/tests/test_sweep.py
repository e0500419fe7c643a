import itertools
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from sweep import (  # type: ignore[import-not-found]  # noqa: E402
    Sweep,
    load_sweeps,
    random_tensor,
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
def test_operator_agrees_with_its_oracle(sweep: Sweep, dtype: str, layout: str, seed: int) -> None:
    count = run_layout(sweep, dtype, layout, seed)
    assert count > 0 or (layout == "alias" and not sweep.outputs[0]["may_alias"])


def test_every_operator_of_the_build_has_a_sweep() -> None:
    assert tuple(sweep.operator for sweep in SWEEPS) == infini.ops.operators()


@pytest.mark.smoke
@pytest.mark.parametrize("sweep", SWEEPS, ids=lambda sweep: sweep.operator)
def test_every_device_gives_what_the_cpu_gives(sweep: Sweep, devices: list[str], seed: int) -> None:
    from infini import rt

    generator = torch.Generator().manual_seed(seed)
    for dtype_name, shape in itertools.product(sweep.tolerance, sweep.shapes):
        dtype = getattr(torch, dtype_name)
        inputs = {
            name: random_tensor(sizes, dtype, generator) for name, sizes in shape["shapes"].items()
        }
        expected = getattr(infini.ops, sweep.operator)(**inputs)
        for device in devices:
            if device == "cpu":
                continue
            there = {}
            for name, tensor in inputs.items():
                there[name] = infini.ops.empty(
                    list(tensor.shape), dtype=dtype_name, device=f"{device}:1"
                )
                there[name].copy_from(tensor)
            made = getattr(infini.ops, sweep.operator)(**there)
            assert made.device == f"{device}:1"
            back = torch.from_dlpack(made.to_cpu())
            assert back.shape == expected.shape
            assert _bits(back) == _bits(expected), (
                f"{sweep.operator} {dtype_name} {shape['name']} on {device}"
            )
    assert rt.get_device() == 0


def _bits(tensor: Any) -> bytes:
    return bytes(tensor.contiguous().reshape(-1).view(torch.uint8).numpy())


def test_report_fails_for_a_wrong_element() -> None:
    sweep = SWEEPS[0]
    right = torch.ones(3, 4)
    wrong = right.clone()
    wrong[1, 2] = 1.001
    with pytest.raises(AssertionError, match=r"at \(1, 2\) expected 1.0, got 1.00"):
        report(sweep, wrong, right.to(torch.float64), "case")
    report(sweep, right, right.to(torch.float64), "case")
