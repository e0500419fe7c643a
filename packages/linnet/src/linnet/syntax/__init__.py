"""Text to tokens to a syntax tree."""

from linnet.syntax.lexer import TokenList, tokenize
from linnet.syntax.parser import Parsed, parse, parse_text

__all__ = ["Parsed", "TokenList", "parse", "parse_text", "tokenize"]
