"""Programs in other layouts, and what the formatter must keep."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache

from linnet.format import format_text
from linnet.source import SourceFile
from linnet.syntax import parse_text, tokenize
from linnet.syntax.tree import same_tree
from linnet_helpers.fuzzing.grammar import program
from linnet_helpers.programs import all_programs


@cache
def programs() -> list[str]:
    """Every source there is, read once."""
    return all_programs()


def assert_invariants(text: str) -> str:
    """Formats; the tree and the comments stay, and formatting again changes nothing."""
    once = format_text(text)
    before, after = parse_text(text), parse_text(once)
    assert not after.errors
    assert same_tree(before.tree, after.tree)
    assert comments(before.tree.comments) == comments(after.tree.comments)
    assert format_text(once) == once
    assert once.endswith("\n")
    assert not once.endswith("\n\n")
    assert "\n\n\n" not in once
    assert all(line == line.rstrip() for line in once.split("\n"))
    return once


def comments(found: object) -> list[str]:
    """The texts of comments without the spaces at line ends."""
    texts = [comment.text for comment in found]  # type: ignore[attr-defined]  # comments of a tree
    return sorted("\n".join(line.rstrip() for line in text.split("\n")) for text in texts)


def shaken(text: str, seed: int) -> str:
    """The same tokens with other white space and with comments anywhere between them."""
    pick = random.Random(seed)
    tokens = tokenize(SourceFile("t", text)).tokens
    parts: list[str] = []
    gaps = [
        " ",
        " ",
        " ",
        "\n",
        "\n\n\n",
        "\t",
        " \r\n ",
        " // c\n",
        "/* b */ ",
        "\n// own\n",
        "\n/*\n x\n*/\n",
    ]
    weights = [30, 10, 10, 10, 4, 2, 2, pick.choice([0, 1, 3]), pick.choice([0, 1]), 1, 0.3]
    for token in tokens:
        parts += [token.text, pick.choices(gaps, weights)[0]]
    return "".join(parts)


def other_layout(seed: int) -> Counter[str]:
    """A program of ours, shaken."""
    text = shaken(programs()[seed % len(programs())], seed)
    if parse_text(text).errors:
        return Counter(cases=1)  # a line comment in the wrong place swallowed something
    assert_invariants(text)
    return Counter(cases=1, kept=1)


def generated(seed: int) -> Counter[str]:
    """A program made from the grammar, shaken half of the time."""
    text = program(random.Random(seed))
    errors = parse_text(text).errors
    assert not errors, f"{errors[0].message}\n{text}"
    assert_invariants(text)
    if seed % 2:
        other = shaken(text, seed)
        if not parse_text(other).errors:
            assert_invariants(other)
    return Counter(cases=1)
