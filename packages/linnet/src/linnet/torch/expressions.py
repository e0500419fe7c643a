"""How generated source spells a step: one PyTorch expression for each kind."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch

from linnet.graph import Graph, Step, Value
from linnet.graph.kinds import BINARY, SHIFTS, UNARY
from linnet.torch.dtypes import FLOATS, WIDE_UNSIGNED, torch_dtype

#: Value number -> how the source names it there; for a constant, its number or its name.
Names = Callable[[int], str]

_INFIX = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "and": "&",
    "or": "|",
    "xor": "^",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
}
_CALLS = {
    "rem": "torch.fmod",
    "min": "torch.minimum",
    "max": "torch.maximum",
    "shl": "torch.bitwise_left_shift",
    "shr": "torch.bitwise_right_shift",
    "not": "torch.logical_not",
    "exp": "torch.exp",
    "log": "torch.log",
    "sqrt": "torch.sqrt",
    "rsqrt": "torch.rsqrt",
    "sin": "torch.sin",
    "cos": "torch.cos",
    "tanh": "torch.tanh",
    "abs": "torch.abs",
}
#: Kinds whose spelling takes a Python number for an operand, if another operand is a tensor.
TAKES_NUMBERS = frozenset((*_INFIX, "div", "rem", "compare"))
#: Divisors of integers that PyTorch does not divide by, or not safely; None stands for a tensor.
_SPECIAL_DIVISORS = (None, 0, -1)


def literal(value: bool | int | float, dtype: str) -> str:
    """A Python expression for a constant, rounded to `dtype` as the graph's value is."""
    if dtype not in FLOATS:
        return repr(value)
    rounded = float(torch.tensor(value, dtype=torch_dtype(dtype)))
    if dtype == "f32" and math.isfinite(rounded):
        # PyTorch rounds a number to f32 itself, so the shortest one that gives it will do.
        return next(
            repr(float(text))
            for digits in range(1, 18)
            if float(torch.tensor(float(text := f"{rounded:.{digits}g}"))) == rounded
        )
    return repr(rounded) if math.isfinite(rounded) else f'float("{rounded}")'


def tensor_literal(value: bool | int | float, dtype: str) -> str:
    """A Python expression for the constant as a tensor on `device`."""
    return f"torch.tensor({literal(value, dtype)}, dtype={dtype_name(dtype)}, device=device)"


def dtype_name(dtype: str) -> str:
    """`torch.float32` for `f32`."""
    return str(torch_dtype(dtype))


def expression(graph: Graph, step: Step, names: Names) -> str:
    """The expression that computes a step of one result and without bodies."""
    kind = step.kind
    operands = [names(number) for number in step.operands]
    dtypes = [graph.values[number].dtype for number in step.operands]
    if dtypes and dtypes[-1] in WIDE_UNSIGNED:
        special = _wide_unsigned(step, operands)
        if special is not None:
            return special
    if kind == "compare":
        return _infix(step.attributes["comparison"], operands)
    if kind in _INFIX:
        return _infix(kind, operands)
    if kind == "div" and dtypes[0] in FLOATS:
        return f"{operands[0]} / {operands[1]}"
    if kind in ("div", "rem") and dtypes[0] not in FLOATS:
        return _integer_division(graph, step, operands)
    if kind in _CALLS:
        return f"{_CALLS[kind]}({', '.join(operands)})"
    if kind == "neg":
        return f"-{operands[0]}"
    if kind == "select":
        return f"torch.where({', '.join(operands)})"
    return _movement(graph, step, operands)


def takes_number(graph: Graph, step: Step, number: int) -> bool:
    """Whether a step's spelling works with a Python number in place of this operand."""
    dtype = graph.values[number].dtype
    if step.kind not in TAKES_NUMBERS or dtype in WIDE_UNSIGNED:
        return False
    if all(graph.literal(n) is not None for n in step.operands):
        return False
    divides = step.kind == "rem" or (step.kind == "div" and dtype not in FLOATS)
    if not divides:
        return True
    if dtype not in FLOATS and graph.literal(step.operands[1]) in _SPECIAL_DIVISORS:
        return False
    return number == step.operands[1] != step.operands[0]


def _integer_division(graph: Graph, step: Step, operands: Sequence[str]) -> str:
    divisor = graph.literal(step.operands[1])
    if divisor in _SPECIAL_DIVISORS:
        function = {"div": "divide", "rem": "remainder"}[step.kind]
        return f"operations.{function}({operands[0]}, {operands[1]})"
    if step.kind == "rem":
        return f"torch.fmod({operands[0]}, {operands[1]})"
    return f'torch.div({operands[0]}, {operands[1]}, rounding_mode="trunc")'


def _infix(kind: str, operands: Sequence[str]) -> str:
    return f"{operands[0]} {_INFIX[kind]} {operands[1]}"


