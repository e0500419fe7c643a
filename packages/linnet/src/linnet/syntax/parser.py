"""Tokens to a syntax tree, with recovery: an error ends its statement or item, not the parse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from linnet.source import Diagnostic, SourceFile, Span
from linnet.source.recursion import deep_recursion
from linnet.syntax import tree
from linnet.syntax.cursor import ITEM_STARTS, MEMBER_STARTS, STATEMENT_STARTS, ParseError
from linnet.syntax.expressions import ExpressionParser
from linnet.syntax.lexer import TokenList, tokenize

INSIDE_BLOCK = ITEM_STARTS - {"module", "use"} | MEMBER_STARTS
INSIDE_BODY = STATEMENT_STARTS | ITEM_STARTS


# What readers of other languages try, and what is written here.
STATEMENT_HELPS = {
    "if": "`if` is a value: `y = if c { a } else { b }`",
    "match": "`match` is a value: `let y = match x { ... }`",
    ";": "a statement ends where the next begins: leave `;` out",
}
ITEM_HELPS = {
    "import": "modules are imported by `use`: `use std.nn.linear::{Linear}`",
    "from": "modules are imported by `use`: `use std.nn.linear::{Linear}`",
    "def": "a function is a `fn`, or an `entry` where it is run from outside",
    "func": "a function is a `fn`, or an `entry` where it is run from outside",
    "class": "a module with weights is a `block`",
}


@dataclass(frozen=True)
class Parsed:
    """A tree and what was wrong with the text; the tree covers what could be read."""

    tree: tree.File
    errors: tuple[Diagnostic, ...]


def parse(tokens: TokenList) -> Parsed:
    """Reads a whole file. Never fails: problems are in `errors`, the lexer's included."""
    parser = Parser(tokens)
    with deep_recursion():
        file = parser.parse_file()
    # What the lexer skipped makes the parser stumble; only the cause is worth reporting.
    return Parsed(file, tokens.errors or tuple(parser.errors))


def parse_text(text: str, name: str = "text.linnet") -> Parsed:
    """Tokenizes and parses `text`."""
    return parse(tokenize(SourceFile(name, text)))


