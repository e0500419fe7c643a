"""The parser's walk over tokens: looking, taking, reporting, recovering."""

from __future__ import annotations

from linnet.source import Diagnostic, Mark, Span, clip
from linnet.syntax.lexer import Token, TokenList
from linnet.syntax.tree import Identifier

DEPTH = 256

# fmt: off
ITEM_STARTS = frozenset((
    "module", "use", "pub", "const", "type", "struct", "enum", "fn", "op", "block", "entry",
    "kernel"
))
STATEMENT_STARTS = frozenset((
    "let", "var", "return", "static", "for", "while", "yield"
))
MEMBER_STARTS = frozenset((
    "param", "sub", "buffer", "state"
))
# fmt: on


class ParseError(Exception):
    """Leaves the construct being parsed; the error is already reported unless speculating."""


class Cursor:
    """A position in a token list.

    `height` is the height of the expression parsed last: with `depth`, the number of constructs
    around the position, it keeps every tree within `DEPTH`, however a chain leans.
    """

    def __init__(self, tokens: TokenList) -> None:
        self.file = tokens.file
        self.tokens = tokens.tokens
        self.at = 0
        self.depth = 0
        self.height = 0
        self.speculating = 0
        self.errors: list[Diagnostic] = []
        self.abandoned = False
        self._reported: set[int] = set()
        self.current = self.tokens[0]

    # Looking

    def ahead(self, count: int = 1) -> Token:
        """The token `count` places on; the last token repeats."""
        return self.tokens[min(self.at + count, len(self.tokens) - 1)]

    def is_(self, text: str) -> bool:
        """Whether the current token is this keyword or punctuation."""
        token = self.current
        return token.text == text and token.kind in ("punctuation", "keyword")

    def is_name(self, text: str | None = None) -> bool:
        """Whether the current token is a name, or this name."""
        token = self.current
        return token.kind == "name" and (text is None or token.text == text)

    # Taking

    def advance(self) -> Token:
        """Takes the current token."""
        token = self.current
        if token.kind != "end":
            self.at += 1
            self.current = self.tokens[self.at]
        return token

    def accept(self, text: str) -> Token | None:
        """Takes the current token if it is `text`."""
        return self.advance() if self.is_(text) else None

    def expect(self, text: str, context: str) -> Token:
        """Takes `text` or reports that it is missing."""
        if self.is_(text):
            return self.advance()
        raise self.unexpected(f"`{text}`", context)

    def name(self, what: str) -> Identifier:
        """Takes a name; a reserved word is reported and taken as one."""
        token = self.current
        if token.kind == "reserved":
            self.report_reserved(token)
        elif token.kind != "name":
            raise self.unexpected("a name", what)
        self.advance()
        return Identifier(token.span, token.text)

    def since(self, start: Span) -> Span:
        """From `start` to the end of the token taken last."""
        return Span(start.start, self.tokens[self.at - 1].span.end)

    # Reporting

    def report(self, code: str, message: str, span: Span, label: str = "", *helps: str) -> None:
        """Records an error, at most one per token."""
        if self.speculating:
            raise ParseError
        if span.start not in self._reported and not self.abandoned:
            self._reported.add(span.start)
            self.errors.append(Diagnostic(code, message, Mark(self.file, span, label), helps=helps))

    def report_reserved(self, token: Token) -> None:
        """E1004."""
        self.report(
            "E1004",
            f"`{token.text}` is a reserved word and cannot be a name",
            token.span,
            "reserved",
            f"call it something else, such as `{token.text}_`",
        )

    def unexpected(self, wanted: str, context: str, *helps: str) -> ParseError:
        """E1101, to be raised: `wanted` should stand here."""
        if not self.speculating:
            self.report(
                "E1101",
                f"expected {wanted} {context}, found {describe(self.current)}",
                self.current.span,
                f"expected {wanted}",
                *helps,
            )
        return ParseError()

    def too_deep(self, span: Span) -> ParseError:
        """E1101, to be raised: the nesting or a chain of operators is deeper than the language
        allows. It ends the parse.
        """
        self.report(
            "E1101",
            f"nested or chained deeper than {DEPTH} levels",
            span,
            "too deep",
            "name parts of it with `let`",
        )
        # Inside such text no later error means anything.
        self.at = len(self.tokens) - 1
        self.current = self.tokens[self.at]
        self.abandoned = True
        return ParseError()

    def enter(self) -> None:
        """Goes one construct deeper; every call needs a `leave`."""
        self.depth += 1
        if self.depth > DEPTH:
            self.depth -= 1
            raise self.too_deep(self.current.span)

    def leave(self) -> None:
        """Comes back from `enter`."""
        self.depth -= 1

    def grow(self, height: int) -> None:
        """Sets the height of the expression just made."""
        if height + self.depth > DEPTH:
            raise self.too_deep(self.current.span)
        self.height = height

    # Recovering

    def skip_to(self, starts: frozenset[str], closing: bool) -> None:
        """Skips to a token in `starts` or, if `closing`, to the `}` of the construct around."""
        depth = 0
        while self.current.kind != "end":
            token = self.current
            if token.kind == "keyword" and token.text in starts and depth <= 0:
                return
            if token.kind == "punctuation":
                if token.text == "{":
                    depth += 1
                elif token.text == "}":
                    if depth == 0 and closing:
                        return
                    depth = max(0, depth - 1)
            self.advance()


def describe(token: Token) -> str:
    """A token in the words of a message."""
    if token.kind == "end":
        return "the end of the file"
    if token.kind in ("keyword", "reserved"):
        return f"the keyword `{token.text}`"
    return f"`{clip(token.text, 40)}`"
