"""Programs in other layouts, and what the formatter must keep."""

from __future__ import annotations

import random

from linnet.format import format_text
from linnet.source import SourceFile
from linnet.syntax import parse_text, tokenize
from linnet.syntax.tree import same_tree


def assert_invariants(text: str) -> str:
    once = format_text(text)
    before, after = parse_text(text), parse_text(once)
    assert not after.errors
    assert same_tree(before.tree, after.tree)
    assert len(before.tree.comments) == len(after.tree.comments)
    assert format_text(once) == once
    assert once.endswith("\n")
    assert not once.endswith("\n\n")
    assert "\n\n\n" not in once
    assert all(line == line.rstrip() for line in once.split("\n"))
    return once


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
