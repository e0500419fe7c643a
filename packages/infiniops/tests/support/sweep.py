"""Runs the generated sweep of an operator: inputs in every layout against an oracle."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from inputs import dtypes_of_inputs, random_inputs, spelled  # type: ignore[import-not-found]  # tests/support is put on the path by conftest

import infini.ops

Tensors = dict[str, Any]

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
    main: str
    inputs: tuple[dict[str, Any], ...]
    attributes: tuple[dict[str, Any], ...]
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
            main=document["main"],
            inputs=tuple(document["inputs"]),
            attributes=tuple(document["attributes"]),
            outputs=tuple(document["outputs"]),
            tolerance=document["tolerance"],
            layouts=tuple(document["layouts"]),
            shapes=tuple(document["shapes"]),
        )
        for document in (json.loads(path.read_text()) for path in sorted(folder.glob("*.json")))
    )


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


def expected_of(
    sweep: Sweep, inputs: Tensors, attributes: dict[str, Any]
) -> tuple[torch.Tensor, ...]:
    """What the oracle says of each output, in its own wide dtype."""

    def wide(value: Any) -> Any:
        if isinstance(value, list):
            return [wide(one) for one in value]
        return value.to(WIDE.get(value.dtype, value.dtype)) if value is not None else None

    names: dict[str, Any] = {"torch": torch, **spelled(attributes)}
    names.update({name: wide(value) for name, value in inputs.items()})
    for record in sweep.inputs:  # some functions of torch take positions as int64 alone
        if record["values"].startswith("index"):
            names[record["name"]] = names[record["name"]].long()
    result = eval(sweep.agrees_with, names)
    results = (result,) if isinstance(result, torch.Tensor) else tuple(result)
    assert len(results) == len(sweep.outputs)
    return results


def output_dtype(rule: str, inputs: Tensors, attributes: dict[str, Any]) -> torch.dtype:
    """What the declaration says of an output's element type."""
    words = rule.split()
    if words[0] == "of":
        chosen: torch.dtype = getattr(torch, attributes[words[1]])
        return chosen
    if len(words) == 1:
        named: torch.dtype = getattr(torch, rule)
        return named
    source = inputs[words[-1]]
    dtype: torch.dtype = (source[0] if isinstance(source, list) else source).dtype
    if words[0] == "sum" and not (dtype.is_floating_point or dtype.is_complex):
        return torch.int64
    return dtype


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
    if dtype == torch.float64:  # the oracle computes in it too, and may err as much
        allowed = 2 * allowed
    error = (actual.to(torch.float64) - expected).abs()
    nearest = expected.to(dtype).to(torch.float64)  # an infinity where the dtype ends
    same = (actual.to(torch.float64) == nearest) | (actual.isnan() & expected.isnan())
    return torch.where(same, 0.0, (error / allowed).nan_to_num(nan=torch.inf))


def cases(sweep: Sweep) -> Iterator[tuple[dict[str, Any], dict[str, Any], tuple[str, ...]]]:
    """Each shape of the sweep with each set of attributes, with and without optional inputs."""
    for shape in sweep.shapes:
        optional = [
            item["name"]
            for item in sweep.inputs
            if item["optional"] and item["name"] in shape["shapes"]
        ]
        for attributes in sweep.attributes:
            for present in itertools.product((True, False), repeat=len(optional)):
                absent = tuple(n for n, given in zip(optional, present, strict=True) if not given)
                yield shape, attributes, absent


def sampled_cases(
    sweep: Sweep, dtype_name: str, generator: torch.Generator
) -> Iterator[tuple[str, dict[str, Any], tuple[str, ...], Tensors]]:
    """Each case that fits: the name of its shape, attributes, absent inputs and random inputs."""
    for turn, (shape, attributes, absent) in enumerate(cases(sweep)):
        shapes = {name: one for name, one in shape["shapes"].items() if name not in absent}
        if not fits(sweep, shapes, attributes):
            continue
        dtypes = dtypes_of_inputs(sweep.inputs, sweep.main, dtype_name, turn)
        yield (
            shape["name"],
            attributes,
            absent,
            random_inputs(sweep.inputs, shapes, dtypes, attributes, generator),
        )


