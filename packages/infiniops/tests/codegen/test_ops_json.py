"""The forms of `ops.json`, generated: each accepted one with what it selects, each refused one with
its whole message.
"""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import Any

import pytest
from codegen.ops_json import EXPECTED, Header, SelectionError, read_ops_json

NAMES = ["add", "linear", "mul"]
KNOWN = "add, linear, mul"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A package folder with headers inside and outside the standard layout."""
    for name in (
        "src/native/cpu/ops/add/add.h",
        "src/native/cpu/ops/add/add_other.h",
        "src/linked/torch/cpu/ops/add/vllm.h",
        "my headers/add.h",
        "custom/add.h",
        "custom/custom_add.yaml",
        "outside.h",
    ):
        path = tmp_path / "package" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path / "package"


def read(text: str, root: Path) -> Any:
    path = root / "ops.json"
    path.write_text(text, encoding="utf-8")
    return read_ops_json(path, NAMES, root)


ALL_SLOTS = list(range(32))
SAMPLES = random.Random(7)  # the same tests in every process of a parallel run


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("all", None),
        ([0], {0}),
        ([31], {31}),
        ([8], {8}),
        ([16, 0], {0, 16}),
        (ALL_SLOTS, set(ALL_SLOTS)),
        *((slots, set(slots)) for slots in (SAMPLES.sample(ALL_SLOTS, k) for k in range(1, 12))),
    ],
    ids=str,
)
def test_slots_are_a_set(value: Any, expected: Any, root: Path) -> None:
    (entry,) = read(json.dumps({"add": {"implementations": value}}), root).values()
    assert entry.slots == expected
    assert (entry.headers, entry.declaration) == ((), None)


NATIVE = "src/native/cpu/ops/add/add.h"
OTHER = "src/native/cpu/ops/add/add_other.h"
LINKED = "src/linked/torch/cpu/ops/add/vllm.h"
ITEMS = [
    (NATIVE, NATIVE, "native"),
    ("./src/base/../native/cpu/ops/add/add_other.h", OTHER, "native"),
    (LINKED, LINKED, "linked"),
    ({"path": "my headers/add.h", "backend": "custom"}, "my headers/add.h", "custom"),
    ({"backend": "mine_2", "path": "outside.h"}, "outside.h", "mine_2"),
]


@pytest.mark.parametrize(
    "items",
    [*((one,) for one in ITEMS), *itertools.permutations(ITEMS, 2), tuple(ITEMS)],
    ids=lambda items: " ".join(backend for _, _, backend in items),
)
def test_headers_keep_their_order_and_back_ends(items: Any, root: Path) -> None:
    expected = tuple(Header(root / path, backend) for _, path, backend in items)
    written = [value for value, _, _ in items]
    assert read(json.dumps({"add": written}), root)["add"].headers == expected
    if len(items) == 1 and isinstance(written[0], str):
        assert read(json.dumps({"add": written[0]}), root)["add"].headers == expected


def test_absolute_headers_are_taken_as_they_are(root: Path) -> None:
    entries = read(json.dumps({"add": str(root / NATIVE)}), root)
    assert entries["add"].headers == (Header(root / NATIVE, "native"),)


def test_a_new_operator_has_its_declaration_beside_its_header(root: Path) -> None:
    entries = read('{"custom_add": [{"path": "custom/add.h", "backend": "custom"}]}', root)
    assert entries["custom_add"].declaration == root / "custom" / "custom_add.yaml"
    assert read(json.dumps({"add": NATIVE}), root)["add"].declaration is None


LIST = '`implementations` must be "all" or a list of slots that is not empty, got '
SLOT = " is no slot; slots are integers from 0 to 31"
NAME = (
    " is no name of a back end; one is in lower case, as native, torch, ninetoothed, triton, "
    "linked, or your own"
)
PAIR = 'expected {"path": HEADER, "backend": NAME}, got an object with '
HEADER = 'expected a header or {"path": HEADER, "backend": NAME}, got '
REFUSED_SLOTS = [-1, 32, 10**6, "8", 3.0, 8.5, True, False, None, [], {}, [0]]
REFUSED_LISTS: list[Any] = ["some", "ALL", "", 0, 3.5, True, None, {}, []]
REFUSED_VALUES: list[Any] = [0, 1.5, True, None]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"nope": {"implementations": "all"}}', f"nope: is no operator; there are {KNOWN}"),
        ('{"Add": {"implementations": "all"}}', f"Add: is no operator; there are {KNOWN}"),
        ('{"": {"implementations": "all"}}', f": is no operator; there are {KNOWN}"),
        *(
            (json.dumps({"add": {"implementations": [0, slot]}}), f"add: {json.dumps(slot)}{SLOT}")
            for slot in REFUSED_SLOTS
        ),
        *(
            (json.dumps({"add": {"implementations": value}}), f"add: {LIST}{json.dumps(value)}")
            for value in REFUSED_LISTS
        ),
        *(
            (json.dumps({"add": value}), f"add: {EXPECTED}; got {json.dumps(value)}")
            for value in REFUSED_VALUES
        ),
        ('{"add": {"implementations": [1, 1]}}', "add: slot 1 is given twice"),
        ('{"add": {}}', f"add: {EXPECTED}; got an object with no key"),
        (
            '{"add": {"implementations": "all", "path": "x.h"}}',
            f"add: {EXPECTED}; got an object with `implementations`, `path`",
        ),
        (
            '{"add": {"path": "x.h", "backend": "b"}}',
            f"add: {EXPECTED}; got an object with `path`, `backend`",
        ),
        ('{"add": []}', "add: the list of headers is empty; leave the operator out instead"),
        ('{"add": ""}', f'add: {HEADER}""'),
        ('{"add": [0]}', f"add: {HEADER}0"),
        ('{"add": [[]]}', f"add: {HEADER}[]"),
        ('{"add": [{"path": 1, "backend": "b"}]}', f"add: {HEADER}1"),
        ('{"add": [{"path": "outside.h"}]}', f"add: {PAIR}`path`"),
        ('{"add": [{}]}', f"add: {PAIR}no key"),
        (
            '{"add": [{"path": "outside.h", "backend": "b", "slot": 1}]}',
            f"add: {PAIR}`path`, `backend`, `slot`",
        ),
        ('{"add": [{"path": "outside.h", "backend": "B"}]}', f'add: "B"{NAME}'),
        ('{"add": [{"path": "outside.h", "backend": ""}]}', f'add: ""{NAME}'),
        ('{"add": [{"path": "outside.h", "backend": 1}]}', f"add: 1{NAME}"),
        (
            json.dumps({"add": [NATIVE, "src/native/../native/cpu/ops/add/add.h"]}),
            "add: {root}/src/native/cpu/ops/add/add.h is given twice",
        ),
        (
            '{"add": "src/native/cpu/ops/add/gone.h"}',
            "add: there is no header src/native/cpu/ops/add/gone.h (looked for it at "
            "{root}/src/native/cpu/ops/add/gone.h)",
        ),
        (
            '{"add": "src/native"}',
            "add: there is no header src/native (looked for it at {root}/src/native)",
        ),
        (
            json.dumps({"add": f"{'a' * 300}.h"}),
            f"add: there is no header {'a' * 300}.h (looked for it at {{root}}/{'a' * 300}.h)",
        ),
        (
            '{"add": "outside.h"}',
            "add: outside.h lies in none of src/{native,torch,ninetoothed,triton,linked}, so say "
            'its back end: {"path": "outside.h", "backend": NAME}',
        ),
        (
            '{"add": "generated/torch/add.h"}',
            "add: generated/torch/add.h is made by the build, so it cannot be named; select it by "
            'slot: {"implementations": [SLOT, ...]}',
        ),
        (
            '{"other": "src/native/cpu/ops/add/add.h"}',
            "other: is no operator, and there is no declaration "
            "{root}/src/native/cpu/ops/add/other.yaml beside its header; the operators are "
            f"{KNOWN}",
        ),
        ('{"add": {}, "add": {}}', "add: the key is given twice"),
        (
            '{"add": {"implementations": "all", "implementations": "all"}}',
            "implementations: the key is given twice",
        ),
        ("{}", f"selects no operator; there are {KNOWN}"),
        ("[]", "expected an object whose keys are operators, got []"),
        ('"add"', 'expected an object whose keys are operators, got "add"'),
        ("null", "expected an object whose keys are operators, got null"),
        ("\ufeff{}", "begins with a byte order mark; save it as UTF-8 without one"),
        ("", "line 1, column 1: is not JSON: Expecting value"),
        ('{"add": {"implementations": [NaN]}}', "NaN is no JSON"),
        ('{"add": -Infinity}', "-Infinity is no JSON"),
        (
            "{'add': 1}",
            "line 1, column 2: is not JSON: Expecting property name enclosed in double quotes",
        ),
        ('{"add": 1\n"mul": 2}', "line 2, column 1: is not JSON: Expecting ',' delimiter"),
        ("[" * 100000, "is nested too deeply"),
    ],
    ids=lambda text: text[:40],
)
def test_malformed_files_are_refused_with_key_value_and_what_is_allowed(
    text: Any, message: Any, root: Path
) -> None:
    with pytest.raises(SelectionError) as error:
        read(text, root)
    assert str(error.value) == f"{root}/ops.json: {message.replace('{root}', str(root))}"


def test_a_trailing_comma_is_refused(root: Path) -> None:
    with pytest.raises(SelectionError, match=r"ops\.json: line 1, column \d+: is not JSON: "):
        read('{"add": {"implementations": "all"},}', root)


def test_long_values_are_cut_in_messages(root: Path) -> None:
    with pytest.raises(SelectionError) as error:
        read(json.dumps({"add": {"implementations": {"key": "x" * 1000}}}), root)
    assert str(error.value).endswith(f'got {{"key": "{"x" * 48}...')


def test_files_that_cannot_be_read_are_named(root: Path) -> None:
    with pytest.raises(SelectionError) as error:
        read_ops_json(root / "gone.json", NAMES, root)
    assert str(error.value) == f"{root}/gone.json: cannot be read: No such file or directory"
    with pytest.raises(SelectionError) as error:
        read_ops_json(root / "src", NAMES, root)
    assert str(error.value) == f"{root}/src: is no file"
    with pytest.raises(SelectionError) as error:
        read_ops_json(root / ("a" * 300), NAMES, root)
    assert str(error.value) == f"{root}/{'a' * 300}: cannot be read: File name too long"
    (root / "latin.json").write_bytes(b'{"add": "\xe9"}')
    with pytest.raises(SelectionError) as error:
        read_ops_json(root / "latin.json", NAMES, root)
    assert (
        str(error.value) == f"{root}/latin.json: is not UTF-8: invalid continuation byte at byte 9"
    )
