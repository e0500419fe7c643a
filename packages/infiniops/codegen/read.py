"""Reads declarations: YAML text -> `Operator`."""

from __future__ import annotations

import ast
import keyword
import re
from pathlib import Path
from typing import get_args

from .declaration import (
    DTYPE_CLASSES,
    DTYPES,
    SCHEMA,
    Aten,
    Attribute,
    AttributeType,
    Cases,
    Operator,
    Tensor,
    Tolerance,
)
from .document import Mapping, Value, read_document
from .linnet import read_linnet
from .shapes import Shape, parse_shape

GROUPS = (
    "elementwise",
    "gated",
    "normalization",
    "matrix",
    "reduction",
    "movement",
    "attention",
    "sampling",
)

_BELOW = re.compile(r"(\w+)\.shape\[-?\d+\](?: - (\w+)\.shape\[-?\d+\] \+ 1)?")

_RESERVED = frozenset({"context", "config", "stream", "implementation", "self", "device"})


def read_declarations(folder: Path) -> tuple[Operator, ...]:
    """Read every `*.yaml` of `folder`, in the order of the operators' names."""
    return tuple(read_declaration(path) for path in sorted(folder.glob("*.yaml")))


def read_declaration(path: Path) -> Operator:
    """Read one file. Raises DeclarationError with file and line."""
    document = read_document(path)
    schema = document.required("schema")
    if schema.integer() != SCHEMA:
        raise schema.error(f"this generator reads schema {SCHEMA}, got {schema.integer()}")
    name = document.required("operator")
    if _name(name) != path.stem:
        raise name.error(f"`{name.text()}` must be in {name.text()}.yaml, not {path.name}")
    inputs = _inputs(document.required("inputs"))
    attributes = _attributes(document.optional("attributes"), inputs)
    outputs = _outputs(document, inputs, attributes)
    main = document.optional("main")
    if main and main.text() not in [tensor.name for tensor in inputs if not tensor.like]:
        raise main.error(f"`{main.text()}` is no input that names its own dtypes")
    main_name = main.text() if main else inputs[0].name
    group = document.required("group")
    if group.text() not in GROUPS:
        raise group.error(f"expected one of {', '.join(GROUPS)}, got `{group.text()}`")
    smoke = document.optional("smoke")
    default_sweep = document.optional("default_sweep")
    details = document.optional("details")
    numerics = document.required("numerics").mapping()
    operator = Operator(
        path=path,
        name=name.text(),
        group=group.text(),
        smoke=smoke.boolean() if smoke else False,
        default_sweep=default_sweep.boolean() if default_sweep else True,
        summary=_sentence(document.required("summary")),
        details=_sentence(details) if details else "",
        agrees_with=_agrees_with(document.required("agrees_with")),
        inputs=inputs,
        attributes=attributes,
        outputs=outputs,
        accumulate=numerics.required("accumulate").text(),
        rounds=numerics.required("rounds").text(),
        tolerance=_tolerances(
            document.required("tolerance"),
            next(tensor.dtypes for tensor in inputs if tensor.name == main_name),
        ),
        aten=_aten(document.optional("aten"), (*inputs, *attributes, *outputs)),
        linnet=read_linnet(document.optional("linnet"), inputs, attributes),
        main=main_name,
        positional=_positional(document.optional("positional"), inputs, attributes),
        sweep=_cases(document.optional("sweep"), inputs, attributes),
        benchmark=_cases(document.optional("benchmark"), inputs, attributes),
    )
    _check_attributes_of_shapes(document.required("inputs"), operator)
    numerics.finish()
    document.finish()
    return operator


def _name(value: Value) -> str:
    text = value.text()
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", text) or keyword.iskeyword(text):
        raise value.error(f"`{text}` is not a name in lower case with single underscores")
    return text


def _argument(value: Value, name: str, taken: tuple[str, ...]) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) or keyword.iskeyword(name):
        raise value.error(f"`{name}` is not a name in lower case with single underscores")
    if name in _RESERVED:
        raise value.error(f"`{name}` is reserved for every operator")
    if name in taken:
        raise value.error(f"`{name}` names two arguments")
    return name


def _sentence(value: Value) -> str:
    text = value.text()
    if not text.endswith("."):
        raise value.error("expected a sentence that ends with a full stop")
    return text


