"""Random programs of the grammar. They parse; whether they check is another matter."""

from __future__ import annotations

import random
from collections.abc import Callable

NAMES = ["x", "y", "weight", "a_rather_long_name_of_a_value", "N", "H", "T", "i", "k"]
OPERATORS = ["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "&", "|", "^"]
ARITHMETIC = ["+", "-", "*", "/", "%", "|", "^", "&"]
DTYPES = ["bool", "i64", "bf16", "f32", "T"]
LITERALS = ["0", "1", "1_000", "0xff", "0b1_0", "1.5", "1e-5", "true", "false", "none"]
REDUCTIONS = ["sum", "prod", "max", "min", "any", "all"]


def program(pick: random.Random) -> str:
    """A whole file."""
    return _Maker(pick).file()


class _Maker:
    def __init__(self, pick: random.Random) -> None:
        self.pick = pick

    def some(self, make: Callable[[], str], least: int, most: int, between: str) -> str:
        return between.join(make() for _ in range(self.pick.randint(least, most)))

    def listed(self, make: Callable[[], str], least: int, most: int) -> str:
        text = self.some(make, least, most, ", ")
        return text + self.pick.choice(["", "", ","]) if text else ""

    def maybe(self, text: Callable[[], str], chance: float = 0.5) -> str:
        return text() if self.pick.random() < chance else ""

    def name(self) -> str:
        return self.pick.choice(NAMES)

    def file(self) -> str:
        uses = self.some(self.use, 0, 3, "\n")
        return (
            f"module {self.some(self.name, 1, 3, '.')}\n{uses}\n{self.some(self.item, 0, 5, ' ')}"
        )

    def use(self) -> str:
        path = (
            f"use {self.pick.choice(['std', 'crate', 'other'])}.{self.some(self.name, 1, 2, '.')}"
        )
        one = f"::{self.name()}"
        several = f"::{{{self.listed(self.imported, 1, 8)}}}"
        return path + self.pick.choice(["", one, several])

    def imported(self) -> str:
        return self.name() + self.maybe(lambda: f" as {self.name()}", 0.2)

    def item(self) -> str:
        make = self.pick.choice(
            [
                self.const,
                self.alias,
                self.struct,
                self.enum,
                self.function,
                self.function,
                self.block,
            ]
        )
        return self.maybe(lambda: "pub ") + make()

    def const(self) -> str:
        return f"const {self.name()}{self.annotation()} = {self.expr(3)}"

    def alias(self) -> str:
        return f"type {self.name()}{self.generics()} = {self.type(2)}"

    def struct(self) -> str:
        fields = self.some(lambda: f"{self.name()}: {self.type(2)}", 0, 4, "\n")
        return f"struct {self.name()}{self.generics()} {{ {fields} }}"

    def enum(self) -> str:
        return f"enum {self.name()} {{ {self.listed(self.name, 1, 4)} }}"

    def function(self) -> str:
        kind = self.pick.choice(["fn", "entry", "op"])
        params = self.listed(self.param, 0, 4)
        result = f" -> {self.type(2)}" if kind == "op" or self.pick.random() < 0.7 else ""
        head = f"{kind} {self.name()}{self.generics()}({params}){result}{self.where()}"
        gradient = (
            f" grad(y, dy) {self.body(1)}" if kind == "op" and self.pick.random() < 0.3 else ""
        )
        return f"{head} {self.body(2)}{gradient}"

    def param(self) -> str:
        return f"{self.name()}: {self.type(2)}{self.maybe(lambda: f' = {self.expr(1)}', 0.2)}"

    def where(self) -> str:
        def constraint() -> str:
            left, right = self.arithmetic(2), self.arithmetic(1)
            return f"{left} {self.pick.choice(['==', '<=', '>', '!='])} {right}"

        return self.maybe(lambda: f" where {self.listed(constraint, 1, 3)}", 0.3)

    def generics(self) -> str:
        def one() -> str:
            kind = self.pick.choice(["Dim", "DType", "Float"])
            default = "4" if kind == "Dim" else "f32"
            return f"{self.name()}: {kind}{self.maybe(lambda: f' = {default}', 0.2)}"

        pack = self.maybe(lambda: "*S: Shape, ", 0.2)
        return self.maybe(lambda: f"<{pack}{self.listed(one, 1, 4)}>")

    def block(self) -> str:
        parts = self.some(self.part, 0, 5, " ")
        return f"block {self.name()}{self.generics()}{self.where()} {{ {parts} }}"

    def part(self) -> str:
        kind = self.pick.choice(["param", "sub", "buffer", "state", "item"])
        if kind == "item":
            return self.pick.choice([self.function, self.const])()
        default = self.maybe(lambda: " = none", 0.3) if kind in ("param", "sub") else ""
        return f"{kind} {self.name()}: {self.type(2)}{default}"

    # Types

    def type(self, depth: int) -> str:
        choice = self.pick.random()
        if depth == 0 or choice < 0.3:
            return self.pick.choice(DTYPES)
        if choice < 0.7:
            dims = self.some(lambda: self.dim(1), 1, 3, ", ")
            return f"Tensor[{dims}; {self.pick.choice(DTYPES)}]{self.maybe(lambda: '?', 0.1)}"
        if choice < 0.8:
            return f"({self.some(lambda: self.type(depth - 1), 2, 3, ', ')})"
        if choice < 0.9:
            return f"[{self.name()}<{self.arithmetic(1)}>; {self.arithmetic(1)}]"
        return f"{self.name()}<{self.listed(lambda: self.type(depth - 1), 1, 3)}>"

    def dim(self, depth: int) -> str:
        return "*S" if self.pick.random() < 0.15 else self.arithmetic(depth)

    def annotation(self) -> str:
        return self.maybe(lambda: f": {self.type(1)}", 0.3)

    # Statements

    def body(self, depth: int) -> str:
        return f"{{ {self.some(lambda: self.statement(depth), 0, 4, ' ')} }}"

    def statement(self, depth: int) -> str:
        choice = self.pick.random()
        if depth and choice < 0.3:
            bounds = f"{self.arithmetic(1)}..{self.arithmetic(1)}"
            heads = [
                f"static for {self.name()} in {self.pick.choice([self.name(), bounds])}",
                f"for {self.name()} in {bounds}",
                f"while {self.expr(1)}",
            ]
            return f"{self.pick.choice(heads)} {self.body(depth - 1)}"
        if choice < 0.5:
            indices = self.listed(lambda: self.pick.choice(["i", "j", "*s"]), 1, 3)
            return f"let {self.name()}[{indices}] = {self.expr(3)}"
        if choice < 0.6:
            scan = f"for {self.name()} in 0..{self.arithmetic(1)} {self.body(0)}"
            return f"let {self.name()} = {scan}"
        forms = [
            f"let {self.pattern(2)}{self.annotation()} = {self.expr(3)}",
            f"var {self.name()}{self.annotation()} = {self.expr(3)}",
            f"{self.name()} = {self.expr(3)}",
            f"return {self.expr(3)}",
            f"yield {self.expr(2)}",
        ]
        return self.pick.choice(forms)

    def pattern(self, depth: int) -> str:
        if depth == 0 or self.pick.random() < 0.7:
            return self.name()
        return f"({self.some(lambda: self.pattern(depth - 1), 2, 3, ', ')})"

    # Expressions

    def arithmetic(self, depth: int) -> str:
        if depth == 0 or self.pick.random() < 0.4:
            return self.pick.choice([self.name(), "1", "4"])
        left, right = self.arithmetic(depth - 1), self.arithmetic(depth - 1)
        text = f"{left} {self.pick.choice(ARITHMETIC[:5])} {right}"
        return f"({text})" if self.pick.random() < 0.4 else text

    def expr(self, depth: int) -> str:
        if depth == 0:
            return self.pick.choice([self.name(), self.name(), self.pick.choice(LITERALS)])
        make = self.pick.choice(
            [
                *(self.binary, self.binary, self.call, self.call, self.index, self.unary),
                *(self.reduction, self.branch, self.match, self.field, self.tuple, self.leaf),
            ]
        )
        return make(depth - 1)

    def operand(self, depth: int) -> str:
        """An expression that holds together."""
        return self.name() if depth == 0 else f"({self.expr(depth - 1)})"

    def leaf(self, depth: int) -> str:
        return self.expr(0)

    def binary(self, depth: int) -> str:
        count = self.pick.choice([1, 1, 2, 5])
        text = self.operand(depth)
        for _ in range(count):
            text += f" {self.pick.choice(OPERATORS)} {self.operand(depth)}"
        return text

    def unary(self, depth: int) -> str:
        return f"{self.pick.choice('!-+')}{self.operand(depth)}"

    def call(self, depth: int) -> str:
        generics = self.maybe(
            lambda: f"<{self.listed(lambda: self.pick.choice(DTYPES), 1, 2)}>", 0.2
        )

        def argument() -> str:
            return self.maybe(lambda: f"{self.name()} = ", 0.3) + self.expr(depth)

        return f"{self.name()}{generics}({self.listed(argument, 0, 3)})"

    def index(self, depth: int) -> str:
        def component() -> str:
            one = self.arithmetic(1)
            return self.pick.choice(
                [one, ":", f"{one}:", f":{one}", f"{one}:{one}:2", "::2", "..."]
            )

        return f"{self.name()}[{self.listed(component, 1, 3)}]"

    def reduction(self, depth: int) -> str:
        dtype = self.maybe(lambda: "<f32>", 0.2)
        indices = self.listed(lambda: self.pick.choice(["i", "j", "*s"]), 1, 2)
        return f"{self.pick.choice(REDUCTIONS)}{dtype}[{indices}] {self.expr(depth)}"

    def branch(self, depth: int) -> str:
        return f"if {self.expr(depth)} {{ {self.expr(depth)} }} else {{ {self.expr(depth)} }}"

    def match(self, depth: int) -> str:
        arms = [f"some({self.pattern(1)}) => {self.expr(depth)}", f"none => {self.expr(depth)}"]
        return f"match {self.name()} {{ {' '.join(arms)} }}"

    def field(self, depth: int) -> str:
        return f"{self.name()}.{self.name()}"

    def tuple(self, depth: int) -> str:
        return self.pick.choice(
            [
                f"({self.expr(depth)}, {self.expr(depth)})",
                f"({self.expr(depth)},)",
                f"some({self.expr(depth)})",
            ]
        )
