"""Hostile input: a problem or a result, never a traceback, a hang, or a file outside.

`LINKED_RESOLVER_FUZZ_SHARE` is the part of the whole count that a run does, 1 for all of it.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from linked_workspace import CONTRACT, LIBRARY, Workspace, compile_library

from linked_resolver import ContractError, Problem, find_tools
from linked_resolver.contracts import IMPLEMENTATION_RULES, read_contracts
from linked_resolver.document import read_document
from linked_resolver.elf import read_facts, read_symbols
from linked_resolver.headers import find_specializations
from linked_resolver.symbols import read_library

SHARE = float(os.environ.get("LINKED_RESOLVER_FUZZ_SHARE", "0.02"))
WHOLE = 10_000
COUNT = max(1, int(WHOLE * SHARE))
PARTS = 8
"""Tests that share the count of mutated libraries, and the cores: a tool takes 5 ms to start."""
quietly = settings(
    max_examples=COUNT,
    deadline=None,  # `promptly` counts the processor's time, which other programs do not add to
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
part_of_the_count = settings(quietly, max_examples=max(1, COUNT // PARTS))


@contextlib.contextmanager
def promptly() -> Iterator[None]:
    """Fails where one input, which takes milliseconds, keeps the processor for 10 s."""
    start = time.process_time()
    yield
    assert time.process_time() - start < 10


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
    with promptly():
        document, problems = read_document(file, IMPLEMENTATION_RULES)
    for problem in problems:
        assert problem.render().startswith("error[")
    assert document.entries.keys() <= IMPLEMENTATION_RULES.keys()


@quietly
@given(st.binary(max_size=400))
def test_any_bytes_are_read_as_a_contract(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(data)
    with promptly():
        read_document(file, IMPLEMENTATION_RULES)


@quietly
@given(HEADERS.map("".join))
def test_any_text_is_read_as_a_header(text: str) -> None:
    with promptly():
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


@dataclass(frozen=True)
class Cut:
    """Leaves the first bytes of a library, whose number is taken modulo its size."""

    length: int

    def apply(self, library: bytes) -> bytes:
        return library[: self.length % len(library)]


@dataclass(frozen=True)
class Change:
    """Sets a byte: a place in the file's header, in its section headers, or anywhere."""

    region: str
    place: int
    byte: int

    def apply(self, library: bytes) -> bytes:
        headers = int.from_bytes(library[40:48], "little")
        place = (headers if self.region == "sections" else 0) + self.place
        changed = bytearray(library)
        changed[place % len(library)] = self.byte
        return bytes(changed)


def changes(region: str, places: int) -> st.SearchStrategy[Change]:
    byte = st.one_of(st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]), st.integers(0, 255))
    return st.builds(Change, st.just(region), st.integers(0, places - 1), byte)


CHANGES = st.one_of(
    changes("header", 64), changes("sections", 64 * 30), changes("anywhere", 1 << 20)
)
MUTATIONS = st.one_of(
    st.lists(CHANGES, min_size=1, max_size=2),
    st.lists(CHANGES, min_size=1, max_size=16),
    st.builds(Cut, st.integers(0, 1 << 20)).map(lambda cut: [cut]),
)


def mutate(library: bytes, mutations: Sequence[Cut | Change]) -> bytes:
    for mutation in mutations:
        library = mutation.apply(library)
    return library


def test_the_library_that_is_mutated_is_a_good_one(library: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.so"
    path.write_bytes(library)
    tools, _ = find_tools()
    assert tools is not None
    assert {"f(int)", "h()"} <= read_library(path, tools).exported
    path.write_bytes(mutate(library, [Cut(100)]))
    with pytest.raises(ContractError):
        read_facts(path)
    changed = mutate(library, [Change("header", 3, 7), Change("sections", 0, 9)])
    assert [old for old, new in zip(library, changed, strict=True) if old != new] == [ord("F"), 0]


@pytest.mark.parametrize("part", range(PARTS))
@part_of_the_count
@given(mutations=MUTATIONS)
def test_mutated_libraries_are_read_or_refused(
    library: bytes, tmp_path: Path, part: int, mutations: Sequence[Cut | Change]
) -> None:
    path = tmp_path / "a.so"
    path.write_bytes(mutate(library, mutations))
    with promptly(), contextlib.suppress(ContractError):  # anything else is a failure
        read_facts(path)
        read_symbols(path)
        read_symbols(path, ".symtab")


@pytest.mark.parametrize("part", range(PARTS))
@part_of_the_count
@given(mutations=MUTATIONS)
def test_tools_on_mutated_libraries_answer_or_are_reported(
    library: bytes, tmp_path: Path, part: int, mutations: Sequence[Cut | Change]
) -> None:
    path = tmp_path / "a.so"
    path.write_bytes(mutate(library, mutations))
    tools, _ = find_tools()
    assert tools is not None
    exported: frozenset[str] = frozenset()
    problem: Problem | None = None
    try:
        exported = read_library(path, tools).exported
    except ContractError as error:
        problem = error.problem
    assert all(isinstance(name, str) for name in exported)
    if problem is not None:
        assert problem.code == "tool-failed"
        assert "did not finish in time" not in str(problem.got)