def _inputs(value: Value) -> tuple[Tensor, ...]:
    inputs: list[Tensor] = []
    for name, item in value.mapping().items():
        taken = tuple(tensor.name for tensor in inputs)
        fields = item.mapping()
        like, dtypes = _dtype(fields.required("dtype"), taken)
        shape = _shape(fields.optional("shape"), taken)
        least, greatest = _rank(fields.optional("rank"))
        if shape and fields.optional("rank"):
            raise item.error("give `rank` or `shape`, not both")
        optional = fields.optional("optional")
        below = fields.optional("below")
        written = fields.optional("written")
        if optional and written:
            raise item.error("a tensor that is written must be there: not `optional`")
        is_list = fields.optional("list")
        if is_list and is_list.boolean() and (shape or optional or like or written):
            raise item.error("a list has neither `shape` nor `optional` nor `like` nor `written`")
        inputs.append(
            Tensor(
                name=_argument(item, name, taken),
                doc=_sentence(fields.required("doc")),
                like=like,
                dtypes=dtypes,
                least_rank=least,
                greatest_rank=greatest,
                shape=shape,
                optional=optional.boolean() if optional else False,
                is_list=is_list.boolean() if is_list else False,
                below=below.text() if below else None,
                written=written.boolean() if written else False,
            )
        )
        fields.finish()
        if shape:
            _check_indices(item, shape, inputs)
    _check_bounds(value, inputs)
    if not inputs or inputs[0].like or inputs[0].optional:
        raise value.error("the first input must be there, required, and name its own dtypes")
    return tuple(inputs)


def _check_bounds(value: Value, inputs: list[Tensor]) -> None:
    """A bound names inputs, of which some may come after the one that has it."""
    names = {tensor.name for tensor in inputs}
    for tensor in inputs:
        if tensor.below is None:
            continue
        match = _BELOW.fullmatch(tensor.below)
        if match is None or not {name for name in match.groups() if name} <= names:
            raise value.error(
                f"{tensor.name}.below: expected `NAME.shape[I]` or `NAME.shape[I] - "
                f"OTHER.shape[J] + 1` of inputs, got {tensor.below!r}"
            )


def _outputs(
    document: Mapping, inputs: tuple[Tensor, ...], attributes: tuple[Attribute, ...]
) -> tuple[Tensor, ...]:
    """At least one; none is allowed where an input is written instead."""
    if any(tensor.written for tensor in inputs) and document.optional("outputs") is None:
        return ()
    value = document.required("outputs")
    names = tuple(tensor.name for tensor in inputs)
    outputs: list[Tensor] = []
    for name, item in value.mapping().items():
        fields = item.mapping()
        rule = fields.required("dtype")
        dtype_of = sum_of = like = None
        dtypes: tuple[str, ...] = ()
        if match := re.fullmatch(r"(of|sum of) (\w+)", " ".join(rule.texts())):
            if match[1] == "of":
                dtype_of = match[2]
                if dtype_of not in [one.name for one in attributes if one.type == "dtype"]:
                    raise rule.error(f"`{dtype_of}` is no attribute of type dtype")
            else:
                sum_of = match[2]
                if sum_of not in names:
                    raise rule.error(f"`{sum_of}` is no input")
        else:
            like, dtypes = _dtype(rule, names)
            if like is None and len(dtypes) != 1:
                raise item.error(
                    "an output has one dtype: `like INPUT`, `of ATTRIBUTE`, `sum of INPUT` or a "
                    "name"
                )
        shape_value = fields.required("shape")
        shape = _shape(shape_value, names)
        assert shape is not None
        if shape.has_any:
            raise shape_value.error("`_` is not allowed: an output's shape follows from the inputs")
        _check_indices(shape_value, shape, inputs)
        alias = fields.optional("may_alias")
        for other in alias.texts() if alias else ():
            if alias and other not in names:
                raise alias.error(f"`{other}` is no input")
        outputs.append(
            Tensor(
                name=_argument(item, name, (*names, *(tensor.name for tensor in outputs))),
                doc=_sentence(fields.required("doc")),
                like=like,
                dtypes=dtypes,
                least_rank=0,
                greatest_rank=None,
                shape=shape,
                may_alias=alias.texts() if alias else (),
                dtype_of=dtype_of,
                sum_of=sum_of,
            )
        )
        fields.finish()
    if not outputs:
        raise value.error("an operator has at least one output")
    return tuple(outputs)


