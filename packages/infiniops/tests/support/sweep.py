"""Runs the generated sweep of an operator: inputs in every layout against an oracle."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

import infini.ops

Tensors = dict[str, "torch.Tensor | None"]

WIDE = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.float64: torch.float64,
    torch.complex64: torch.complex128,
    torch.complex128: torch.complex128,
    # torch lacks arithmetic on these; wrapping back gives the same low bits.
    torch.uint16: torch.int64,
    torch.uint32: torch.int64,
    torch.uint64: torch.int64,
}
"""The dtype in which the oracle computes; others compute in themselves."""


@dataclass(frozen=True)
class Sweep:
    """A generated sweep, as `share/infiniops/sweep/<operator>.json` holds it."""

    operator: str
    agrees_with: str
    inputs: tuple[dict[str, Any], ...]
    attributes: dict[str, Any]
    outputs: tuple[dict[str, Any], ...]
    tolerance: dict[str, dict[str, float]]
    layouts: tuple[str, ...]
    shapes: tuple[dict[str, Any], ...]


def load_sweeps() -> tuple[Sweep, ...]:
    """The sweeps of the installed build."""
    folder = infini.ops.prefix() / "share" / "infiniops" / "sweep"
    return tuple(
        Sweep(
            operator=document["operator"],
            agrees_with=document["agrees_with"],
            inputs=tuple(document["inputs"]),
            attributes=document["attributes"],
            outputs=tuple(document["outputs"]),
            tolerance=document["tolerance"],
            layouts=tuple(document["layouts"]),
            shapes=tuple(document["shapes"]),
        )
        for document in (json.loads(path.read_text()) for path in sorted(folder.glob("*.json")))
    )


def random_tensor(shape: list[int], dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
    """Values of every magnitude for floats, every bit pattern for integers."""
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=generator).to(torch.bool)
    if not dtype.is_floating_point and not dtype.is_complex:
        size = torch.empty((), dtype=dtype).element_size()
        raw = torch.randint(0, 256, [*shape, size], generator=generator, dtype=torch.uint8)
        return raw.view(dtype).reshape(shape)
    if dtype.is_complex:
        part = torch.randn([*shape, 2], generator=generator, dtype=torch.float64)
        return torch.view_as_complex(part).to(dtype)
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)


def lay_out(tensor: torch.Tensor, layout: str) -> Any:
    """`tensor`'s values in another layout; a numpy array where torch has no such layout."""
    shape = list(tensor.shape)
    if layout in ("strided", "out_strided") and shape:
        wide = tensor.new_empty([*shape[:-1], 2 * shape[-1]])
        view = wide[..., ::2]
        return view.copy_(tensor)
    if layout == "transposed":
        order = list(range(len(shape)))[::-1]
        return tensor.permute(order).contiguous().permute(order)
    if layout == "offset":
        flat = tensor.new_empty(tensor.numel() + 1)[1:]
        return flat.view(shape).copy_(tensor)
    if layout == "reversed" and tensor.dtype != torch.bfloat16 and shape:
        reverse = tuple(slice(None, None, -1) for _ in shape)
        return tensor.numpy()[reverse].copy()[reverse]
    return tensor.clone(memory_format=torch.contiguous_format)


def poison(tensor: torch.Tensor) -> torch.Tensor:
    """Fill an output so that elements that are not written show."""
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
        return tensor.fill_(float("nan"))
    return tensor.fill_(tensor.dtype == torch.bool or 0x5A)


def expected_of(sweep: Sweep, inputs: Tensors, dtype: torch.dtype) -> torch.Tensor:
    """What the oracle says, in its own wide dtype."""
    names: dict[str, Any] = {"torch": torch, **sweep.attributes}
    for name, tensor in inputs.items():
        names[name] = None if tensor is None else tensor.to(WIDE.get(dtype, dtype))
    result = eval(sweep.agrees_with, names)
    assert isinstance(result, torch.Tensor)
    return result


def distance(actual: torch.Tensor, expected: torch.Tensor, bound: dict[str, float]) -> torch.Tensor:
    """How far each element is, as a share of what is allowed (more than 1 is too far)."""
    if not (actual.dtype.is_floating_point or actual.dtype.is_complex):
        if actual.dtype in WIDE:
            expected = expected.to(actual.dtype)
        wrong = actual.to(torch.int64) != expected.to(torch.int64)
        return wrong.to(torch.float64) * 2
    if actual.dtype.is_complex:
        pairs = [(torch.view_as_real(t)) for t in (actual, expected)]
        wide = expected.abs().unsqueeze(-1).expand(pairs[1].shape)
        real_dtype = torch.float32 if actual.dtype == torch.complex64 else torch.float64
        return _real_distance(pairs[0], pairs[1], wide, real_dtype, bound).amax(-1)
    return _real_distance(actual, expected, expected.abs(), actual.dtype, bound)


