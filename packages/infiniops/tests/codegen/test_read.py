from pathlib import Path
from typing import Any

import pytest
from codegen.declaration import LinnetSource, Tolerance
from codegen.document import DeclarationError
from codegen.read import read_declaration

GOOD = """\
schema: 1
operator: scale
group: elementwise
summary: Scales `input`.
agrees_with: torch.mul(input, factor)
inputs:
  input: {dtype: [floating, int32], rank: 1..4, doc: What to scale.}
  weight: {dtype: like input, shape: "[_, input.shape[-1]]", optional: true, doc: Unused.}
attributes:
  factor: {type: double, default: 2, minimum: 0, doc: The factor.}
outputs:
  out: {dtype: like input, shape: input.shape, may_alias: [input], doc: The result.}
numerics: {accumulate: float32, rounds: once}
tolerance: {floating: 2 ulp, int32: exact}
aten:
  scale.out: {input: self, weight: weight, factor: factor, out: out}
linnet:
  std.m::scale: {input: x, factor: by}
  mul: {input: 1, weight: 0}
"""


def read(folder: Path, text: str) -> Any:
    path = folder / "scale.yaml"
    path.write_text(text)
    return read_declaration(path)


def test_a_declaration_is_read_whole(tmp_path: Path) -> None:
    operator = read(tmp_path, GOOD)
    assert operator.class_name == "Scale"
    assert operator.dtypes == ("int32", "float16", "bfloat16", "float32", "float64")
    assert (operator.inputs[0].least_rank, operator.inputs[0].greatest_rank) == (1, 4)
    assert operator.inputs[1].optional
    assert operator.inputs[1].like == "input"
    assert operator.attributes[0].default == 2.0
    assert operator.outputs[0].may_alias == ("input",)
    assert dict(operator.tolerance)["float32"] == Tolerance(ulp=2)
    assert dict(operator.aten[0].arguments) == {
        "input": "self",
        "weight": "weight",
        "factor": "factor",
        "out": "out",
    }
    op, step = operator.linnet
    assert (op.op, op.step, dict(op.arguments)) == (
        "std.m::scale",
        None,
        {"input": LinnetSource("argument", "x"), "factor": LinnetSource("argument", "by")},
    )
    assert (step.op, step.step, dict(step.arguments)) == (
        None,
        "mul",
        {"input": LinnetSource("operand", 1), "weight": LinnetSource("operand", 0)},
    )
    assert not operator.smoke


def test_linnet_arguments_come_from_views_values_attributes_and_results(tmp_path: Path) -> None:
    lines = """\
  std.m::scale: {input: "x[:, None]", factor: {value: 2.5}}
  scale: {when: {comparison: le}, input: 0, factor: {attribute: by}}
  cast: {input: 0, factor: {result: dtype}}
"""
    text = GOOD[: GOOD.index("  std.m::scale: {")] + lines
    records = [item.record() for item in read(tmp_path, text).linnet]
    assert records == [
        {
            "op": "std.m::scale",
            "arguments": {
                "input": {"argument": "x", "view": [":", "None"]},
                "factor": {"value": 2.5},
            },
        },
        {
            "step": "scale",
            "when": {"comparison": "le"},
            "arguments": {"input": 0, "factor": {"attribute": "by"}},
        },
        {"step": "cast", "arguments": {"input": 0, "factor": {"result": "dtype"}}},
    ]


def test_positions_have_a_bound_that_names_inputs(tmp_path: Path) -> None:
    text = GOOD.replace("rank: 1..4,", 'rank: 1..4, below: "weight.shape[0] - input.shape[1] + 1",')
    assert read(tmp_path, text).inputs[0].below == "weight.shape[0] - input.shape[1] + 1"
    for wrong in ("weight.shape", "other.shape[0]", "weight.shape[0] + 1", "3"):
        with pytest.raises(DeclarationError, match=r"6: inputs: input\.below: expected `NAME"):
            read(tmp_path, GOOD.replace("rank: 1..4,", f'rank: 1..4, below: "{wrong}",'))


def test_an_operator_that_writes_an_input_needs_no_output(tmp_path: Path) -> None:
    text = GOOD.replace("rank: 1..4", "rank: 1..4, written: true")
    outputs = next(line for line in text.splitlines() if line.startswith("  out: "))
    text = text.replace(f"outputs:\n{outputs}\n", "").replace(", out: out", "")
    operator = read(tmp_path, text)
    assert [tensor.name for tensor in operator.written] == ["input"]
    assert operator.outputs == ()


def test_an_optional_attribute_may_be_absent(tmp_path: Path) -> None:
    operator = read(tmp_path, GOOD.replace("default: 2", "optional: true"))
    factor = operator.attributes[0]
    assert factor.optional
    assert factor.has_default
    assert factor.default is None


