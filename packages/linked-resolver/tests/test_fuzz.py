"""Hostile input: a problem or a result, never a traceback, a hang, or a file outside.

`LINKED_RESOLVER_FUZZ_SHARE` is the part of the whole count that a run does, 1 for all of it.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from linked_workspace import CONTRACT, LIBRARY, Workspace, compile_library

from linked_resolver import ContractError, find_tools
from linked_resolver.contracts import IMPLEMENTATION_RULES, read_contracts
from linked_resolver.document import read_document
from linked_resolver.elf import read_facts, read_symbols
from linked_resolver.headers import find_specializations
from linked_resolver.symbols import read_library

SHARE = float(os.environ.get("LINKED_RESOLVER_FUZZ_SHARE", "0.02"))
WHOLE = 10_000
COUNT = max(1, int(WHOLE * SHARE))
quietly = settings(
    max_examples=COUNT,
    deadline=10_000,  # milliseconds for one input: more would be a hang
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

WORDS = """
library required_symbols operator_schema acme f(int) &a *a !!str ! --- ... { } [ ] ' " | >- ~ #
1e9 0x 2020-01-01 .inf \\U00110000 \\x \ufeff \U0001f600
"""
SPACED = (": ", ":\n", "\n", "  - ", "- ", "\t", "%YAML 1.1\n", "? ", "<<: ", "\0", "\x85")
LONG = (" " * 40, "[" * 200, "a" * 3000)
PIECES = st.sampled_from([*WORDS.split(), *SPACED, *LONG])

CODE = """
/* */ // " ' R"x( )x" \\ < > , #define Operator<
"""
DEFINITION = "struct Operator<A, Device::Type::kCpu, 16> {"
HEADERS = st.lists(st.sampled_from([*CODE.split(), "\n", " " * 50, DEFINITION]), max_size=60)

TEXTS = st.one_of(
    st.text(max_size=300), st.lists(PIECES, max_size=40).map("".join), st.just(CONTRACT)
)


@quietly
@given(TEXTS)
def test_any_text_is_read_as_a_contract(tmp_path: Path, text: str) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    document, problems = read_document(file, IMPLEMENTATION_RULES)
    for problem in problems:
        assert problem.render().startswith("error[")
    assert document.entries.keys() <= IMPLEMENTATION_RULES.keys()


@quietly
@given(st.binary(max_size=400))
def test_any_bytes_are_read_as_a_contract(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(data)
    read_document(file, IMPLEMENTATION_RULES)


@quietly
@given(HEADERS.map("".join))
def test_any_text_is_read_as_a_header(text: str) -> None:
    find_specializations(text)


@quietly
@given(TEXTS, TEXTS)
def test_contracts_never_lead_out_of_the_tree(
    tmp_path_factory: pytest.TempPathFactory, library: str, contract: str
) -> None:
    workspace = Workspace(tmp_path_factory.mktemp("fuzz"))
    workspace.library(LIBRARY)
    workspace.implementation()
    for path, text in [("acme.yaml", library), ("ops/silu_and_mul/acme.yaml", contract)]:
        file = workspace.contracts / "torch" / "cpu" / path
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
    before = sorted(workspace.root.rglob("*"))
    implementations, problems = read_contracts(workspace.contracts)
    assert bool(implementations) != bool(problems)
    workspace.resolve()
    inside = {path for path in workspace.root.rglob("*") if path.is_relative_to(workspace.output)}
    assert set(workspace.root.rglob("*")) - inside - set(workspace.output.parents) == set(
        before
    ) - set(workspace.output.parents)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("library")
    (folder / "map").write_text("V1 { global: *; };\n")
    path = compile_library(
        folder / "a.so",
        "int f(int x) { return x; } int g(int); int h() { return g(1); }",
        f"-Wl,--version-script={folder / 'map'}",
        "-Wl,-soname,liba.so",
    )
    return path.read_bytes()


def mutate(data: bytes, pick: random.Random) -> bytes:
    """The file with bytes changed, mostly in its headers, or cut off, or with a part repeated."""
    changed = bytearray(data)
    kind = pick.randrange(10)
    if kind == 0:
        return bytes(changed[: pick.randrange(len(changed))])
    headers = int.from_bytes(data[40:48], "little")
    for _ in range(pick.choice([1, 1, 2, 4, 16])):
        place = pick.choice([pick.randrange(64), headers + pick.randrange(64 * 30)])
        place = pick.randrange(len(changed)) if kind < 4 else place
        if place < len(changed):
            changed[place] = pick.choice([0, 1, 0x7F, 0x80, 0xFF, pick.randrange(256)])
    return bytes(changed)


def test_mutated_libraries_are_read_or_refused(library: bytes, tmp_path: Path) -> None:
    pick = random.Random(7)
    path = tmp_path / "a.so"
    refused = 0
    for _ in range(COUNT):
        path.write_bytes(mutate(library, pick))
        try:
            read_facts(path)
            read_symbols(path)
            read_symbols(path, ".symtab")
        except ContractError:  # anything else is a failure
            refused += 1
    assert 0 < refused < COUNT


def test_tools_on_mutated_libraries_answer_or_are_reported(library: bytes, tmp_path: Path) -> None:
    pick = random.Random(8)
    path = tmp_path / "a.so"
    tools, _ = find_tools(seconds=20)
    assert tools is not None
    codes = set()
    for _ in range(COUNT):
        path.write_bytes(mutate(library, pick))
        try:
            found = read_library(path, tools)
        except ContractError as error:
            codes.add(error.problem.code)
        else:
            assert all(isinstance(name, str) for name in found.exported)
    assert codes <= {"tool-failed"}