def _movement(graph: Graph, step: Step, operands: Sequence[str]) -> str:
    kind, attributes = step.kind, step.attributes
    value = graph.values[step.results[0]]
    shape = _tuple(value.shape)
    if kind == "cast":
        return f"{operands[0]}.to({dtype_name(value.dtype)})"
    if kind == "reshape":
        return f"{operands[0]}.reshape({shape})"
    if kind == "permute":
        return f"{operands[0]}.permute({_tuple(attributes['axes'])})"
    if kind in ("broadcast", "fill"):
        return f"{operands[0]}.expand({shape})"
    if kind == "slice":
        sizes = graph.values[step.operands[0]].shape
        return f"{operands[0]}[{_slices(attributes, sizes)}]"
    if kind == "concat":
        return f"torch.cat([{', '.join(operands)}], dim={attributes['axis']})"
    if kind == "iota":
        plain = "i64" if value.dtype in WIDE_UNSIGNED else value.dtype
        made = f"torch.arange({value.shape[0]}, dtype={dtype_name(plain)}, device=device)"
        return made if plain == value.dtype else f"{made}.to({dtype_name(value.dtype)})"
    if kind == "cumsum":
        return f"{operands[0]}.cumsum(dim={attributes['axis']}, dtype={dtype_name(value.dtype)})"
    if kind == "element":
        axes = _tuple(attributes["axes"])
        return f"operations.element({operands[0]}, {axes}, {', '.join(operands[1:])})"
    if kind == "reduce":
        return _reduce(graph, step, operands[0])
    return _contract(graph, step, operands)


def _slices(attributes: object, sizes: Sequence[int]) -> str:
    assert hasattr(attributes, "__getitem__")
    parts = []
    bounds = (attributes[name] for name in ("starts", "stops", "steps"))
    for (start, stop, stride), size in zip(zip(*bounds, strict=True), sizes, strict=True):
        text = f"{start or ''}:{'' if stop >= size else stop}"
        parts.append(text if stride == 1 else f"{text}:{stride}")
    while len(parts) > 1 and parts[-1] == ":":
        parts.pop()
    return ", ".join(parts)


def _reduce(graph: Graph, step: Step, source: str) -> str:
    reduction, axes = step.attributes["reduction"], step.attributes["axes"]
    operand = graph.values[step.operands[0]]
    value = graph.values[step.results[0]]
    empty = any(operand.shape[axis] == 0 for axis in axes)
    if not axes:
        return source
    if reduction in ("max", "min") and empty:
        return f'interpret.reduce({source}, "{reduction}", {_tuple(axes)})'
    if value.dtype in WIDE_UNSIGNED:
        return f'operations.unsigned_reduce("{reduction}", {source}, {_tuple(axes)})'
    if reduction == "sum":
        return f"{source}.sum(dim={_tuple(axes)}, dtype={dtype_name(value.dtype)})"
    if reduction == "prod":
        return f"operations.product({source}, {_tuple(axes)})"
    if reduction in ("any", "all"):
        return f"{source}.{reduction}(dim={_tuple(axes)})"
    return f"{source}.a{reduction}(dim={_tuple(axes)})"


def linear(x: Value, operands: Sequence[str]) -> str:
    """The product of `x` and a weight [Out, In], plus a bias where there is one: `operands`."""
    known = x.dtype == "bf16" or (x.dtype == "f32" and len(operands) == 2)
    one_row = known and math.prod(x.shape[:-1]) == 1
    function = "operations.row_linear" if one_row else "functional.linear"
    return f"{function}({', '.join(operands)})"


def _contract(graph: Graph, step: Step, operands: Sequence[str]) -> str:
    value = graph.values[step.results[0]]
    first, second = step.attributes["inputs"]
    output = tuple(step.attributes["output"])
    if value.dtype not in WIDE_UNSIGNED and len(first) >= 1 and len(second) == 2:
        rows, inner = tuple(first[:-1]), first[-1]
        if second[1] == inner and output == (*rows, second[0]) and inner not in output:
            return linear(graph.values[step.operands[0]], operands)
    letters = {label: chr(ord("a") + n) for n, label in enumerate(sorted({*first, *second}))}
    if len(letters) > 26:
        raise NotImplementedError(
            f"a contraction over {len(letters)} axes has no PyTorch spelling; use at most 26"
        )
    parts = ["".join(letters[label] for label in labels) for labels in (first, second, output)]
    equation = f'"{parts[0]},{parts[1]}->{parts[2]}"'
    if value.dtype not in WIDE_UNSIGNED:
        return f"torch.einsum({equation}, {operands[0]}, {operands[1]})"
    wide = [f"operations.signed_bits({operand})" for operand in operands]
    return f"torch.einsum({equation}, {', '.join(wide)}).to({dtype_name(value.dtype)})"


def _wide_unsigned(step: Step, operands: Sequence[str]) -> str | None:
    kind = step.kind
    if kind == "compare":
        return f'operations.unsigned("{step.attributes["comparison"]}", {", ".join(operands)})'
    if kind in (*BINARY, *SHIFTS, *UNARY):
        return f'operations.unsigned("{kind}", {", ".join(operands)})'
    if kind == "cumsum":
        return f"operations.unsigned_cumsum({operands[0]}, {step.attributes['axis']})"
    return None


def _tuple(items: Sequence[int]) -> str:
    return f"({', '.join(map(str, items))}{',' if len(items) == 1 else ''})"