def test_a_declaration_may_leave_the_sweep_to_its_tests(tmp_path: Path) -> None:
    assert read(tmp_path, GOOD).default_sweep
    assert not read(
        tmp_path, GOOD.replace("summary:", "default_sweep: false\nsummary:")
    ).default_sweep


MISTAKES = [
    ("schema: 1", "schema: 2", "1: schema: this generator reads schema 1, got 2"),
    ("schema: 1", "schema: yes", "1: schema: expected an integer, got 'yes'"),
    ("schema: 1\n", "", "1: the key `schema` is missing"),
    ("operator: scale", "operator: mul", "2: operator: `mul` must be in mul.yaml, not scale.yaml"),
    (
        "operator: scale",
        "operator: Scale",
        "2: operator: `Scale` is not a name in lower case with single underscores",
    ),
    (
        "group: elementwise",
        "group: other",
        "3: group: expected one of elementwise, gated, normalization, matrix, reduction, movement, "
        "attention, sampling, got `other`",
    ),
    ("Scales `input`.", "Scales", "4: summary: expected a sentence that ends with a full stop"),
    (
        "summary: Scales",
        "summery: Scales",
        "1: the key `summary` is missing; `summery` on line 4 looks like it",
    ),
    (
        "numerics:",
        "agree_with: x\nnumerics:",
        "13: agree_with: unknown key; did you mean `agrees_with`? allowed here: agrees_with, aten, "
        "attributes, benchmark, default_sweep, details, group, inputs, linnet, main, numerics, "
        "operator, outputs, positional, schema, smoke, summary, sweep, tolerance",
    ),
    ("summary: Scales", "summary: [1, 2]\nx: Scales", "4: summary: expected text, got a list"),
    (
        "agrees_with: torch.mul(input, factor)",
        "agrees_with: torch.mul",
        "5: agrees_with: expected an expression of the arguments, for example "
        "torch.add(input, other)",
    ),
    (
        "numerics:",
        "colour: red\nnumerics:",
        "13: colour: unknown key; allowed here: agrees_with, aten, attributes, benchmark, "
        "default_sweep, details, group, inputs, linnet, main, numerics, operator, outputs, "
        "positional, schema, smoke, summary, sweep, tolerance",
    ),
    ("numerics:", "schema: 1\nnumerics:", "13: schema: already given on line 1"),
    (
        "doc: What to scale.",
        "doc: What to scale., colour: red",
        "7: inputs.input.colour: unknown key; allowed here: below, doc, dtype, list, optional, "
        "rank, shape, written",
    ),
    (
        "dtype: [floating, int32]",
        "dtype: [floating, int33]",
        "7: inputs.input.dtype: `int33` is no dtype or class of dtypes; known: like INPUT, bool, "
        "integer, floating, complex, bool, int8, int16, int32, int64, uint8, uint16, uint32, "
        "uint64, float16, bfloat16, float32, float64, complex64, complex128",
    ),
    (
        'dtype: like input, shape: "[_',
        'dtype: like other, shape: "[_',
        "8: inputs.weight.dtype: `other` is no input before this argument",
    ),
    ("rank: 1..4", "rank: 4..1", "7: inputs.input.rank: no rank is at least 4 and at most 1"),
    ("rank: 1..4", "rank: many", "7: inputs.input.rank: expected a rank: `2`, `1..` or `1..3`"),
    (
        '"[_, input.shape[-1]]"',
        '"[_, input.shape[-3]]"',
        "8: inputs.weight: `[_, input.shape[-3]]` needs `input` to have rank 3 or more",
    ),
    (
        '"[_, input.shape[-1]]"',
        '"input.size"',
        "8: inputs.weight.shape: `input.size` in `input.size` is not the shape of an argument",
    ),
    (
        "optional: true",
        "optional: maybe",
        "8: inputs.weight.optional: expected true or false, got 'maybe'",
    ),
    (
        "optional: true",
        "optional: true, written: true",
        "8: inputs.weight: a tensor that is written must be there: not `optional`",
    ),
    (
        "default: 2",
        "default: 2, optional: true",
        "10: attributes.factor: give `default` or `optional`, not both",
    ),
    (
        "type: double",
        "type: float",
        "10: attributes.factor.type: expected one of scalar, double, int, bool, dim, dims, enum, "
        "dtype, got `float`",
    ),
    (
        "factor: {type",
        "stream: {type",
        "10: attributes.stream: `stream` is reserved for every operator",
    ),
    (
        "factor: {type: double",
        "factor: {type: scalar",
        "10: attributes.factor: `like` belongs to every scalar, and to scalars alone",
    ),
    (
        "shape: input.shape",
        'shape: "[_]"',
        "12: outputs.out.shape: `_` is not allowed: an output's shape follows from the inputs",
    ),
    (
        "shape: input.shape",
        "shape: weight.shape",
        "12: outputs.out.shape: `weight` is optional, so no shape can follow from it",
    ),
    (
        "factor: {type: double",
        "factor: {type: dim",
        "10: attributes.factor: `of` belongs to every dim and dims, and to those alone",
    ),
    (
        "factor: {type: double",
        "factor: {type: enum",
        "10: attributes.factor: `values` belong to every enum, and to enums alone",
    ),
    (
        "shape: input.shape",
        "shape: input.shape, dtype: of factor",
        "12: outputs.out.dtype: already given on line 12",
    ),
    (
        "shape: input.shape",
        'shape: "[factors]"',
        "6: inputs: `factors` in `[factors]` is no attribute",
    ),
    (
        "numerics:",
        "main: weight\nnumerics:",
        "13: main: `weight` is no input that names its own dtypes",
    ),
    (
        "numerics:",
        "positional: [factor]\nnumerics:",
        "13: positional: every input has a position; `input` has none",
    ),
    (
        "numerics:",
        "sweep: {values: {input: huge}}\nnumerics:",
        "13: sweep.values.input: `huge` is no way to fill a tensor",
    ),
    (
        "numerics:",
        "sweep: {attributes: [{by: 1}]}\nnumerics:",
        "13: sweep.attributes[0]: expected values of the attributes factor",
    ),
    ("may_alias: [input]", "may_alias: [x]", "12: outputs.out.may_alias: `x` is no input"),
    (
        "floating: 2 ulp",
        "floating: close",
        "14: tolerance.floating: expected `exact`, `N ulp` or {relative: R, absolute: A}",
    ),
    (
        "floating: 2 ulp, ",
        "",
        "14: tolerance: no tolerance for float16, bfloat16, float32, float64",
    ),
    (
        "floating: 2 ulp",
        "floating: 2 ulp, int8: exact",
        "14: tolerance.int8: `int8` is no dtype of the operator's first input",
    ),
    ("factor: factor, ", "", "16: aten.scale.out: nothing is said about factor"),
    (
        "out: out}\n",
        "out: out, x: y}\n",
        "16: aten.scale.out.x: `x` is no argument; arguments: input, weight, factor, out",
    ),
    (
        "{input: x, factor: by}",
        "{factor: by}",
        "18: linnet.std.m::scale: nothing is said about input",
    ),
    (
        "{input: x, factor: by}",
        "{input: x, out: y}",
        "18: linnet.std.m::scale.out: `out` is no input or attribute: input, weight, factor",
    ),
    ("{input: 1,", "{input: one,", "19: linnet.mul.input: expected an integer, got 'one'"),
    ("{input: x,", "{input: 0,", "18: linnet.std.m::scale.input: expected text, got '0'"),
    (
        "{input: x,",
        '{input: "x[0]",',
        "18: linnet.std.m::scale.input: expected an argument, or one with a view such as "
        "`mask[:, None]`, got 'x[0]'",
    ),
    (
        "factor: by}",
        'factor: "by[None]"}',
        "18: linnet.std.m::scale.factor: only a tensor has a view",
    ),
    (
        "{input: x,",
        "{input: {value: 1},",
        "18: linnet.std.m::scale.input: a tensor comes from an argument or operand",
    ),
    (
        "factor: by}",
        "factor: {number: 1}}",
        "18: linnet.std.m::scale.factor: expected one of `value`, `attribute`, `result`",
    ),
    (
        "factor: by}",
        "factor: {result: shape}}",
        "18: linnet.std.m::scale.factor.result: expected `dtype`, got 'shape'",
    ),
]


@pytest.mark.parametrize(("old", "new", "message"), MISTAKES, ids=lambda text: text[:24])
def test_mistakes_name_file_line_and_key(old: Any, new: Any, message: Any, tmp_path: Path) -> None:
    assert old in GOOD
    with pytest.raises(DeclarationError) as error:
        read(tmp_path, GOOD.replace(old, new, 1))
    assert str(error.value) == f"{tmp_path / 'scale.yaml'}:{message}"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "1: the file is empty"),
        (b"- 1\n", "1: expected a mapping, got a list"),
        (b"a: [1\n", "2: not YAML: expected ',' or ']', but got '<stream end>'"),
        (b"1: 2\n", "1: 1: keys must be text"),
    ],
)
def test_files_that_are_no_declaration_are_refused(data: Any, message: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(data)
    with pytest.raises(DeclarationError) as error:
        read_declaration(path)
    assert str(error.value) == f"{path}:{message}"


def test_bytes_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(b"a: \xff\n")
    with pytest.raises(DeclarationError, match="not UTF-8"):
        read_declaration(path)
