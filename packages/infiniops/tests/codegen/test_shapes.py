from typing import Any

import pytest
from codegen.shapes import evaluate_shape, parse_shape

SHAPES = {"x": (2, 3, 4), "w": (5, 4), "row": (4,), "column": (3, 1)}


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("x.shape", (2, 3, 4)),
        ("[x.shape[-1]]", (4,)),
        ("[_, x.shape[-1]]", (9, 4)),
        ("[*x.shape[:-1], w.shape[0]]", (2, 3, 5)),
        ("[*x.shape[1:], 7]", (3, 4, 7)),
        ("[]", ()),
        ("broadcast(x, row)", (2, 3, 4)),
        ("broadcast(column, row)", (3, 4)),
        ("[*x.shape[:-1], x.shape[-1] // 2]", (2, 3, 2)),
        ("[heads, 2]", (8, 2)),
    ],
)
def test_rules_give_shapes(text: Any, result: Any) -> None:
    assert evaluate_shape(parse_shape(text), SHAPES, free=9, values={"heads": 8}) == result


@pytest.mark.parametrize(
    ("text", "names", "attributes"),
    [
        ("reduce(x, dim, keepdim)", ("x",), ("dim", "keepdim")),
        ("concat(xs, dim)", ("xs",), ("dim",)),
        ("replace(x, dim, w.shape[0])", ("x", "w"), ("dim",)),
        ("replace(x, dim, count)", ("x",), ("dim", "count")),
        ("matmul(x, w)", ("x", "w"), ()),
        ("matmul(x, w, row)", ("x", "w", "row"), ()),
    ],
)
def test_functions_tell_what_they_follow_from(text: Any, names: Any, attributes: Any) -> None:
    rule = parse_shape(text)
    assert (rule.names, rule.attributes) == (names, attributes)
    with pytest.raises(ValueError, match="has no value without its attributes"):
        evaluate_shape(rule, SHAPES)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x", "`x` is not a shape rule"),
        ("x.shape[0]", "`x.shape[0]` is not a shape rule"),
        ("broadcast(x)", "`broadcast(x)` is not a shape rule"),
        ("broadcast(x, 3)", "`broadcast(x, 3)` is not a shape rule"),
        ("[x.shape[y]]", "`y` in `[x.shape[y]]` is not an index"),
        ("[x.shape[::2]]", "`::2` in `[x.shape[::2]]` is not an index"),
        ("reduce(x, 0, keepdim)", "`reduce(x, 0, keepdim)` is not a shape rule"),
        ("[x.shape[-1] // 0]", "`x.shape[-1] // 0` in `[x.shape[-1] // 0]` is not a size"),
        ("[-1]", "`-1` in `[-1]` is not a size"),
        ("[True]", "`True` in `[True]` is not a size"),
        ("[x.size[0]]", "`x.size` in `[x.size[0]]` is not the shape of an argument"),
        ("[1", "`[1` is not a shape rule: '[' was never closed"),
        ("__import__('os')", "`__import__('os')` is not a shape rule"),
    ],
)
def test_other_text_is_refused(text: Any, message: Any) -> None:
    with pytest.raises(ValueError) as error:
        parse_shape(text)
    assert str(error.value) == message


def test_an_addend_fits_a_product_but_does_not_make_its_shape() -> None:
    assert parse_shape("matmul(x, w)").fitting is None
    assert parse_shape("matmul(x, w, row)").fitting == "row"
    with pytest.raises(ValueError, match=r"`matmul\(x\)` is not a shape rule"):
        parse_shape("matmul(x)")
    with pytest.raises(ValueError, match=r"`matmul\(x, w, 3\)` is not a shape rule"):
        parse_shape("matmul(x, w, 3)")
