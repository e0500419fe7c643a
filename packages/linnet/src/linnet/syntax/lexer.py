"""Text to tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from linnet.source import Diagnostic, Mark, SourceFile, Span, clip

# fmt: off
KEYWORDS = frozenset((
    "module", "use", "pub", "crate", "self", "super", "as", "const", "type", "struct", "enum",
    "fn", "op", "block", "entry", "param", "buffer", "state", "sub", "let", "var", "return",
    "if", "else", "match", "static", "for", "in", "while", "where", "true", "false", "none",
    "some", "extern", "kernel", "yield"
))
RESERVED = frozenset((
    "async", "await", "effect", "unsafe", "macro", "trait", "impl", "derive", "rng", "mut",
    "ref", "device"
))
# fmt: on

_NUMBER = re.compile(
    r"0[xX][0-9A-Fa-f]+(?:_[0-9A-Fa-f]+)*"
    r"|0[bB][01]+(?:_[01]+)*"
    r"|(?:0|[1-9][0-9]*(?:_[0-9]+)*)(?P<fraction>\.[0-9]+(?:_[0-9]+)*)?"
    r"(?P<exponent>[eE][+-]?[0-9]+(?:_[0-9]+)*)?"
)
_SCAN = re.compile(
    r"(?P<space>[ \t\r\n]+)"
    r"|(?P<comment>//[^\n]*)"
    r"|(?P<open>/\*)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<number>0[xXbB][A-Za-z0-9_]*|[0-9](?:[eE][+-](?=[0-9])|[A-Za-z0-9_]|\.(?=[0-9]))*)"
    r"|(?P<string>\")"
    r"|(?P<punctuation>\.\.\.|::|\.\.|->|=>|==|!=|<=|>=|&&|\|\||[-+*/%=<>!&|^.,:;?(){}\[\]])"
    r"|(?P<bad>[^\x00-\x7f]+|[\x00-\x7f])"
)
_BLOCK_EDGE = re.compile(r"/\*|\*/")
_STRING = re.compile(r'"(?:[^"\\\n]|\\[^\n])*"')
_ESCAPE = re.compile(r"\\(?:[nrt0\\\"]|u\{([0-9A-Fa-f]{1,6})\})")

NAMES_HELP = "names are ASCII letters, digits and `_`; other characters stand in comments only"
CHARACTER_HELPS = {
    "@": "matrices are multiplied by `std.linalg::matmul`, or by indices: "
    "`let y[i, j] = sum[k] a[i, k] * b[k, j]`",
    "#": "a comment starts with `//`",
    "'": 'a text stands in `"`',
}


class Token(NamedTuple):
    """`kind` is name, keyword, reserved, integer, float, string, punctuation or end."""

    kind: str
    text: str
    span: Span


class Comment(NamedTuple):
    """A comment with its delimiters; documentation starts with `///` or `/**`."""

    text: str
    span: Span


@dataclass(frozen=True)
class TokenList:
    """All tokens of a file, the last of kind `end`; its comments; what was wrong with it."""

    file: SourceFile
    tokens: tuple[Token, ...]
    comments: tuple[Comment, ...]
    errors: tuple[Diagnostic, ...]


def tokenize(file: SourceFile) -> TokenList:
    """Splits a file into tokens and comments. Never fails: bad text is reported and skipped."""
    text = file.text
    tokens: list[Token] = []
    comments: list[Comment] = []
    errors: list[Diagnostic] = []

    def report(code: str, message: str, span: Span, label: str, *helps: str) -> None:
        errors.append(Diagnostic(code, message, Mark(file, span, label), helps=helps))

    at, length = 0, len(text)
    match = _SCAN.match
    while at < length:
        found = match(text, at)
        assert found is not None
        group, start, at = found.lastgroup, at, found.end()
        if group == "space":
            continue
        word = found.group()
        span = Span(start, at)
        if group == "name":
            kind = "keyword" if word in KEYWORDS else "reserved" if word in RESERVED else "name"
            tokens.append(Token(kind, word, span))
        elif group == "punctuation":
            tokens.append(Token("punctuation", word, span))
        elif group == "number":
            tokens.append(_number(word, span, report))
        elif group == "comment":
            comments.append(Comment(word.rstrip(), Span(start, start + len(word.rstrip()))))
        elif group == "open":
            end = _block_end(text, at)
            if end is None:
                report("E1002", "this comment does not end", span, "opened here", "close it: `*/`")
                at = length
            else:
                at = end
                comments.append(Comment(text[start:at], Span(start, at)))
        elif group == "string":
            at = _string(text, start, tokens, report)
        else:
            shown = "NUL" if word == "\0" else f"`{clip(word, 20)}`"
            report(
                "E1001",
                f"unexpected character {shown} (U+{ord(word[0]):04X})",
                span,
                "not part of the language",
                CHARACTER_HELPS.get(word[0], NAMES_HELP),
            )
    tokens.append(Token("end", "", Span(length, length)))
    return TokenList(file, tuple(tokens), tuple(comments), tuple(errors))


def _number(word: str, span: Span, report: _Report) -> Token:
    found = _NUMBER.fullmatch(word)
    if found is None:
        why = "digits follow one `_` at a time"
        if re.match(r"0[0-9_]", word):
            why = "a number does not start with 0"
        elif not re.fullmatch(r"[0-9_.eE+-]+", word):
            why = "a letter is in the number"
        report("E1005", f"`{clip(word)}` is not a number: {why}", span, "bad number")
        return Token("integer", "1", span)
    is_float = found.group("fraction") or found.group("exponent")
    return Token("float" if is_float else "integer", word, span)


def _block_end(text: str, at: int) -> int | None:
    depth = 1
    for edge in _BLOCK_EDGE.finditer(text, at):
        depth += 1 if edge.group() == "/*" else -1
        if depth == 0:
            return edge.end()
    return None


def _string(text: str, start: int, tokens: list[Token], report: _Report) -> int:
    found = _STRING.match(text, start)
    if found is None:
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        report("E1003", "this string does not end on its line", Span(start, end), "opened here")
        tokens.append(Token("string", '""', Span(start, end)))
        return end
    word = found.group()
    rest = _ESCAPE.sub(lambda e: "" if int(e.group(1) or "0", 16) <= 0x10FFFF else "\\", word)
    if "\\" in rest:
        report(
            "E1003",
            "this string has an unknown escape",
            Span(start, found.end()),
            "bad escape",
            'the escapes are \\n \\r \\t \\0 \\\\ \\" and \\u{1 to 6 hexadecimal digits}',
        )
    tokens.append(Token("string", word, Span(start, found.end())))
    return found.end()


class _Report(Protocol):
    """The shape of `tokenize`'s error callback, for type checkers."""

    def __call__(self, code: str, message: str, span: Span, label: str, *helps: str) -> None: ...
