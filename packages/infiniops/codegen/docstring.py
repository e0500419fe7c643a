"""Writes what a person reads about an operator: its docstring, and phrases that pages share."""

from __future__ import annotations

from .declaration import DTYPE_CLASSES, Attribute, Operator, Tensor, Tolerance
from .text import wrap


def dtype_text(tensor: Tensor) -> str:
    """The element types of a tensor in words, by classes where a whole class is meant."""
    if tensor.like is not None:
        return f"dtype of `{tensor.like}`"
    if tensor.dtype_of is not None:
        return f"the dtype `{tensor.dtype_of}`"
    if tensor.sum_of is not None:
        return f"dtype of `{tensor.sum_of}`, int64 for bool and integers"
    return dtypes_text(tensor.dtypes)


def dtypes_text(dtypes: tuple[str, ...]) -> str:
    """Element types in words, by classes where a whole class is meant."""
    words: list[str] = []
    for name, members in DTYPE_CLASSES.items():
        own = [dtype for dtype in members if dtype in dtypes]
        if own and len(own) == len(members) and len(members) > 1:
            words.append(name)
        else:
            words.extend(own)
    return ", ".join(words)


def rank_text(tensor: Tensor) -> str:
    """The rank of a tensor without a shape rule in words."""
    if tensor.is_list:
        return "any, of one rank"
    if tensor.greatest_rank is None:
        return "any" if tensor.least_rank == 0 else f"any, of rank {tensor.least_rank} or more"
    if tensor.least_rank == tensor.greatest_rank:
        return f"any, of rank {tensor.least_rank}"
    return f"any, of rank {tensor.least_rank} to {tensor.greatest_rank}"


def tolerance_text(tolerance: Tolerance) -> str:
    """A tolerance in words."""
    if tolerance.ulp is None:
        return f"relative {tolerance.relative:g}, absolute {tolerance.absolute:g}"
    return "exact" if tolerance.ulp == 0 else f"{tolerance.ulp} ulp"


def attribute_text(attribute: Attribute) -> str:
    """What values an attribute takes."""
    kind = {
        "scalar": "number",
        "double": "float",
        "int": "integer",
        "bool": "bool",
        "dim": f"dimension of `{attribute.of}`",
        "dims": f"dimension of `{attribute.of}`, or several; None means all",
        "enum": f"word: {' or '.join(attribute.values)}",
        "dtype": f"dtype: {dtypes_text(attribute.dtypes)}",
    }
    text = kind[attribute.type]
    if attribute.minimum is not None:
        text += f" of at least {attribute.minimum}"
    return f"{text} or None" if attribute.optional else text


def docstring(operator: Operator) -> str:
    """The docstring of the Python function."""
    parts = [wrap(operator.summary, "", 88)]
    if operator.details:
        parts.append(wrap(operator.details, "", 88))
    rows: list[str] = []
    for tensor in operator.inputs:
        shape = tensor.shape.text if tensor.shape else rank_text(tensor)
        optional = " or None" if tensor.optional else "; written" if tensor.written else ""
        if tensor.is_list:
            optional = " each"
        rows.append(f"{tensor.name}: {tensor.doc} Shape {shape}; {dtype_text(tensor)}{optional}.")
    rows += [f"{item.name}: {item.doc} A {attribute_text(item)}." for item in operator.attributes]
    for tensor in operator.outputs:
        assert tensor.shape is not None
        alias = (
            f"; may be {' or '.join(tensor.may_alias)} itself"
            if tensor.may_alias
            else "; overlaps no input"
        )
        rows.append(
            f"{tensor.name}: Where to write it; made by the library of the first input when None. "
            f"Shape {tensor.shape.text}; {dtype_text(tensor)}{alias}."
        )
    rows += [
        "stream: InfiniRT stream to queue the work on; None is the library's current one.",
        "implementation: Slot or name; None is the default.",
        "config: Triton configuration; only for implementations that take one.",
    ]
    parts.append("Args:\n" + "\n".join(_hanging(row) for row in rows))
    shapes = ", ".join(tensor.shape.text for tensor in operator.outputs if tensor.shape)
    if len(operator.outputs) > 1:
        names = ", ".join(tensor.name for tensor in operator.outputs)
        returned = f"The outputs {names}, of shapes {shapes}."
    else:
        returned = f"The output, of shape {shapes}." if operator.outputs else "None."
    parts.append(f"Returns:\n{_hanging(returned)}")
    parts.append(
        "Raises:\n"
        + "\n".join(
            _hanging(row)
            for row in (
                "TypeError: An argument is no tensor, or has another dtype.",
                "ValueError: Devices, shapes or an attribute do not fit, or memory overlaps.",
                "NotImplementedError: No implementation serves the call.",
            )
        )
    )
    parts.append(
        wrap(
            f"Accumulates in {operator.accumulate}; rounds {operator.rounds}. Agrees with "
            f"`{operator.agrees_with}`.",
            "",
            88,
        )
    )
    return "\n\n".join(parts)


def _hanging(text: str) -> str:
    first, *rest = wrap(text, "", 80).splitlines()
    return "\n".join([f"    {first}", *(f"        {line}" for line in rest)])
