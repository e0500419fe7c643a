"""Documentation pages from doc comments: each public item with its head and what is said of it."""

from __future__ import annotations

from collections.abc import Iterator

from linnet.format.document import layout
from linnet.format.printer import Printer
from linnet.source import SourceFile
from linnet.syntax import parse, tokenize, tree
from linnet.syntax.lexer import Comment


def module_page(file: SourceFile) -> str:
    """Markdown for one module: its text, then its public items in order.

    ValueError with the first error if the file does not parse.
    """
    tokens = tokenize(file)
    parsed = parse(tokens)
    if parsed.errors:
        raise ValueError(f"{file.name}: {parsed.errors[0].message}")
    root = parsed.tree
    lines = [f"## {'.'.join(name.text for name in root.module)}", ""]
    first = file.text.find("module")
    lines += doc_lines(file, root.comments, first)
    for item in root.items:
        if not item.public:
            continue
        lines += ["", f"### `{item.name.text}`", "", "```linnet"]
        lines += head_lines(Printer(tokens.tokens), item)
        lines += ["```", "", *doc_lines(file, root.comments, item.span.start)]
    return "\n".join(lines).rstrip() + "\n"


def doc_lines(file: SourceFile, comments: tuple[Comment, ...], start: int) -> list[str]:
    """The `///` lines that end right before a place."""
    found: list[str] = []
    end = start
    for comment in reversed(comments):
        between = file.text[comment.span.end : end]
        if comment.span.end > end:
            continue
        if between.strip() or between.count("\n") != 1 or not comment.text.startswith("///"):
            break
        found.append(comment.text[3:].strip())
        end = comment.span.start
    return found[::-1]


def head_lines(printer: Printer, item: tree.Item) -> Iterator[str]:
    """An item without its body; a block with its members and the heads of its public methods."""
    text = "\n".join(
        " " * row.indent + "".join(" " if token is None else token for token in row.tokens)
        for row in layout(printer.item(item))
    )
    if isinstance(item, tree.Function):
        yield from body_cut(text)
    elif isinstance(item, tree.BlockItem):
        members = [part for part in item.content if isinstance(part, tree.Member)]
        methods = [p for p in item.content if isinstance(p, tree.Function) and p.public]
        shown = tree.BlockItem(
            item.span, item.public, item.name, item.generics, item.where, tuple(members)
        )
        rows = layout(printer.item(shown))
        lines = [
            " " * row.indent + "".join(" " if t is None else t for t in row.tokens) for row in rows
        ]
        yield from (lines[:-1] if members else [lines[0].removesuffix("}")])
        for method in methods:
            yield ""
            for line in head_lines(printer, method):
                yield f"    {line}" if line else ""
        yield "}"
    else:
        yield from text.split("\n")


def body_cut(text: str) -> list[str]:
    """The lines of a function up to the brace that opens its body."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if line.endswith("{") and not line.startswith("    "):
            last = line[:-1].rstrip()
            return lines[:number] + ([last] if last else [])
    return lines
