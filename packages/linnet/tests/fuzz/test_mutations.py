"""Mutated programs and bytes: a diagnostic or a graph, never a traceback."""

from __future__ import annotations

import random
import re

from linnet_helpers.programs import all_programs
from linnet_helpers.share import seeds

from linnet.check import CheckedProgram, check, check_text
from linnet.check.definitions import BlockDef
from linnet.format import format_source
from linnet.graph import verify
from linnet.graph.binding import entries, graph_for
from linnet.graph.bound import BindingError
from linnet.ir import lower
from linnet.source import SourceFile, decode, render_json, render_text
from linnet.syntax import tokenize

TOKENS = [[t.text for t in tokenize(SourceFile("t", p)).tokens[:-1]] for p in all_programs()]
POOL = [text for tokens in TOKENS for text in tokens]
DTYPES = ["bool", "i8", "i32", "i64", "u8", "f16", "bf16", "f32", "f64"]
OPERATORS = ["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "&", "|", "^"]
NUMBERS = ["0", "1", "2", "3", "4", "1.5", "N", "99999999999999999999", "0.0", "1e400"]
INSERTED = ["1 ,", "x ,", "- ", "! ", "* S ,", "... ,", ": ,"]


def meaningful(pick: random.Random) -> str:
    """A program with some tokens replaced by others of their kind."""
    tokens = list(pick.choice(TOKENS))
    names = [t for t in tokens if re.match(r"[A-Za-z_]", t)]
    for _ in range(pick.choice([0, 1, 1, 1, 2, 3])):
        at = pick.randrange(len(tokens))
        token = tokens[at]
        if token in DTYPES:
            tokens[at] = pick.choice(DTYPES)
        elif re.match(r"[A-Za-z_]", token):
            tokens[at] = pick.choice([*names, "x", "min", "cast", "select", "none", "true"])
        elif re.match(r"\d", token):
            tokens[at] = pick.choice(NUMBERS)
        elif token in OPERATORS:
            tokens[at] = pick.choice(OPERATORS)
        elif token in "[(":
            tokens.insert(at + 1, pick.choice(INSERTED))
        else:
            del tokens[at]
    return " ".join(tokens)


def scrambled(pick: random.Random) -> str:
    """A program with tokens of any kind changed, dropped, added, exchanged."""
    tokens = list(pick.choice(TOKENS))
    for _ in range(pick.choice([1, 1, 2, 3, 6])):
        at = pick.randrange(len(tokens) + 1)
        choice = pick.random()
        if choice < 0.4:
            tokens[at : at + 1] = [pick.choice(POOL)]
        elif choice < 0.6:
            del tokens[at : at + pick.choice([1, 1, 2, 5])]
        elif choice < 0.85:
            tokens.insert(at, pick.choice(POOL))
        else:
            tokens[at:at] = pick.choice(TOKENS)[: pick.randrange(30)]
    return " ".join(tokens)


def answer(text: str, pick: random.Random) -> None:
    """Takes a text through everything that accepts it."""
    program = check_text(text)
    for diagnostic in program.diagnostics:
        shown = render_text(diagnostic)
        assert len(shown.split("\n")) <= 20
    render_json(program.diagnostics)
    format_source(SourceFile("t", text))
    if program.module is not None and not program.errors:
        lower(program.module)
        make_graphs(program, pick)


def make_graphs(program: CheckedProgram, pick: random.Random) -> None:
    """Graphs of all entries at some sizes."""
    module = program.ensure_valid()

    def value(kind: str) -> object:
        sizes = {"Dim": pick.choice([1, 2, 4, 6]), "Shape": (pick.choice([1, 2]),)}
        return sizes.get(kind, "i32" if kind == "Integer" else "f32")

    blocks = [item for item in module.items if isinstance(item, BlockDef)]
    for block in (None, *blocks):
        for entry in entries(module, block):
            try:
                graph = graph_for(
                    program,
                    entry.name,
                    None,
                    root=block.name if block else None,
                    generics={g.name: value(g.kind) for g in (block.generics if block else ())},
                    entry_generics={g.name: value(g.kind) for g in entry.generics},
                )
            except BindingError:
                continue
            verify(graph)


def test_meaningful_mutations() -> None:
    for seed in seeds(25_000):
        pick = random.Random(seed)
        answer(meaningful(pick), pick)


def test_scrambled_programs() -> None:
    for seed in seeds(15_000):
        pick = random.Random(seed)
        answer(scrambled(pick), pick)


def test_bytes() -> None:
    for seed in seeds(10_000):
        pick = random.Random(seed)
        data = bytearray(pick.choice(all_texts()).encode())
        for _ in range(pick.randrange(1, 8)):
            data[pick.randrange(len(data))] = pick.randrange(256)
        file, wrong = decode(bytes(data), "bytes.linnet")
        for diagnostic in check(file, wrong).diagnostics:
            render_text(diagnostic)


def all_texts() -> list[str]:
    """Sources as text, read once."""
    if not _TEXTS:
        _TEXTS.extend(all_programs())
    return _TEXTS


_TEXTS: list[str] = []