def emptied_shapes(sweep: Sweep) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each shape of the sweep with each of its sizes set to 0 in turn, wherever it stands."""
    for shape in sweep.shapes:
        given = shape["shapes"]
        for size in sorted({size for one in _shapes(given) for size in one} - {0}):
            yield size, {name: _without(value, size) for name, value in given.items()}


def _shapes(given: dict[str, Any]) -> Iterator[list[int]]:
    """The shape of each tensor, also of those in lists."""
    for value in given.values():
        yield from value if _is_list(value) else [value]


def _without(value: Any, size: int) -> Any:
    if _is_list(value):
        return [_without(one, size) for one in value]
    return [0 if one == size else one for one in value]


def _is_list(value: Any) -> bool:
    return bool(value) and isinstance(value[0], list)


def run_layout(sweep: Sweep, dtype_name: str, layout: str, seed: int) -> int:
    """Run every case in one layout; returns how many calls were compared."""
    generator = torch.Generator().manual_seed(seed)
    function = getattr(infini.ops, sweep.operator)
    count = 0
    for shape, attributes, absent, inputs in sampled_cases(sweep, dtype_name, generator):
        if layout == "expanded":
            inputs = {name: _each(_expand, tensor) for name, tensor in inputs.items()}
        expected = expected_of(sweep, inputs, attributes)
        laid = {
            name: value
            if layout == "expanded"
            else _each(lambda tensor: lay_out(tensor, layout), value)
            for name, value in inputs.items()
        }
        outs = _outputs(sweep, laid, inputs, expected, attributes, layout)
        if outs is None:
            continue
        names = [item["name"] for item in sweep.outputs]
        given = {name: value for name, value in laid.items() if value is not None}
        returned = function(**given, **attributes, **dict(zip(names, outs, strict=True)))
        made = returned if isinstance(returned, tuple) else (returned,)
        assert all(one is out for one, out in zip(made, outs, strict=True))
        for name, out, wanted in zip(names, outs, expected, strict=True):
            case = f"{dtype_name} {layout} {shape} {attributes} without {absent}: {name}"
            report(sweep, out, wanted, case, sweep.tolerance[dtype_name])
        count += 1
    return count


def fits(sweep: Sweep, shapes: dict[str, Any], attributes: dict[str, Any]) -> bool:
    """Whether every dimension that an attribute names is there."""
    main = shapes[sweep.main]
    rank = len(main[0]) if _is_list(main) else len(main)
    for name, value in attributes.items():
        if not name.startswith("dim") or value is None:
            continue
        dims = value if isinstance(value, list) else [value]
        if any(not -max(rank, 1) <= dim < max(rank, 1) for dim in dims):
            return False
        if len({dim % max(rank, 1) for dim in dims}) < len(dims):
            return False
    return True


def _each(function: Any, value: Any) -> Any:
    """`function` of a tensor, of each tensor of a list, or None of None."""
    if isinstance(value, list):
        return [function(one) for one in value]
    return None if value is None else function(value)


def _outputs(
    sweep: Sweep,
    laid: dict[str, Any],
    inputs: Tensors,
    expected: tuple[torch.Tensor, ...],
    attributes: dict[str, Any],
    layout: str,
) -> list[torch.Tensor] | None:
    """Poisoned outputs; for `alias` the inputs themselves where one output may be one."""
    outs: list[torch.Tensor] = []
    aliased: list[str] = []
    for item, wanted in zip(sweep.outputs, expected, strict=True):
        dtype = output_dtype(item["dtype"], inputs, attributes)
        out = poison(torch.empty(wanted.shape, dtype=dtype))
        if layout == "out_strided":
            out = lay_out(out, "out_strided")
        for name in item["may_alias"] if layout == "alias" else ():
            tensor = inputs[name]
            fits = tensor is not None and tensor.shape == wanted.shape and tensor.dtype == dtype
            if fits and name not in aliased:
                aliased.append(name)
                out = laid[name]
                break
        outs.append(out)
    return None if layout == "alias" and not aliased else outs


def _expand(tensor: torch.Tensor) -> torch.Tensor:
    """The same shape, with every row a view of the first."""
    if tensor.ndim == 0 or 0 in tensor.shape:
        return tensor
    return tensor[:1].expand(tensor.shape)


def report(
    sweep: Sweep,
    actual: torch.Tensor,
    expected: torch.Tensor,
    case: str,
    bound: dict[str, float],
) -> None:
    """Fail with the worst element, if one is too far."""
    assert actual.shape == expected.shape, f"{sweep.operator} {case}: {actual.shape}"
    if actual.numel() == 0:
        return
    share = distance(actual, expected, bound)
    worst = int(share.argmax())
    if share.reshape(-1)[worst] > 1:
        index = tuple(int(i) for i in torch.unravel_index(torch.tensor(worst), actual.shape))
        raise AssertionError(
            f"{sweep.operator} {case}: at {index} expected {expected[index].item()}, got "
            f"{actual[index].item()} ({share.reshape(-1)[worst]:.3g} times the bound {bound})"
        )