class Parser(ExpressionParser):
    """Reads statements, items and files."""

    def __init__(self, tokens: TokenList) -> None:
        super().__init__(tokens)
        self._generic_lists = {}
        self._comments = tokens.comments

    def parse_file(self) -> tree.File:
        """file = "module" path {use} {item}"""
        module = self.module_line()
        uses: list[tree.Use] = []
        items: list[tree.Item] = []
        while self.current.kind != "end":
            start = self.at
            try:
                if self.is_("use"):
                    if items:
                        self.report(
                            "E1101",
                            "`use` stands before all items",
                            self.current.span,
                            "move it up",
                        )
                    uses.append(self.use())
                else:
                    items.append(self.item())
            except ParseError:
                self.recover(start, ITEM_STARTS, closing=False)
        span = Span(0, len(self.file.text))
        return tree.File(span, self.file, module, tuple(uses), tuple(items), self._comments)

    def module_line(self) -> tuple[tree.Identifier, ...]:
        """module = "module" ID {"." ID}"""
        if not self.is_("module"):
            self.report(
                "E1102",
                "a file starts with its `module` line",
                self.current.span,
                "expected `module NAME`",
                "add a line such as `module model` at the top",
            )
            return ()
        self.advance()
        try:
            return self.path("of the module")
        except ParseError:
            self.skip_to(ITEM_STARTS, closing=False)
            return ()

    def recover(self, start: int, starts: frozenset[str], closing: bool) -> None:
        """Goes to where the next construct may start, at least one token further."""
        self.depth = self.depth if closing else 0
        if self.at == start:
            self.advance()
        self.skip_to(starts, closing)

    def path(self, what: str) -> tuple[tree.Identifier, ...]:
        """path = ID {"." ID}"""
        names = [self.name(what)]
        while self.accept("."):
            names.append(self.name(f"{what} after `.`"))
        return tuple(names)

    def use(self) -> tree.Use:
        """use = "use" path [ "::" ( ID | "{" ID ["as" ID] {"," ...} [","] "}" ) ]"""
        start = self.advance().span
        names: list[tree.Identifier] = []
        token = self.current
        if token.kind == "keyword" and token.text in ("self", "super", "extern"):
            self.report(
                "E1103",
                f"`{token.text}` imports are reserved syntax",
                token.span,
                "reserved",
                "a path starts with `std`, `crate` or a dependency's name",
            )
            raise ParseError
        if token.kind == "keyword" and token.text == "crate":
            self.advance()
            names.append(tree.Identifier(token.span, "crate"))
            if self.accept("."):
                names += self.path("of a module")
        else:
            names += self.path("of a module")
        items: list[tree.Imported] | None = None
        braced = False
        if self.accept("::"):
            items = []
            if self.accept("{"):
                braced = True
                while not self.is_("}"):
                    items.append(self.imported())
                    if not self.accept(","):
                        break
                self.expect("}", "to close the imports")
            else:
                items.append(self.imported())
        listed = None if items is None else tuple(items)
        return tree.Use(self.since(start), tuple(names), listed, braced)

    def imported(self) -> tree.Imported:
        """imported = ID ["as" ID]"""
        start = self.current.span
        name = self.name("of an import")
        alias = self.name("after `as`") if self.accept("as") else None
        return tree.Imported(self.since(start), name, alias)

    def item(self) -> tree.Item:
        """item = ["pub"] ( const | alias | struct | enum | fn | op | entry | kernel | block )"""
        start = self.current.span
        if self.is_("extern"):
            self.report("E1103", "`extern` is reserved syntax", start, "reserved")
            raise ParseError
        public = self.accept("pub") is not None
        readers: dict[str, Callable[[Span, bool], tree.Item]] = {
            "const": self.const,
            "type": self.alias,
            "struct": self.struct,
            "enum": self.enum,
            "fn": self.function,
            "op": self.function,
            "entry": self.function,
            "kernel": self.kernel,
            "block": self.block_item,
        }
        token = self.current
        if token.kind != "keyword" or token.text not in readers:
            if public and token.text in MEMBER_STARTS:
                raise self.unexpected(
                    "an item", "after `pub`", "members of a block are never `pub`"
                )
            starts = f"an item starts with {', '.join(readers)}"
            raise self.unexpected("an item", "here", ITEM_HELPS.get(token.text, starts))
        self.enter()
        try:
            return readers[token.text](start, public)
        finally:
            self.leave()

    def const(self, start: Span, public: bool) -> tree.Const:
        """const = "const" ID [":" type] "=" expr"""
        self.advance()
        name = self.name("of a constant")
        type_ = self.type() if self.accept(":") else None
        self.expect("=", "after the name of a constant")
        value = self.expression()
        return tree.Const(self.since(start), public, name, type_, value)

    def alias(self, start: Span, public: bool) -> tree.Alias:
        """alias = "type" ID [gens] "=" type"""
        self.advance()
        name = self.name("of a type")
        generics = self.generics()
        self.expect("=", "after the name of a type")
        target = self.type()
        return tree.Alias(self.since(start), public, name, generics, target)

    def struct(self, start: Span, public: bool) -> tree.Struct:
        """struct = "struct" ID [gens] "{" { ID ":" type } "}" """
        self.advance()
        name = self.name("of a struct")
        generics = self.generics()
        self.expect("{", "to open the struct")
        fields: list[tree.StructField] = []
        while not self.is_("}"):
            if self.is_(","):
                raise self.unexpected(
                    "a field", "here", "fields stand on lines of their own, no commas"
                )
            at = self.current.span
            field = self.name("of a field")
            self.expect(":", f"after the field `{field.text}`")
            type_ = self.type()
            fields.append(tree.StructField(self.since(at), field, type_))
        self.advance()
        return tree.Struct(self.since(start), public, name, generics, tuple(fields))

    def enum(self, start: Span, public: bool) -> tree.Enum:
        """enum = "enum" ID "{" ID {"," ID} [","] "}" """
        self.advance()
        name = self.name("of an enum")
        self.expect("{", "to open the enum")
        variants: list[tree.Identifier] = []
        while not self.is_("}"):
            variants.append(self.name("of a variant"))
            if self.is_("(") or self.is_("{"):
                self.report(
                    "E1103",
                    "variants that carry data are reserved syntax",
                    self.current.span,
                    "reserved",
                    "an enum's variants are names alone",
                )
                raise ParseError
            if not self.accept(","):
                break
        self.expect("}", "to close the enum")
        return tree.Enum(self.since(start), public, name, tuple(variants))

    def function(self, start: Span, public: bool) -> tree.Function:
        """fn = ("fn"|"op"|"entry") ID [gens] params ["->" type] [kernel] [where] body [grad]"""
        kind = self.advance().text
        name = self.name(f"of the {kind}")
        generics = self.generics()
        params = self.params()
        result = None
        if self.accept("->"):
            result = self.type()
        elif kind == "op":
            raise self.unexpected("`->`", "after the parameters of an op", "an op has a result")
        binding = None
        if kind == "op" and self.is_("kernel"):
            at = self.advance().span
            kernel = self.name("of a kernel")
            arguments = self.generic_arguments() if self.is_("<") else None
            binding = tree.KernelBinding(self.since(at), kernel, arguments)
        where = self.where()
        body = self.block(f"of the {kind}")
        gradient = None
        if kind == "op" and self.is_name("grad"):
            at = self.advance().span
            self.expect("(", "after `grad`")
            result_name = self.name("of the result in `grad`")
            self.expect(",", "between the names of `grad`")
            gradient_name = self.name("of the gradient in `grad`")
            self.expect(")", "to close `grad(`")
            backward = self.block("of `grad`")
            gradient = tree.Gradient(self.since(at), result_name, gradient_name, backward)
        return tree.Function(
            self.since(start),
            public,
            kind,
            name,
            generics,
            params,
            result,
            where,
            body,
            binding,
            gradient,
        )

    def params(self) -> tuple[tree.Param, ...]:
        """params = "(" [ ID ":" type ["=" expr] {"," ...} [","] ] ")" """
        self.expect("(", "to open the parameters")
        found: list[tree.Param] = []
        while not self.is_(")"):
            start = self.current.span
            name = self.name("of a parameter")
            self.expect(":", f"after the parameter `{name.text}`")
            type_ = self.type()
            default = self.expression() if self.accept("=") else None
            found.append(tree.Param(self.since(start), name, type_, default))
            if not self.accept(","):
                break
        self.expect(")", "to close the parameters")
        return tuple(found)

    def where(self) -> tuple[tree.Expr, ...]:
        """where = "where" comparison {"," comparison} [","]"""
        if not self.accept("where"):
            return ()
        found: list[tree.Expr] = []
        while True:
            found.append(self.binary(3))
            if not self.accept(",") or self.is_("{"):
                break
        return tuple(found)

    def kernel(self, start: Span, public: bool) -> tree.Kernel:
        """kernel: everything up to the end of its body; the checker says that it is not built"""
        self.advance()
        name = self.name("of a kernel")
        while self.current.kind != "end" and not self.is_("{"):
            if self.current.kind == "keyword" and self.current.text in ITEM_STARTS:
                raise self.unexpected("`{`", "to open the kernel's body")
            self.advance()
        depth = 0
        while self.current.kind != "end":
            depth += {"{": 1, "}": -1}.get(self.advance().text, 0)
            if depth == 0:
                return tree.Kernel(self.since(start), public, name)
        raise self.unexpected("`}`", "to close the kernel's body")

    def block_item(self, start: Span, public: bool) -> tree.BlockItem:
        """block = "block" ID [gens] [where] "{" { member | item } "}" """
        self.advance()
        name = self.name("of a block")
        generics = self.generics()
        where = self.where()
        self.expect("{", "to open the block")
        content: list[tree.Member | tree.Item] = []
        while not self.is_("}") and self.current.kind != "end":
            at = self.at
            depth = self.depth
            try:
                if self.current.kind == "keyword" and self.current.text in MEMBER_STARTS:
                    content.append(self.member())
                else:
                    content.append(self.item())
            except ParseError:
                self.depth = depth
                self.recover(at, INSIDE_BLOCK, closing=True)
        self.expect("}", f"to close the block `{name.text}`")
        return tree.BlockItem(self.since(start), public, name, generics, where, tuple(content))

    def member(self) -> tree.Member:
        """member = ("param"|"sub") ID ":" type ["=" expr] | ("buffer"|"state") ID ":" type"""
        start = self.current.span
        kind = self.advance().text
        name = self.name(f"of a {kind}")
        self.expect(":", f"after the {kind} `{name.text}`")
        type_ = self.type()
        default = None
        if self.is_("="):
            if kind in ("buffer", "state"):
                raise self.unexpected(
                    "the next member", f"after a {kind}", f"a {kind} has no default"
                )
            self.advance()
            default = self.expression()
        return tree.Member(self.since(start), kind, name, type_, default)

    def block(self, context: str) -> tree.Block:
        """body = "{" {stmt} "}" """
        start = self.current.span
        self.enter()
        try:
            if self.is_(":"):
                raise self.unexpected("`{`", f"to open the body {context}", "a type follows `->`")
            self.expect("{", f"to open the body {context}")
            statements: list[tree.Statement] = []
            while not self.is_("}") and self.current.kind != "end":
                at, depth = self.at, self.depth
                if self.current.kind == "keyword" and self.current.text in ITEM_STARTS:
                    break
                try:
                    statements.append(self.statement())
                except ParseError:
                    if self.speculating:
                        raise
                    self.depth = depth
                    self.recover(at, INSIDE_BODY, closing=True)
            self.expect("}", f"to close the body {context}")
            return tree.Block(self.since(start), tuple(statements))
        finally:
            self.leave()

    def statement(self) -> tree.Statement:
        """stmt = let | var | assign | return | static for | for | while | yield"""
        start = self.current.span
        if self.is_("let"):
            return self.let(start)
        if self.accept("var"):
            name = self.name("after `var`")
            type_ = self.type() if self.accept(":") else None
            self.expect("=", "after the name of a `var`")
            value = self.whole_value()
            return tree.Var(self.since(start), name, type_, value)
        if self.accept("return"):
            value_ = None
            if not self.is_("}") and not self.statement_follows():
                value_ = self.whole_value()
            return tree.Return(self.since(start), value_)
        if self.accept("static"):
            self.expect("for", "after `static`")
            pattern = self.pattern()
            self.expect("in", "after the pattern of `static for`")
            first = self.expression()
            stop = self.expression() if self.accept("..") else None
            body = self.block("of `static for`")
            return tree.StaticFor(self.since(start), pattern, first, stop, body)
        if self.accept("for"):
            counter, first, last = self.counter_range("in")
            body = self.block("of the loop")
            return tree.For(self.since(start), counter, first, last, body)
        if self.accept("while"):
            condition = self.expression()
            body = self.block("of the loop")
            return tree.While(self.since(start), condition, body)
        if self.accept("yield"):
            value = self.expression()
            return tree.Yield(self.since(start), value)
        if self.current.kind in ("name", "reserved") and self.ahead().text == "=":
            name = self.name("to assign")
            self.advance()
            value = self.whole_value()
            return tree.Assign(self.since(start), name, value)
        advice = STATEMENT_HELPS.get(self.current.text, "an expression alone is no statement")
        raise self.unexpected("a statement", "here", advice)

    def statement_follows(self) -> bool:
        """Whether a statement starts here, so that a `return` before it has no value."""
        token = self.current
        if token.kind == "keyword":
            return token.text in STATEMENT_STARTS - {"for"} or token.text in ITEM_STARTS
        after = self.ahead()
        return token.kind == "name" and after.text == "=" and after.kind == "punctuation"

    def let(self, start: Span) -> tree.Statement:
        """let = "let" pattern [":" type] "=" expr | "let" ID "[" indices "]" "=" expr"""
        self.advance()
        if self.is_name() and self.ahead().text == "[":
            name = self.name("after `let`")
            self.advance()
            indices = self.index_names()
            self.expect("=", "after the indices")
            value = self.whole_value()
            return tree.IndexDefinition(self.since(start), name, indices, value)
        pattern = self.pattern()
        type_ = self.type() if self.accept(":") else None
        self.expect("=", "after the pattern of `let`")
        value = self.whole_value()
        return tree.Let(self.since(start), pattern, type_, value)
