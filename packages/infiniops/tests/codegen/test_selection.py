from pathlib import Path
from typing import Any

import pytest
from codegen.read import read_declarations
from codegen.selection import SelectionError, select

DECLARED = read_declarations(Path(__file__).parents[2] / "src" / "base")
NAMES = [operator.name for operator in DECLARED]


def test_everything_is_built_by_default() -> None:
    assert list(select(DECLARED, "", False).slots) == NAMES


@pytest.mark.parametrize("text", ["linear,add", "linear;add", " add , linear;", "add,linear,add"])
def test_a_list_keeps_the_named_operators(text: Any) -> None:
    assert select(DECLARED, text, False).slots == {"add": None, "linear": None}


def test_an_explicit_list_wins_over_the_smoke_subset() -> None:
    assert list(select(DECLARED, "add", True).slots) == ["add"]
    smoke = [operator.name for operator in DECLARED if operator.smoke]
    assert list(select(DECLARED, "", True).slots) == smoke


def test_an_unknown_operator_is_named() -> None:
    with pytest.raises(SelectionError) as error:
        select(DECLARED, "add,frobnicate", False)
    assert str(error.value) == (
        f"INFINI_OPS_OPS: `frobnicate` is no operator; there are {', '.join(NAMES)}"
    )


def test_ops_json_selects_slots(tmp_path: Path) -> None:
    path = tmp_path / "my ops.json"
    path.write_text('{"linear": {"implementations": [3, 0]}, "add": {"implementations": "all"}}')
    selection = select(DECLARED, str(path), False)
    assert selection.slots == {"add": None, "linear": frozenset({0, 3})}


def test_an_implicit_ops_json_is_read_unless_something_else_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "ops.json"
    path.write_text('{"linear": {"implementations": "all"}}')
    assert list(select(DECLARED, "", False, path).slots) == ["linear"]
    assert list(select(DECLARED, "add", False, path).slots) == ["add"]
    assert list(select(DECLARED, "", False, tmp_path / "absent.json").slots) == NAMES


LIST = '`implementations` must be "all" or a list of slots that is not empty'
HEADERS = (
    "selects implementation headers, which this version does not read; write "
    '{"implementations": "all"} or {"implementations": [SLOT, ...]}'
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"nope": {"implementations": "all"}}',
            f"nope: is no operator; there are {', '.join(NAMES)}",
        ),
        (
            '{"add": {"implementations": [-1]}}',
            "add: -1 is no slot; slots are integers from 0 to 31",
        ),
        (
            '{"add": {"implementations": [32]}}',
            "add: 32 is no slot; slots are integers from 0 to 31",
        ),
        (
            '{"add": {"implementations": ["8"]}}',
            'add: "8" is no slot; slots are integers from 0 to 31',
        ),
        (
            '{"add": {"implementations": [3.0]}}',
            "add: 3.0 is no slot; slots are integers from 0 to 31",
        ),
        (
            '{"add": {"implementations": [true]}}',
            "add: true is no slot; slots are integers from 0 to 31",
        ),
        ('{"add": {"implementations": [1, 1]}}', "add: slot 1 is given twice"),
        ('{"add": {"implementations": []}}', f"add: {LIST}"),
        ('{"add": {"implementations": "some"}}', f"add: {LIST}"),
        (
            '{"add": {"implementations": "all", "path": "x.h"}}',
            'add: expected {"implementations": "all" or [SLOT, ...]}',
        ),
        ('{"add": 0}', 'add: expected {"implementations": "all" or [SLOT, ...]}'),
        ('{"add": "src/native/cpu/ops/add/add.h"}', f"add: {HEADERS}"),
        ('{"add": ["a b/add.h", {"path": "c", "backend": "d"}]}', f"add: {HEADERS}"),
        ('{"add": {"implementations": "all"},}', "line 1: is not JSON: "),
        ('{"add": {}, "add": {}}', "add: the key is given twice"),
        ("[]", "expected an object that maps operators to implementations"),
        ("\ufeff{}", "line 1: is not JSON: "),
    ],
)
def test_malformed_files_are_refused_with_their_key(
    text: Any, message: Any, tmp_path: Path
) -> None:
    path = tmp_path / "ops.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SelectionError) as error:
        select(DECLARED, str(path), False)
    assert str(error.value).startswith(f"{path}: {message}")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SelectionError, match=r"absent.json: cannot be read: No such file"):
        select(DECLARED, str(tmp_path / "absent.json"), False)
