"""The order in which definitions are completed, so that none waits for a long chain of others.

Completing a definition completes what it names. A chain of definitions that each name the next one
in the file would nest as deep as the chain is long; completed from its end, it nests not at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from linnet.check.definitions import BlockDef, Definition, FunctionDef
from linnet.source import Span
from linnet.syntax import tree

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def components(items: Iterable[Definition]) -> Iterator[list[Definition]]:
    """The items in groups, each group after those that its declarations name.

    Items of one group name each other, so most groups are one item; no declaration needs what a
    function is. The method is Tarjan's for strongly connected components, without recursion.
    """
    listed = list(items)
    by_name = {item.name: item for item in listed if not isinstance(item, FunctionDef)}
    index: dict[Definition, int] = {}
    lowest: dict[Definition, int] = {}
    waiting: list[Definition] = []
    placed: set[Definition] = set()
    open_: list[tuple[Definition, Iterator[Definition]]] = []

    def start(item: Definition) -> None:
        index[item] = lowest[item] = len(index)
        waiting.append(item)
        open_.append((item, iter(named_by(item, by_name))))

    for first in listed:
        if first not in index:
            start(first)
        while open_:
            item, rest = open_[-1]
            following = next((one for one in rest if one not in placed), None)
            if following is None:
                open_.pop()
                if open_:
                    outer = open_[-1][0]
                    lowest[outer] = min(lowest[outer], lowest[item])
                if lowest[item] == index[item]:
                    group = waiting[waiting.index(item) :] if waiting[-1] is not item else [item]
                    del waiting[-len(group) :]
                    placed.update(group)
                    yield group
            elif following in index:
                lowest[item] = min(lowest[item], index[following])
            else:
                start(following)


def named_by(item: Definition, by_name: Mapping[str, Definition]) -> Iterable[Definition]:
    """The items whose names stand in the declaration of one, whatever they mean there."""
    text = item.scope.file.text
    for span in declaration(item):
        for match in _NAME.finditer(text, span.start, span.end):
            named = by_name.get(match.group())
            if named is not None and named is not item:
                yield named


def declaration(item: Definition) -> list[Span]:
    """Where an item says what it is; the bodies of functions are no part of that."""
    node = getattr(item, "node", None)
    if isinstance(item, FunctionDef):
        return [Span(item.node.span.start, item.node.body.span.start)]
    if isinstance(item, BlockDef) and item.node is not None:
        members = [part.span for part in item.node.content if isinstance(part, tree.Member)]
        first = item.node.content[0].span.start if item.node.content else item.node.span.end
        return [Span(item.node.span.start, first), *members]
    return [node.span] if isinstance(node, tree.Node) else []