def _attributes(value: Value | None, inputs: tuple[Tensor, ...]) -> tuple[Attribute, ...]:
    if value is None:
        return ()
    names = tuple(tensor.name for tensor in inputs)
    attributes: list[Attribute] = []
    for name, item in value.mapping().items():
        fields = item.mapping()
        kind = fields.required("type")
        if kind.text() not in get_args(AttributeType):
            allowed = ", ".join(get_args(AttributeType))
            raise kind.error(f"expected one of {allowed}, got `{kind.text()}`")
        default = fields.optional("default")
        is_optional = fields.optional("optional")
        optional = is_optional.boolean() if is_optional else False
        if is_optional and default:
            raise item.error("give `default` or `optional`, not both")
        if default and kind.text() == "dims":
            raise default.error("all dimensions are the default of `dims`")
        of = fields.optional("of")
        if (of is not None) != (kind.text() in ("dim", "dims")):
            raise item.error("`of` belongs to every dim and dims, and to those alone")
        if of and of.text() not in names:
            raise of.error(f"`{of.text()}` is no input")
        values = fields.optional("values")
        if (values is not None) != (kind.text() == "enum"):
            raise item.error("`values` belong to every enum, and to enums alone")
        if values and default and default.text() not in values.texts():
            raise default.error(f"`{default.text()}` is none of the values")
        chosen = fields.optional("dtypes")
        if (chosen is not None) != (kind.text() == "dtype"):
            raise item.error("`dtypes` belong to every dtype, and to dtypes alone")
        minimum = fields.optional("minimum")
        like = fields.optional("like")
        if (like is not None) != (kind.text() == "scalar"):
            raise item.error("`like` belongs to every scalar, and to scalars alone")
        if like and like.text() not in names:
            raise like.error(f"`{like.text()}` is no input")
        attributes.append(
            Attribute(
                name=_argument(item, name, (*names, *(known.name for known in attributes))),
                doc=_sentence(fields.required("doc")),
                type=next(t for t in get_args(AttributeType) if t == kind.text()),
                default=_default(default, kind.text()),
                has_default=default is not None or optional or kind.text() == "dims",
                minimum=minimum.number() if minimum else None,
                like=like.text() if like else None,
                of=of.text() if of else None,
                optional=optional,
                values=values.texts() if values else (),
                dtypes=_dtype(chosen, ())[1] if chosen else (),
            )
        )
        fields.finish()
    return tuple(attributes)


def _default(value: Value | None, kind: str) -> int | float | bool | str | None:
    if value is None:
        return None
    match kind:
        case "enum":
            return value.text()
        case "dtype":
            raise value.error("a dtype has no default; make it optional or required")
        case "int" | "dim":
            return value.integer()
        case "bool":
            return value.boolean()
        case "double":
            return float(value.number())
        case _:
            return value.number()