def _real_distance(
    actual: torch.Tensor,
    expected: torch.Tensor,
    magnitude: torch.Tensor,
    dtype: torch.dtype,
    bound: dict[str, float],
) -> torch.Tensor:
    if "ulp" in bound:
        info = torch.finfo(dtype)
        exponent = torch.floor(torch.log2(magnitude.clamp_min(info.tiny).to(torch.float64)))
        allowed = bound["ulp"] * torch.exp2(exponent) * info.eps
    else:
        allowed = bound["absolute"] + bound["relative"] * magnitude
    error = (actual.to(torch.float64) - expected).abs()
    same = (actual.to(torch.float64) == expected) | (actual.isnan() & expected.isnan())
    return torch.where(same, 0.0, (error / allowed).nan_to_num(nan=torch.inf))


def cases(sweep: Sweep, layout: str) -> Iterator[tuple[dict[str, Any], tuple[bool, ...]]]:
    """Each shape of the sweep, with and without each optional input."""
    optional = [item["name"] for item in sweep.inputs if item["optional"]]
    for shape in sweep.shapes:
        for present in itertools.product((True, False), repeat=len(optional)):
            yield shape, present


def run_layout(sweep: Sweep, dtype_name: str, layout: str, seed: int) -> int:
    """Run every shape of one layout; returns how many calls were compared."""
    dtype: torch.dtype = getattr(torch, dtype_name)
    generator = torch.Generator().manual_seed(seed)
    function = getattr(infini.ops, sweep.operator)
    count = 0
    for shape, present in cases(sweep, layout):
        given = dict(zip((i["name"] for i in sweep.inputs if i["optional"]), present, strict=True))
        inputs: Tensors = {
            item["name"]: random_tensor(shape["shapes"][item["name"]], dtype, generator)
            if given.get(item["name"], True)
            else None
            for item in sweep.inputs
        }
        if layout == "expanded":
            inputs = {name: _expand(tensor) for name, tensor in inputs.items()}
        expected = expected_of(sweep, inputs, dtype)
        laid = {
            name: None if t is None else t if layout == "expanded" else lay_out(t, layout)
            for name, t in inputs.items()
        }
        out = _output(sweep, laid, inputs, expected, dtype, layout)
        if out is None:
            continue
        returned = function(**laid, **sweep.attributes, out=out)
        assert returned is out
        report(sweep, out, expected, f"{dtype_name} {layout} {shape['name']} {given}")
        count += 1
    return count


def _output(
    sweep: Sweep,
    laid: dict[str, Any],
    inputs: Tensors,
    expected: torch.Tensor,
    dtype: torch.dtype,
    layout: str,
) -> torch.Tensor | None:
    if layout != "alias":
        out = poison(torch.empty(expected.shape, dtype=dtype))
        return lay_out(out, "out_strided") if layout == "out_strided" else out
    for name in sweep.outputs[0]["may_alias"]:
        tensor = inputs[name]
        if tensor is not None and tensor.shape == expected.shape:
            same: torch.Tensor = laid[name]
            return same
    return None


def _expand(tensor: torch.Tensor | None) -> torch.Tensor | None:
    """The same shape, with every row a view of the first."""
    if tensor is None or tensor.ndim == 0 or 0 in tensor.shape:
        return tensor
    return tensor[:1].expand(tensor.shape)


def report(sweep: Sweep, actual: torch.Tensor, expected: torch.Tensor, case: str) -> None:
    """Fail with the worst element, if one is too far."""
    assert actual.shape == expected.shape, f"{sweep.operator} {case}: {actual.shape}"
    if actual.numel() == 0:
        return
    bound = sweep.tolerance[str(actual.dtype).removeprefix("torch.")]
    share = distance(actual, expected, bound)
    worst = int(share.argmax())
    if share.reshape(-1)[worst] > 1:
        index = tuple(int(i) for i in torch.unravel_index(torch.tensor(worst), actual.shape))
        raise AssertionError(
            f"{sweep.operator} {case}: at {index} expected {expected[index].item()}, got "
            f"{actual[index].item()} ({share.reshape(-1)[worst]:.3g} times the bound {bound})"
        )
