from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from codegen.implementations import Implementation
from codegen.ops_json import SelectionError
from codegen.read import read_declarations
from codegen.selection import select

ROOT = Path(__file__).parents[2]
DECLARED = read_declarations(ROOT / "src" / "base")
NAMES = [operator.name for operator in DECLARED]
SMOKE = [operator.name for operator in DECLARED if operator.smoke]


def item(operator: str, slot: int, backend: str = "native") -> Implementation:
    header = Path(f"/{operator}_{slot}.h")
    return Implementation(operator, "cpu", slot, f"slot_{slot}", header, header.name, backend, ())


def test_everything_is_built_by_default(tmp_path: Path) -> None:
    selection = select(DECLARED, tmp_path)
    assert list(selection.slots) == NAMES
    assert all(selection.keeps(item(name, slot)) for name in NAMES for slot in range(32))


@pytest.mark.parametrize(
    "text",
    ["linear,add", "linear;add", " add , linear;", "add,linear,add", "add;;linear", "add,\nlinear"],
)
def test_a_list_keeps_the_named_operators(text: Any, tmp_path: Path) -> None:
    assert select(DECLARED, tmp_path, text).slots == {"add": None, "linear": None}


@pytest.mark.parametrize(
    ("text", "wrong"),
    [("add,frobnicate", "frobnicate"), ("Add", "Add"), ("add mul", "add mul"), ("0", "0")],
)
def test_an_unknown_operator_is_named(text: Any, wrong: Any, tmp_path: Path) -> None:
    with pytest.raises(SelectionError) as error:
        select(DECLARED, tmp_path, text)
    assert str(error.value) == (
        f"INFINI_OPS_OPS: `{wrong}` is no operator; there are {', '.join(NAMES)}"
    )


def test_separators_alone_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SelectionError) as error:
        select(DECLARED, tmp_path, ";,")
    assert str(error.value) == "INFINI_OPS_OPS: `;,` names no operator"


@pytest.mark.parametrize(
    ("ops", "smoke", "implicit"),
    list(itertools.product(["", "mul", "file"], [False, True], [False, True])),
)
def test_precedence(ops: Any, smoke: Any, implicit: Any, tmp_path: Path) -> None:
    """An explicit list or file, else the smoke subset, else an implicit ops.json, else all."""
    (tmp_path / "my ops;1.json").write_text('{"add": {"implementations": [0]}}')
    if implicit:
        (tmp_path / "ops.json").write_text('{"linear": {"implementations": "all"}}')
    text = {"file": "my ops;1.json"}.get(ops, ops)
    selection = select(DECLARED, tmp_path, text, smoke)
    if ops == "mul":
        expected = (["mul"], "INFINI_OPS_OPS")
    elif ops == "file":
        expected = (["add"], str(tmp_path / "my ops;1.json"))
    elif smoke:
        expected = (SMOKE, "INFINI_OPS_SMOKE_BUILD")
    elif implicit:
        expected = (["linear"], str(tmp_path / "ops.json"))
    else:
        expected = (NAMES, "all operators")
    assert (list(selection.slots), selection.origin) == expected


def test_a_broken_implicit_file_does_not_matter_where_something_else_is_asked_for(
    tmp_path: Path,
) -> None:
    (tmp_path / "ops.json").write_text("broken")
    assert list(select(DECLARED, tmp_path, "add").slots) == ["add"]
    assert list(select(DECLARED, tmp_path, smoke=True).slots) == SMOKE
    with pytest.raises(SelectionError, match="is not JSON"):
        select(DECLARED, tmp_path)


def test_a_path_is_told_from_a_list_by_its_dot_or_slash(tmp_path: Path) -> None:
    for text in ("conf/ops", "./ops", "ops.txt"):
        with pytest.raises(SelectionError) as error:
            select(DECLARED, tmp_path, text)
        assert str(error.value) == f"{tmp_path / text}: cannot be read: No such file or directory"


def test_slots_that_are_not_named_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "ops.json"
    path.write_text('{"linear": {"implementations": [3, 0]}, "add": {"implementations": "all"}}')
    selection = select(DECLARED, tmp_path)
    kept = [slot for slot in range(32) if selection.keeps(item("linear", slot))]
    assert kept == [0, 3]
    assert all(selection.keeps(item("add", slot)) for slot in range(32))
    assert selection.inputs == (path,)


def test_named_headers_take_the_place_of_all_others(tmp_path: Path) -> None:
    header = tmp_path / "custom" / "add.h"
    header.parent.mkdir()
    header.touch()
    (tmp_path / "ops.json").write_text('{"add": [{"path": "custom/add.h", "backend": "mine"}]}')
    selection = select(DECLARED, tmp_path)
    assert not selection.keeps(item("add", 0))
    assert selection.keeps(replace(item("add", 0), header=header))
    assert selection.inputs == (header, tmp_path / "ops.json")


def test_aten_operators_are_the_intersection_of_both_selections(tmp_path: Path) -> None:
    (tmp_path / "ops.json").write_text(
        '{"add": {"implementations": [0, 8]}, "mul": {"implementations": [0]},'
        ' "linear": {"implementations": "all"}}'
    )
    selection = select(DECLARED, tmp_path, "ops.json", torch="add;mul")
    kept = [
        (name, slot)
        for name in ("add", "mul", "linear")
        for slot in (0, 8)
        if selection.keeps(item(name, slot))
    ]
    assert kept == [("add", 0), ("add", 8), ("mul", 0), ("linear", 0)]
    with pytest.raises(SelectionError) as error:
        select(DECLARED, tmp_path, torch="nope")
    assert str(error.value).startswith("INFINI_OPS_TORCH_OPS: `nope` is no operator; there are ")