def _dtype(value: Value, inputs: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    texts = value.texts()
    if len(texts) == 1 and texts[0].startswith("like "):
        name = texts[0].removeprefix("like ")
        if name not in inputs:
            raise value.error(f"`{name}` is no input before this argument")
        return name, ()
    chosen: set[str] = set()
    for text in texts:
        if text not in DTYPE_CLASSES and text not in DTYPES:
            allowed = ", ".join(("like INPUT", *DTYPE_CLASSES, *DTYPES))
            raise value.error(f"`{text}` is no dtype or class of dtypes; known: {allowed}")
        chosen.update(DTYPE_CLASSES.get(text, (text,)))
    return None, tuple(dtype for dtype in DTYPES if dtype in chosen)


def _rank(value: Value | None) -> tuple[int, int | None]:
    if value is None:
        return 0, None
    node = value.node.value
    match = re.fullmatch(r"(\d+)(\.\.(\d*))?", node) if isinstance(node, str) else None
    if match is None:
        raise value.error("expected a rank: `2`, `1..` or `1..3`")
    least = int(match[1])
    if match[2] is None:
        return least, least
    greatest = int(match[3]) if match[3] else None
    if greatest is not None and greatest < least:
        raise value.error(f"no rank is at least {least} and at most {greatest}")
    return least, greatest


def _shape(value: Value | None, inputs: tuple[str, ...]) -> Shape | None:
    if value is None:
        return None
    try:
        shape = parse_shape(value.text())
    except ValueError as error:
        raise value.error(str(error)) from error
    for name in shape.names:
        if name not in inputs:
            raise value.error(f"`{name}` in `{shape.text}` is no input before this argument")
    return shape


def _check_attributes_of_shapes(value: Value, operator: Operator) -> None:
    known = {item.name: item for item in operator.attributes}
    for tensor in operator.tensors:
        for name in tensor.shape.attributes if tensor.shape else ():
            if name not in known:
                assert tensor.shape is not None
                raise value.error(f"`{name}` in `{tensor.shape.text}` is no attribute")


def _positional(
    value: Value | None, inputs: tuple[Tensor, ...], attributes: tuple[Attribute, ...]
) -> tuple[str, ...]:
    """The Python parameters that may be given by position: all inputs, or what is said."""
    own = tuple(tensor.name for tensor in inputs)
    if value is None:
        return own
    names = value.texts()
    known = (*own, *(item.name for item in attributes))
    for name in names:
        if name not in known:
            raise value.error(f"`{name}` is no input or attribute")
    if missing := [name for name in own if name not in names]:
        raise value.error(f"every input has a position; `{missing[0]}` has none")
    return names


def _cases(
    value: Value | None, inputs: tuple[Tensor, ...], attributes: tuple[Attribute, ...]
) -> Cases:
    if value is None:
        return Cases()
    fields = value.mapping()
    names = [tensor.name for tensor in inputs]
    filled: list[tuple[str, str]] = []
    if given := fields.optional("values"):
        for name, item in given.mapping().items():
            if name not in names:
                raise item.error(f"`{name}` is no input")
            kind = item.text()
            if not re.fullmatch(r"normal|positive|nonzero|small|index \w+ -?\w+", kind):
                raise item.error(f"`{kind}` is no way to fill a tensor")
            filled.append((name, kind))
    sets: list[dict[str, object]] = []
    if given := fields.optional("attributes"):
        known = [item.name for item in attributes]
        for entry in given.items():
            one = entry.plain()
            if not isinstance(one, dict) or any(name not in known for name in one):
                raise entry.error(f"expected values of the attributes {', '.join(known)}")
            sets.append(one)
    shapes: list[tuple[str, dict[str, object]]] = []
    if given := fields.optional("shapes"):
        for name, entry in given.mapping().items():
            one = entry.plain()
            if not isinstance(one, dict) or any(key not in names for key in one):
                raise entry.error(f"expected a shape of each of the inputs {', '.join(names)}")
            shapes.append((name, one))
    fields.finish()
    return Cases(tuple(filled), tuple(sets), tuple(shapes))


def _check_indices(value: Value, shape: Shape, inputs: list[Tensor] | tuple[Tensor, ...]) -> None:
    for tensor in inputs:
        if tensor.optional and tensor.name in shape.names and tensor.name != shape.fitting:
            raise value.error(f"`{tensor.name}` is optional, so no shape can follow from it")
        rank = len(tensor.shape.items) if tensor.shape else tensor.least_rank
        if shape.least_rank_of(tensor.name) > rank:
            needed = shape.least_rank_of(tensor.name)
            raise value.error(f"`{shape.text}` needs `{tensor.name}` to have rank {needed} or more")


def _agrees_with(value: Value) -> str:
    text = value.text()
    expected = "expected an expression of the arguments, for example torch.add(input, other)"
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise value.error(expected) from error
    if isinstance(node, (ast.Name, ast.Attribute, ast.Constant)):
        raise value.error(expected)
    return text


def _tolerances(value: Value, dtypes: tuple[str, ...]) -> tuple[tuple[str, Tolerance], ...]:
    found: dict[str, Tolerance] = {}
    for name, item in value.mapping().items():
        members = DTYPE_CLASSES.get(name, (name,))
        for dtype in members:
            if dtype not in dtypes:
                raise item.error(f"`{dtype}` is no dtype of the operator's first input")
            found.setdefault(dtype, _tolerance(item))
    missing = [dtype for dtype in dtypes if dtype not in found]
    if missing:
        raise value.error(f"no tolerance for {', '.join(missing)}")
    return tuple((dtype, found[dtype]) for dtype in dtypes)


def _tolerance(value: Value) -> Tolerance:
    if value.is_mapping():
        fields: Mapping = value.mapping()
        relative = float(fields.required("relative").number())
        absolute = float(fields.required("absolute").number())
        fields.finish()
        return Tolerance(relative=relative, absolute=absolute)
    text = value.text()
    if text == "exact":
        return Tolerance(ulp=0)
    match = re.fullmatch(r"(\d+) ulp", text)
    if match is None:
        raise value.error("expected `exact`, `N ulp` or {relative: R, absolute: A}")
    return Tolerance(ulp=int(match[1]))


def _aten(value: Value | None, arguments: tuple[Tensor | Attribute, ...]) -> tuple[Aten, ...]:
    if value is None:
        return ()
    names = tuple(argument.name for argument in arguments)
    overloads: list[Aten] = []
    for overload, item in value.mapping().items():
        pairs: list[tuple[str, str]] = []
        for name, target in item.mapping().items():
            if name not in names:
                raise target.error(f"`{name}` is no argument; arguments: {', '.join(names)}")
            pairs.append((name, target.text()))
        missing = [name for name in names if name not in dict(pairs)]
        if missing:
            raise item.error(f"nothing is said about {', '.join(missing)}")
        overloads.append(Aten(overload, tuple(pairs)))
    return tuple(overloads)
