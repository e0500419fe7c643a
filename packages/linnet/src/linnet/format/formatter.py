"""One layout for all sources: tokens and comments stay, white space is decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from linnet.format.document import STEP, Row, layout
from linnet.format.printer import Printer
from linnet.source import Diagnostic, Mark, SourceFile
from linnet.source.recursion import deep_recursion
from linnet.syntax import parse, tokenize, tree
from linnet.syntax.lexer import Comment, Token


@dataclass(frozen=True)
class Formatted:
    """The new text, or the errors because of which there is none."""

    text: str | None
    errors: tuple[Diagnostic, ...]


def format_source(file: SourceFile) -> Formatted:
    """Formats a file; a file with syntax errors is left alone."""
    tokens = tokenize(file)
    parsed = parse(tokens)
    if parsed.errors:
        return Formatted(None, parsed.errors)
    kernel = next((i for i in parsed.tree.items if isinstance(i, tree.Kernel)), None)
    if kernel is not None:
        mark = Mark(file, kernel.name.span, "not implemented")
        message = "formatting tile kernels is not implemented yet"
        return Formatted(None, (Diagnostic("E2190", message, mark),))
    with deep_recursion():
        rows = layout(Printer(tokens.tokens).file(parsed.tree))
    return Formatted(_Weaver(file, tokens.tokens, tokens.comments, rows).text(), ())


def format_text(text: str) -> str:
    """Formats text that is known to parse; ValueError with the first error if it does not."""
    found = format_source(SourceFile("text.linnet", text))
    if found.text is None:
        raise ValueError(f"{found.errors[0].code}: {found.errors[0].message}")
    return found.text


@dataclass
class _Place:
    """Comments before a row, each with whether a blank line stood before it; and after it."""

    above: list[tuple[bool, str]] = field(default_factory=list)
    behind: list[str] = field(default_factory=list)
    blank: bool = False


class _Weaver:
    """Puts comments and blank lines between rows of tokens.

    A comment goes to the line boundary that follows it: behind the row that ends there if it stood
    on the same line as the token before it, or if the row runs on past it; else on lines of its
    own.
    """

    def __init__(
        self,
        file: SourceFile,
        tokens: Sequence[Token],
        comments: Sequence[Comment],
        rows: list[Row],
    ) -> None:
        self.file = file
        self.source = tokens
        self.comments = comments
        self.rows = rows
        self.places = [_Place() for _ in range(len(rows) + 1)]

    def text(self) -> str:
        """The whole file."""
        self.align()
        lines: list[str] = []
        for number, row in enumerate(self.rows):
            place = self.places[number]
            self.add_above(lines, number, row)
            shown = "".join(" " if token is None else token for token in row.tokens).rstrip()
            behind = "".join(f" {comment}" for comment in place.behind)
            lines.append(f"{' ' * row.indent}{shown}{behind}".rstrip())
        for blank, comment in self.places[-1].above:
            lines += [""] if blank and lines else []
            lines += comment.split("\n")
        return "\n".join(lines) + "\n"

    def add_above(self, lines: list[str], number: int, row: Row) -> None:
        """Blank lines and comments before a row."""
        place = self.places[number]
        first = row.tokens[0] if row.tokens else None
        closing = first in ("}", ")", "]", ">")
        opened = not lines or lines[-1].rstrip().endswith(("{", "(", "["))
        indent = " " * (row.indent + (STEP if closing else 0))
        forced = row.separation == "force"
        for position, (blank, comment) in enumerate(place.above):
            wanted = blank or (forced and position == 0)
            if wanted and not (position == 0 and opened):
                lines.append("")
            # The lines inside a block comment are the author's drawing and stay as they are.
            lines += f"{indent}{comment}".split("\n")
        keep = row.separation in ("keep", "force") and place.blank
        if place.above:
            if keep and not closing:
                lines.append("")
        elif (keep or forced) and not opened and not closing:
            lines.append("")

    def align(self) -> None:
        """Finds the row of each source token, then gives each comment its place."""
        where: list[int] = []
        at = 0
        for number, row in enumerate(self.rows):
            for token in row.tokens:
                if token is None:
                    continue
                while self.source[at].text == "," and token != ",":
                    where.append(number)
                    at += 1
                if self.source[at].text != token:
                    assert token == ",", (token, self.source[at])
                    continue
                where.append(number)
                at += 1
        while self.source[at].kind != "end":
            assert self.source[at].text == ","
            where.append(len(self.rows) - 1)
            at += 1
        where.append(len(self.rows))
        self.place_comments(where)
        self.find_blanks(where)

    def place_comments(self, where: list[int]) -> None:
        """Each comment between two tokens goes behind a row or above one."""
        following = 0
        for comment in self.comments:
            while self.source[following].span.start < comment.span.start:
                following += 1
            row = where[following - 1] if following else -1
            next_row = where[following]
            start = self.file.position(comment.span.start).line
            before = self.source[following - 1].span.end if following else 0
            same_line = bool(following) and self.file.position(before).line == start
            shown = self.clean(comment)
            inside = row == next_row
            target = self.places[row] if row >= 0 else None
            free = target is not None and not (target.behind and target.behind[-1].startswith("//"))
            later = self.places[row + 1].above if row + 1 < len(self.places) else []
            if target and (inside or same_line) and free and not later and "\n" not in shown:
                target.behind.append(shown)
            else:
                place = self.places[next_row if not inside else row + 1]
                place.above.append((self.blank_before(comment.span.start), shown))

    def clean(self, comment: Comment) -> str:
        """The comment without carriage returns and spaces at line ends."""
        return "\n".join(line.rstrip() for line in comment.text.split("\n"))

    def blank_before(self, offset: int) -> bool:
        """Whether an empty line stands right before a place."""
        text = self.file.text
        line_start = text.rfind("\n", 0, offset) + 1
        if text[line_start:offset].strip():
            return False
        return text[:line_start].rstrip(" \t\r\n").count("\n") + 1 < text.count("\n", 0, line_start)

    def find_blanks(self, where: list[int]) -> None:
        """Notes rows before whose first token an empty line stood."""
        seen = -1
        for position, number in enumerate(where[:-1]):
            if number != seen:
                seen = number
                self.places[number].blank = self.blank_before(self.source[position].span.start)
