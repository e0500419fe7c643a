"""Parsing expressions and patterns."""

from __future__ import annotations

from linnet.syntax import tree
from linnet.syntax.cursor import ParseError
from linnet.syntax.types import TypeParser

REDUCTIONS = frozenset(("sum", "prod", "max", "min", "any", "all"))
PRECEDENCE = {
    "||": 1,
    "&&": 2,
    "==": 3,
    "!=": 3,
    "<": 4,
    "<=": 4,
    ">": 4,
    ">=": 4,
    "|": 5,
    "^": 6,
    "&": 7,
    "+": 8,
    "-": 8,
    "*": 9,
    "/": 9,
    "%": 9,
}
ARITHMETIC = 5


class ExpressionParser(TypeParser):
    """The part of the parser that reads expressions. Bodies come from the class built on it."""

    def block(self, context: str) -> tree.Block:
        """Overridden by the statement parser."""
        raise NotImplementedError

    def expression(self) -> tree.Expr:
        """expr = if | match | binary"""
        return self.binary(1)

    def arithmetic(self) -> tree.Expr:
        """arithmetic = binary without comparisons and logical operators"""
        return self.binary(ARITHMETIC)

    def whole_value(self) -> tree.Expr:
        """value = for-loop | expr"""
        if not self.is_("for"):
            return self.expression()
        start = self.advance().span
        counter, first, stop = self.counter_range("in")
        body = self.block("of the loop")
        return tree.ScanExpr(self.since(start), counter, first, stop, body)

    def counter_range(self, word: str) -> tuple[tree.Identifier, tree.Expr, tree.Expr]:
        """range = ID "in" expr ".." expr"""
        counter = self.name("of a loop counter")
        self.expect(word, "after the loop counter")
        first = self.expression()
        self.expect("..", "between the bounds of a loop")
        return counter, first, self.expression()

    def binary(self, least: int) -> tree.Expr:
        """binary = unary {operator unary}, by precedence, left-associative"""
        start = self.current.span
        left = self.unary()
        height = self.height
        while self.current.kind == "punctuation":
            level = PRECEDENCE.get(self.current.text, 0)
            if level < least or level == 0:
                break
            operator = self.advance()
            right = self.binary(level + 1)
            height = max(height, self.height) + 1
            self.grow(height)
            left = tree.Binary(self.since(start), operator.text, left, right)
        self.height = height
        return left

    def unary(self) -> tree.Expr:
        """unary = ["!" | "-" | "+"] postfix"""
        token = self.current
        if token.kind == "punctuation" and token.text in ("!", "-", "+"):
            self.advance()
            if self.current.text in ("!", "-", "+") and self.current.kind == "punctuation":
                raise self.unexpected(
                    "an operand",
                    f"after `{token.text}`",
                    "only one prefix operator may stand before an operand; use parentheses",
                )
            operand = self.postfix()
            self.grow(self.height + 1)
            return tree.Unary(self.since(token.span), token.text, operand)
        return self.postfix()

    def postfix(self) -> tree.Expr:
        """postfix = primary { [gargs] "(" args ")" | "[" comps "]" | "." ID }"""
        start = self.current.span
        found = self.primary()
        height = self.height
        while self.current.kind == "punctuation":
            generics: tuple[tree.GenericArgument, ...] | None = None
            text = self.current.text
            if text == "<":
                generics = self.try_generic_arguments()
                if generics is None:
                    break
                text = "("
            if text == "(":
                arguments = self.arguments()
                span = self.since(start)
                found = tree.Call(span, found, generics, arguments)
            elif text == "[":
                components = self.components()
                found = tree.Index(self.since(start), found, components)
            elif text == ".":
                self.advance()
                self.height = 0
                found = tree.Field(self.since(start), found, self.name("after `.`"))
            else:
                break
            height = max(height, self.height) + 1
            self.grow(height)
        self.height = height
        return found

    def try_generic_arguments(self) -> tuple[tree.GenericArgument, ...] | None:
        """Generic arguments if they parse and `(` follows; otherwise `<` compares."""
        at, depth, height = self.at, self.depth, self.height
        self.speculating += 1
        try:
            found = self.generic_arguments()
            if self.is_("("):
                return found
        except ParseError:
            pass
        finally:
            self.speculating -= 1
        self.at, self.depth, self.height = at, depth, height
        self.current = self.tokens[at]
        return None

    def arguments(self) -> tuple[tree.Argument, ...]:
        """args = [ [ID "="] expr {"," ...} [","] ]"""
        self.enter()
        try:
            self.expect("(", "to open the arguments")
            found: list[tree.Argument] = []
            height = 0
            while not self.is_(")"):
                start = self.current.span
                name = None
                if self.current.kind in ("name", "reserved") and self.ahead().text == "=":
                    name = self.name("of an argument")
                    self.advance()
                value = self.expression()
                height = max(height, self.height)
                found.append(tree.Argument(self.since(start), name, value))
                if not self.accept(","):
                    break
            self.expect(")", "to close the arguments")
            self.height = height
            return tuple(found)
        finally:
            self.leave()

    def components(self) -> tuple[tree.Expr, ...]:
        """comps = comp {"," comp} [","]"""
        self.enter()
        try:
            self.expect("[", "to open the index")
            found = [self.component()]
            height = self.height
            while self.accept(",") and not self.is_("]"):
                found.append(self.component())
                height = max(height, self.height)
            self.expect("]", "to close the index")
            self.height = height
            return tuple(found)
        finally:
            self.leave()

    def component(self) -> tree.Expr:
        """comp = expr | "..." | "*" ID | [expr] ":" [expr] [":" [expr]]"""
        self.height = 0
        start = self.current.span
        if self.accept("..."):
            return tree.Ellipsis(start)
        if self.is_("*"):
            return self.dimension()
        first = None
        if not (self.is_(":") or self.is_("::")):
            first = self.expression()
            if not (self.is_(":") or self.is_("::")):
                return first
        height = self.height
        parts: list[tree.Expr | None] = [first, None, None]
        position = 0
        while position < 2 and (self.is_(":") or (position == 0 and self.is_("::"))):
            position += len(self.advance().text)
            if not (self.is_(",") or self.is_("]") or self.is_(":")):
                parts[position] = self.expression()
                height = max(height, self.height)
        self.height = height
        return tree.Slice(self.since(start), *parts)

    def primary(self) -> tree.Expr:
        """primary = literal | ID | paren | tuple | list | some | none | reduction"""
        token = self.current
        self.height = 1
        kind, text = token.kind, token.text
        if kind == "name":
            if text in REDUCTIONS and self.reduction_follows():
                return self.reduction()
            self.advance()
            return tree.Name(token.span, text)
        if kind == "integer":
            self.advance()
            return tree.IntLiteral(token.span, text, int_value(text))
        if kind == "float":
            self.advance()
            return tree.FloatLiteral(token.span, text, float(text.replace("_", "")))
        if kind == "string":
            raise self.unexpected("an expression", "here", "no expression has a string value")
        if kind == "reserved":
            self.report_reserved(token)
            self.advance()
            return tree.Name(token.span, text)
        self.enter()
        try:
            return self.compound()
        finally:
            self.leave()

    def compound(self) -> tree.Expr:
        """The primaries that hold others."""
        if self.is_("for"):
            self.report(
                "E1101",
                "expected an expression here, found the keyword `for`",
                self.current.span,
                "expected an expression",
                "a loop is a value only by itself: name it with `let`",
            )
            return self.whole_value()
        token = self.current
        text = token.text
        if token.kind == "punctuation":
            if text == "(":
                return self.parenthesized()
            if text == "[":
                return self.list()
        elif token.kind == "keyword":
            if text in ("true", "false"):
                self.advance()
                return tree.BoolLiteral(token.span, text == "true")
            if text == "none":
                self.advance()
                return tree.NoneLiteral(token.span)
            if text == "some":
                self.advance()
                self.expect("(", "after `some`")
                inner = self.expression()
                self.expect(")", "to close `some(`")
                self.height += 1
                return tree.SomeExpr(self.since(token.span), inner)
            if text == "if":
                return self.if_expression()
            if text == "match":
                return self.match_expression()
            if text == "for":
                raise self.unexpected(
                    "an expression",
                    "here",
                    "a loop is a value only as the whole right side of `let`, `var`, `=` or "
                    "`return`",
                )
        if text == "self" and token.kind == "keyword":
            advice = "members and methods of the own block are named alone, without `self.`"
            raise self.unexpected("an expression", "here", advice)
        raise self.unexpected("an expression", "here")

    def parenthesized(self) -> tree.Expr:
        """paren = "(" expr ")"; tuple = "(" expr "," [ expr {"," expr} [","] ] ")" """
        start = self.advance().span
        first = self.expression()
        height = self.height
        if self.accept(")"):
            self.height = height + 1
            return tree.Paren(self.since(start), first)
        items = [first]
        if not self.is_(","):
            raise self.unexpected("`)` or `,`", "in parentheses")
        while self.accept(",") and not self.is_(")"):
            items.append(self.expression())
            height = max(height, self.height)
        self.expect(")", "to close the tuple")
        self.height = height + 1
        return tree.TupleExpr(self.since(start), tuple(items))

    def list(self) -> tree.Expr:
        """list = "[" [ dim {"," dim} [","] ] "]" """
        start = self.advance().span
        items: list[tree.Expr] = []
        height = 0
        while not self.is_("]"):
            self.height = 1
            items.append(self.dimension() if self.is_("*") else self.expression())
            height = max(height, self.height)
            if not self.accept(","):
                break
        self.expect("]", "to close the list")
        self.height = height + 1
        return tree.ListExpr(self.since(start), tuple(items))

    def if_expression(self) -> tree.Expr:
        """if = "if" expr "{" expr "}" "else" "{" expr "}" """
        start = self.advance().span
        condition = self.expression()
        height = self.height
        self.expect("{", "after the condition")
        then = self.expression()
        height = max(height, self.height)
        self.expect("}", "after the value of `if`")
        self.expect("else", "after `if`: it is a value, so both cases have one")
        if self.is_("if"):
            raise self.unexpected(
                "`{`", "after `else`", "write `else { if ... { ... } else { ... } }`"
            )
        self.expect("{", "after `else`")
        other = self.expression()
        self.expect("}", "after the value of `else`")
        self.height = max(height, self.height) + 1
        return tree.IfExpr(self.since(start), condition, then, other)

    def match_expression(self) -> tree.Expr:
        """match = "match" expr "{" { pattern "=>" expr } "}" """
        start = self.advance().span
        subject = self.expression()
        height = self.height
        self.expect("{", "after the subject of `match`")
        arms: list[tree.MatchArm] = []
        while not self.is_("}"):
            if self.is_("("):
                raise self.unexpected(
                    "a pattern", "to start an arm", "an arm cannot start with `(`"
                )
            at = self.current.span
            pattern = self.pattern()
            self.expect("=>", "after the pattern")
            value = self.expression()
            height = max(height, self.height)
            arms.append(tree.MatchArm(self.since(at), pattern, value))
        self.advance()
        self.height = height + 1
        return tree.MatchExpr(self.since(start), subject, tuple(arms))

    def reduction_follows(self) -> bool:
        """Whether `sum` and its like open a reduction here rather than name something.

        A value of that name may be indexed, but not by bare names alone.
        """
        after = self.ahead()
        if after.text == "[" and after.kind == "punctuation":
            count = 2
            while self.ahead(count).kind == "name" or self.ahead(count).text in ("*", ","):
                count += 1
            return self.ahead(count).text == "]"
        return (
            after.text == "<"
            and self.ahead(2).kind == "name"
            and self.ahead(3).text == ">"
            and self.ahead(4).text == "["
        )

    def reduction(self) -> tree.Expr:
        """reduction = kind ["<" dtype ">"] "[" index {"," index} [","] "]" expr"""
        start = self.current.span
        self.enter()
        try:
            kind = self.advance().text
            dtype: tree.TypeExpr | None = None
            if self.accept("<"):
                dtype = self.type()
                self.expect(">", "after the dtype of a reduction")
            self.expect("[", f"after `{kind}`")
            indices = self.index_names()
            body = self.expression()
            self.height += 1
            return tree.Reduction(self.since(start), kind, dtype, indices, body)
        finally:
            self.leave()

    def index_names(self) -> tuple[tree.IndexName, ...]:
        """indices = ["*"] ID {"," ["*"] ID} [","] "]" """
        found: list[tree.IndexName] = []
        while True:
            start = self.current.span
            pack = self.accept("*") is not None
            name = self.name("of an index")
            found.append(tree.IndexName(self.since(start), name.text, pack))
            if not self.accept(",") or self.is_("]"):
                break
        self.expect("]", "to close the indices")
        return tuple(found)

    def pattern(self) -> tree.Pattern:
        """pattern = ID | "none" | "some" "(" pattern ")" | "(" pattern {"," pattern} [","] ")" """
        start = self.current.span
        self.enter()
        try:
            if self.accept("none"):
                return tree.NonePattern(start)
            if self.accept("some"):
                self.expect("(", "after `some`")
                inner = self.pattern()
                self.expect(")", "to close `some(`")
                return tree.SomePattern(self.since(start), inner)
            if self.accept("("):
                items = [self.pattern()]
                while self.accept(",") and not self.is_(")"):
                    items.append(self.pattern())
                self.expect(")", "to close the pattern")
                return tree.TuplePattern(self.since(start), tuple(items))
            name = self.name("in a pattern")
            return tree.NamePattern(name.span, name.text)
        finally:
            self.leave()


def int_value(text: str) -> int:
    """The number an integer token means. Longer ones than any dtype holds stay out of range."""
    digits = text.replace("_", "")
    if digits[:2] in ("0x", "0X"):
        return int(digits, 16)
    if digits[:2] in ("0b", "0B"):
        return int(digits, 2)
    # Python refuses to convert thousands of digits; no dtype holds more than twenty.
    return int(digits) if len(digits) <= 400 else 10**400
