"""Changed programs and bytes: a diagnostic, or a program that lowers, graphs and comes back."""

from __future__ import annotations

import random
import re
from collections import Counter
from functools import cache

from linnet.check import check, check_text
from linnet.format import format_source
from linnet.graph import verify
from linnet.ir import lower, verify_ir
from linnet.ir.passes import Legality, optimize
from linnet.source import SourceFile, decode, render_json, render_text
from linnet.syntax import tokenize
from linnet_helpers.programs import all_programs
from linnet_helpers.trips import graphs, there_and_back

DTYPES = ["bool", "i8", "i32", "i64", "u8", "f16", "bf16", "f32", "f64"]
OPERATORS = ["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "&", "|", "^"]
NUMBERS = ["0", "1", "2", "3", "4", "1.5", "N", "99999999999999999999", "0.0", "1e400"]
INSERTED = ["1 ,", "x ,", "- ", "! ", "* S ,", "... ,", ": ,"]


@cache
def texts() -> list[str]:
    """Every source there is, read once."""
    return all_programs()


@cache
def tokens_of_texts() -> list[list[str]]:
    """The tokens of each source."""
    return [[t.text for t in tokenize(SourceFile("t", p)).tokens[:-1]] for p in texts()]


@cache
def pool() -> list[str]:
    """All tokens there are."""
    return [text for tokens in tokens_of_texts() for text in tokens]


def meaningful(pick: random.Random) -> str:
    """A program with some tokens replaced by others of their kind."""
    tokens = list(pick.choice(tokens_of_texts()))
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
    tokens = list(pick.choice(tokens_of_texts()))
    for _ in range(pick.choice([1, 1, 2, 3, 6])):
        at = pick.randrange(len(tokens) + 1)
        choice = pick.random()
        if choice < 0.4:
            tokens[at : at + 1] = [pick.choice(pool())]
        elif choice < 0.6:
            del tokens[at : at + pick.choice([1, 1, 2, 5])]
        elif choice < 0.85:
            tokens.insert(at, pick.choice(pool()))
        else:
            tokens[at:at] = pick.choice(tokens_of_texts())[: pick.randrange(30)]
    return " ".join(tokens)


def answer(text: str, pick: random.Random) -> Counter[str]:
    """Takes a text through everything that accepts it."""
    program = check_text(text)
    for diagnostic in program.diagnostics:
        shown = render_text(diagnostic)
        assert len(shown.split("\n")) <= 20
    render_json(program.diagnostics)
    format_source(SourceFile("t", text))
    if program.module is None or program.errors:
        return Counter(cases=1)
    module = lower(program.module)
    verify_ir(module)
    optimize(module, pick.choice(list(Legality)), verify_ir)
    first, second = there_and_back(text)
    assert first == second
    made = graphs(program, pick)
    for graph in made.values():
        verify(graph)
    return Counter(cases=1, valid=1, graphs=len(made))


def meaningful_case(seed: int) -> Counter[str]:
    """One program changed where it means something."""
    pick = random.Random(seed)
    return answer(meaningful(pick), pick)


def scrambled_case(seed: int) -> Counter[str]:
    """One program with tokens thrown about."""
    pick = random.Random(seed)
    return answer(scrambled(pick), pick)


def bytes_case(seed: int) -> Counter[str]:
    """One program with bytes changed."""
    pick = random.Random(seed)
    data = bytearray(pick.choice(texts()).encode())
    for _ in range(pick.randrange(1, 8)):
        data[pick.randrange(len(data))] = pick.randrange(256)
    file, wrong = decode(bytes(data), "bytes.linnet")
    for diagnostic in check(file, wrong).diagnostics:
        render_text(diagnostic)
    return Counter(cases=1)
