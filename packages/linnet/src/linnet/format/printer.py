"""Trees to layout documents."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from linnet.format.document import (
    LINE,
    SOFT,
    SPACE,
    Document,
    Group,
    Hard,
    IfBroken,
    Indent,
)
from linnet.syntax import tree
from linnet.syntax.expressions import PRECEDENCE
from linnet.syntax.lexer import Token


class Printer:
    """Prints one file. The tokens tell where the author left a trailing comma."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self.starts = [token.span.start for token in tokens]

    # Lists

    def trailing_comma(self, items: Sequence[tree.Node]) -> bool:
        """Whether a comma stands between the last item and the closing bracket."""
        if not items:
            return False
        at = bisect_left(self.starts, items[-1].span.end)
        return self.tokens[at].text == "," and self.tokens[at + 1].text in ")]}>"

    def listed(
        self, opening: str, items: Sequence[tree.Node], parts: list[Document], closing: str
    ) -> Document:
        """Items between brackets: on one line, or one per line with a trailing comma."""
        if not parts:
            return [opening, closing]
        inner: list[Document] = [SOFT]
        for number, part in enumerate(parts):
            inner += [",", LINE, part] if number else [part]
        inner.append(IfBroken(","))
        broken = self.trailing_comma(items)
        return Group([opening, Indent(inner), SOFT, closing], broken)

    # Files and items

    def file(self, node: tree.File) -> Document:
        """A whole file."""
        parts: list[Document] = ["module", SPACE, self.path(node.module)]
        previous: tree.Node | None = None
        for use in node.uses:
            parts += [Hard("keep" if previous else "force"), self.use(use)]
            previous = use
        for item in node.items:
            same = type(previous) is type(item) and isinstance(item, (tree.Const, tree.Alias))
            parts += [Hard("keep" if same else "force"), self.item(item)]
            previous = item
        return parts

    def path(self, names: Sequence[tree.Identifier]) -> Document:
        """`a.b.c`."""
        parts: list[Document] = []
        for number, name in enumerate(names):
            parts += [".", name.text] if number else [name.text]
        return parts

    def use(self, node: tree.Use) -> Document:
        """An import."""
        parts: list[Document] = ["use", SPACE, self.path(node.path)]
        if node.items is not None:
            shown: list[Document] = []
            for item in node.items:
                alias: list[Document] = [SPACE, "as", SPACE, item.alias.text] if item.alias else []
                shown.append([item.name.text, *alias])
            parts.append("::")
            parts.append(self.listed("{", node.items, shown, "}") if node.braced else shown[0])
        return parts

    def item(self, node: tree.Item) -> Document:
        """Any item."""
        head: list[Document] = ["pub", SPACE] if node.public else []
        if isinstance(node, tree.Const):
            annotation: list[Document] = [":", SPACE, self.type(node.type)] if node.type else []
            value = self.expression(node.value)
            return [*head, "const", SPACE, node.name.text, *annotation, SPACE, "=", SPACE, value]
        if isinstance(node, tree.Alias):
            head += ["type", SPACE, node.name.text, self.generics(node.generics)]
            return [*head, SPACE, "=", SPACE, self.type(node.target)]
        if isinstance(node, tree.Struct):
            fields: list[Document] = [
                [field.name.text, ":", SPACE, self.type(field.type)] for field in node.fields
            ]
            head += ["struct", SPACE, node.name.text, self.generics(node.generics), SPACE]
            return [*head, self.braced(fields, ["keep"] * len(fields))]
        if isinstance(node, tree.Enum):
            variants: list[Document] = [[variant.text, ","] for variant in node.variants]
            head += ["enum", SPACE, node.name.text, SPACE]
            return [*head, self.braced(variants, ["keep"] * len(variants))]
        if isinstance(node, tree.BlockItem):
            return [*head, *self.block_item(node)]
        assert isinstance(node, tree.Function)
        return [*head, *self.function(node)]

    def braced(self, parts: list[Document], separations: list[str]) -> Document:
        """Parts on lines of their own between braces."""
        if not parts:
            return ["{", "}"]
        inner: list[Document] = []
        for number, (part, separation) in enumerate(zip(parts, separations, strict=True)):
            inner += [Hard(separation if number else "none"), part]
        return ["{", Indent(inner), Hard(), "}"]

    def block_item(self, node: tree.BlockItem) -> list[Document]:
        """A block with members and items."""
        parts: list[Document] = []
        separations: list[str] = []
        previous: tree.Node | None = None
        for part in node.content:
            if isinstance(part, tree.Member):
                default: list[Document] = (
                    [SPACE, "=", SPACE, self.expression(part.default)] if part.default else []
                )
                shown: Document = [
                    part.kind,
                    SPACE,
                    part.name.text,
                    ":",
                    SPACE,
                    self.type(part.type),
                    *default,
                ]
            else:
                shown = self.item(part)
            parts.append(shown)
            grouped = isinstance(part, (tree.Member, tree.Const)) and type(previous) is type(part)
            separations.append("keep" if grouped else "force")
            previous = part
        head: list[Document] = ["block", SPACE, node.name.text, self.generics(node.generics)]
        return [*head, *self.where(node.where), self.braced(parts, separations)]

    def function(self, node: tree.Function) -> list[Document]:
        """`fn`, `op`, `entry`."""
        params: list[Document] = []
        for param in node.params:
            default: list[Document] = (
                [SPACE, "=", SPACE, self.expression(param.default)] if param.default else []
            )
            params.append([param.name.text, ":", SPACE, self.type(param.type), *default])
        parts: list[Document] = [node.kind, SPACE, node.name.text, self.generics(node.generics)]
        parts.append(self.listed("(", node.params, params, ")"))
        if node.result is not None:
            parts += [SPACE, "->", SPACE, self.type(node.result)]
        if node.kernel is not None:
            parts += [SPACE, "kernel", SPACE, node.kernel.name.text]
            parts.append(self.generic_arguments(node.kernel.generics))
        parts += [*self.where(node.where), self.block(node.body)]
        if node.gradient is not None:
            grad = node.gradient
            parts += [SPACE, "grad", "(", grad.result.text, ",", SPACE, grad.gradient.text, ")"]
            parts += [SPACE, self.block(grad.body)]
        return parts

    def where(self, constraints: Sequence[tree.Expr]) -> list[Document]:
        """Nothing, one constraint before the brace, or one per line and the brace alone."""
        if not constraints:
            return [SPACE]
        if len(constraints) == 1:
            return [Hard(), "where", SPACE, self.expression(constraints[0]), SPACE]
        lines: list[Document] = []
        for constraint in constraints:
            lines += [Hard(), self.expression(constraint), ","]
        return [Hard(), "where", Indent(lines), Hard()]

    def generics(self, generics: Sequence[tree.Generic]) -> Document:
        """Declared generics."""
        if not generics:
            return []
        parts: list[Document] = []
        for generic in generics:
            default: list[Document] = []
            if generic.default is not None:
                default = [
                    SPACE,
                    "=",
                    SPACE,
                    self.generic_argument(generic.default),
                ]
            star: list[Document] = ["*"] if generic.pack else []
            parts.append([*star, generic.name.text, ":", SPACE, generic.kind.text, *default])
        return self.listed("<", generics, parts, ">")

    def generic_arguments(self, arguments: Sequence[tree.GenericArgument] | None) -> Document:
        """Generic arguments."""
        if arguments is None:
            return []
        parts: list[Document] = [self.generic_argument(argument) for argument in arguments]
        return self.listed("<", arguments, parts, ">")

    def generic_argument(self, node: tree.GenericArgument) -> Document:
        """A type or a size."""
        types = (tree.PathType, tree.TensorType, tree.TupleType, tree.ArrayType, tree.OptionalType)
        return self.type(node) if isinstance(node, types) else self.expression(node)

    # Types

    def type(self, node: tree.TypeExpr) -> Document:
        """Any type."""
        if isinstance(node, tree.PathType):
            return [self.path(node.names), self.generic_arguments(node.generics)]
        if isinstance(node, tree.TensorType):
            dims: list[Document] = [SOFT]
            for number, dim in enumerate(node.dims):
                dims += [",", LINE] if number else []
                dims.append(self.expression(dim))
            dims += [";", SPACE, self.type(node.dtype)]
            return Group(["Tensor", "[", Indent(dims), SOFT, "]"])
        if isinstance(node, tree.TupleType):
            items: list[Document] = [self.type(item) for item in node.items]
            if len(items) == 1:
                return ["(", items[0], ",", ")"]
            return self.listed("(", node.items, items, ")")
        if isinstance(node, tree.ArrayType):
            element = self.type(node.element)
            return ["[", element, ";", SPACE, self.expression(node.size), "]"]
        return [self.type(node.inner), "?"]

    # Statements

    def block(self, node: tree.Block) -> Document:
        """A body: one statement per line."""
        parts: list[Document] = [self.statement(statement) for statement in node.statements]
        return self.braced(parts, ["keep"] * len(parts))

    def statement(self, node: tree.Statement) -> Document:
        """Any statement."""
        if isinstance(node, tree.Let):
            head: list[Document] = ["let", SPACE, self.pattern(node.pattern)]
            head += [":", SPACE, self.type(node.type)] if node.type else []
            return [*head, SPACE, "=", SPACE, self.expression(node.value)]
        if isinstance(node, tree.IndexDefinition):
            indices = self.indices(node.indices)
            head = ["let", SPACE, node.name.text, indices]
            return [*head, SPACE, "=", SPACE, self.expression(node.value)]
        if isinstance(node, tree.Var):
            head = ["var", SPACE, node.name.text]
            head += [":", SPACE, self.type(node.type)] if node.type else []
            return [*head, SPACE, "=", SPACE, self.expression(node.value)]
        if isinstance(node, tree.Assign):
            return [node.name.text, SPACE, "=", SPACE, self.expression(node.value)]
        if isinstance(node, tree.Return):
            return ["return", *([SPACE, self.expression(node.value)] if node.value else [])]
        if isinstance(node, tree.StaticFor):
            stop: list[Document] = ["..", self.expression(node.stop)] if node.stop else []
            head = ["static", SPACE, "for", SPACE, self.pattern(node.pattern), SPACE, "in", SPACE]
            return [*head, self.expression(node.start), *stop, SPACE, self.block(node.body)]
        if isinstance(node, tree.For):
            return self.loop(node.counter, node.start, node.stop, node.body)
        if isinstance(node, tree.While):
            condition = self.expression(node.condition)
            return ["while", SPACE, condition, SPACE, self.block(node.body)]
        return ["yield", SPACE, self.expression(node.value)]

    def loop(
        self, counter: tree.Identifier, start: tree.Expr, stop: tree.Expr, body: tree.Block
    ) -> Document:
        """`for i in a..b { }`."""
        bounds: list[Document] = [self.expression(start), "..", self.expression(stop)]
        head: list[Document] = ["for", SPACE, counter.text, SPACE, "in", SPACE]
        return [*head, *bounds, SPACE, self.block(body)]

    def indices(self, indices: Sequence[tree.IndexName]) -> Document:
        """`[i, *s]`."""
        parts: list[Document] = [["*", i.text] if i.pack else i.text for i in indices]
        return self.listed("[", indices, parts, "]")

    def pattern(self, node: tree.Pattern) -> Document:
        """Any pattern."""
        if isinstance(node, tree.NamePattern):
            return node.text
        if isinstance(node, tree.NonePattern):
            return "none"
        if isinstance(node, tree.SomePattern):
            return ["some", "(", self.pattern(node.inner), ")"]
        parts: list[Document] = [self.pattern(item) for item in node.items]
        if len(parts) == 1:
            comma: list[Document] = [","] if self.trailing_comma(node.items) else []
            return ["(", parts[0], *comma, ")"]
        return self.listed("(", node.items, parts, ")")

    # Expressions

    def expression(self, node: tree.Expr) -> Document:
        """Any expression."""
        if isinstance(node, (tree.IntLiteral, tree.FloatLiteral, tree.Name)):
            return node.text
        if isinstance(node, tree.BoolLiteral):
            return "true" if node.value else "false"
        if isinstance(node, tree.NoneLiteral):
            return "none"
        if isinstance(node, tree.Paren):
            inner = self.expression(node.inner)
            return Group(["(", Indent([SOFT, inner]), SOFT, ")"])
        if isinstance(node, tree.TupleExpr):
            items: list[Document] = [self.expression(item) for item in node.items]
            if len(items) == 1:
                return ["(", items[0], ",", ")"]
            return self.listed("(", node.items, items, ")")
        if isinstance(node, tree.ListExpr):
            items = [self.expression(item) for item in node.items]
            return self.listed("[", node.items, items, "]")
        if isinstance(node, tree.SomeExpr):
            inner = self.expression(node.inner)
            return ["some", Group(["(", Indent([SOFT, inner]), SOFT, ")"])]
        if isinstance(node, tree.PackUse):
            return ["*", node.name]
        if isinstance(node, tree.Ellipsis):
            return "..."
        if isinstance(node, tree.Unary):
            return [node.operator, self.expression(node.operand)]
        if isinstance(node, tree.Binary):
            return self.binary(node)
        return self.compound(node)

    def binary(self, node: tree.Binary) -> Document:
        """A chain of operators of one precedence breaks after each, or nowhere."""
        level = PRECEDENCE[node.operator]
        links: list[tuple[str, tree.Expr]] = []
        first: tree.Expr = node
        while isinstance(first, tree.Binary) and PRECEDENCE[first.operator] == level:
            links.append((first.operator, first.right))
            first = first.left
        rest: list[Document] = []
        for operator, operand in reversed(links):
            rest += [SPACE, operator, LINE, self.expression(operand)]
        return Group([self.expression(first), Indent(rest)])

    def compound(self, node: tree.Expr) -> Document:
        """Calls, indices, reductions, branches, loops."""
        if isinstance(node, tree.Call):
            parts: list[Document] = []
            for argument in node.arguments:
                name: list[Document] = (
                    [argument.name.text, SPACE, "=", SPACE] if argument.name else []
                )
                parts.append([*name, self.expression(argument.value)])
            generics = self.generic_arguments(node.generics)
            listed = self.listed("(", node.arguments, parts, ")")
            return [self.expression(node.callee), generics, listed]
        if isinstance(node, tree.Index):
            parts = [self.expression(part) for part in node.components]
            return [self.expression(node.base), self.listed("[", node.components, parts, "]")]
        if isinstance(node, tree.Field):
            return [self.expression(node.base), ".", node.name.text]
        if isinstance(node, tree.Slice):
            return self.slice(node)
        if isinstance(node, tree.Reduction):
            dtype: list[Document] = ["<", self.type(node.dtype), ">"] if node.dtype else []
            head: list[Document] = [node.kind, *dtype, self.indices(node.indices)]
            return Group([*head, Indent([LINE, self.expression(node.body)])])
        if isinstance(node, tree.IfExpr):
            condition = self.expression(node.condition)
            then, other = self.expression(node.then), self.expression(node.other)
            arms: list[Document] = ["{", Indent([LINE, then]), LINE, "}", SPACE, "else", SPACE]
            arms += ["{", Indent([LINE, other]), LINE, "}"]
            return Group(["if", SPACE, condition, SPACE, *arms])
        if isinstance(node, tree.MatchExpr):
            cases: list[Document] = [
                [self.pattern(arm.pattern), SPACE, "=>", SPACE, self.expression(arm.value)]
                for arm in node.arms
            ]
            body = self.braced(cases, ["keep"] * len(cases))
            return ["match", SPACE, self.expression(node.subject), SPACE, body]
        assert isinstance(node, tree.ScanExpr)
        return self.loop(node.counter, node.start, node.stop, node.body)

    def slice(self, node: tree.Slice) -> Document:
        """`a:b:s`, with the colons that the author wrote."""
        at = node.start.span.end if node.start else node.span.start
        first = bisect_left(self.starts, at)
        parts: list[Document] = [self.expression(node.start)] if node.start else []
        if self.tokens[first].text == "::":
            parts.append("::")
        else:
            parts.append(":")
            parts += [self.expression(node.stop)] if node.stop else []
            end = node.stop.span.end if node.stop else self.tokens[first].span.end
            if self.tokens[bisect_left(self.starts, end)].text == ":":
                parts.append(":")
        parts += [self.expression(node.step)] if node.step else []
        return parts
