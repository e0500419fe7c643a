"""Operations of IR documents to expressions of the source."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from linnet.check.sizes import PROTECTED
from linnet.check.types import FLOATS, INTEGERS
from linnet.syntax.expressions import PRECEDENCE, REDUCTIONS
from linnet.syntax.lexer import KEYWORDS, RESERVED

Record = dict[str, Any]

# How tightly an expression holds together, after the levels of binary operators.
OPEN, UNARY, CLOSED = 0, 10, 11
INFIX = {
    **{"add": "+", "sub": "-", "mul": "*", "div": "/", "rem": "%"},
    **{"and": "&", "or": "|", "xor": "^"},
    **{"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="},
}
CALLED = {
    *("min", "max", "shl", "shr", "select", "exp", "log", "sqrt"),
    *("rsqrt", "sin", "cos", "tanh", "abs"),
}
# What is computed already when a program is checked, where all operands are bare integers.
COMPUTED = {"add", "sub", "mul", "div", "rem", "neg", "min", "max"}
_RESERVED = KEYWORDS | RESERVED | PROTECTED | REDUCTIONS | {"grad", "grid", "warps", "stages"}


@dataclass(frozen=True)
class Text:
    """An expression. One with `effect` reads a state or calls, and must stay in its order."""

    text: str
    level: int = CLOSED
    effect: bool = False

    def at(self, level: int) -> str:
        """The text where something of this level may stand."""
        return self.text if self.level >= level else f"({self.text})"


def size(text: str) -> Text:
    """A size, which is a sum of products unless it is one name, number or closed form."""
    closed = re.fullmatch(r"\w+|(min|max)\([^()]*\)|\([^()]*\)", text)
    return Text(text, CLOSED if closed else PRECEDENCE["+"])


def operations(region: Record) -> Iterator[Record]:
    """All operations of a region and of those inside."""
    for op in region["operations"]:
        yield op
        for inner in op.get("regions", ()):
            yield from operations(inner)


class ExpressionEmitter:
    """Expressions of one function or constant. `known` holds what is written for a value."""

    def __init__(self, record: Record, taken: Iterable[str]) -> None:
        self.values: list[Record] = record["values"]
        self.taken = {*taken, *_RESERVED}
        self.known: dict[int, Text] = {}
        self.indices: dict[int, str] = {}
        self.open_indices: list[str] = []
        # Parts of tuples of literals: number of a part -> the tuple and the position in it.
        self.parts: dict[int, tuple[int, int]] = {}
        if record.get("instance") is not None:
            self.known[record["instance"]] = Text("")
        regions = [record["body"], *filter(None, [record.get("gradient")])]
        self.reads: Counter[int] = Counter()
        for region in regions:
            self.count(region)

    def count(self, region: Record) -> None:
        """Counts how often values are read."""
        for op in operations(region):
            self.reads.update(op["operands"])
            for inner in op.get("regions", ()):
                self.reads.update(inner["results"])
        self.reads.update(region["results"])

    # Names

    def name(self, number: int, text: str) -> None:
        """Gives a value a name that is declared already."""
        self.known[number] = Text(text)

    def fresh(self, number: int) -> str:
        """Declares a name for a value, its own where that is free."""
        wanted = self.values[number]["name"] or f"v{number}"
        name, count = wanted, 1
        while name in self.taken:
            count += 1
            name = f"{wanted.rstrip('_')}_{count}"
        self.taken.add(name)
        self.known[number] = Text(name)
        return name

    def named_indices(self, axes: list[Record]) -> str:
        """Declares the indices of a definition or reduction."""
        shown = []
        for axis in axes:
            name, count = axis["name"], 1
            while name in self.taken or name in self.open_indices:
                count += 1
                name = f"{axis['name'].rstrip('_')}_{count}"
            self.open_indices.append(name)
            self.indices[axis["number"]] = f"*{name}" if axis["pack"] else name
            shown.append(self.indices[axis["number"]])
        return ", ".join(shown)

    def close_indices(self, axes: list[Record]) -> None:
        """Ends the scope of indices."""
        if axes:
            del self.open_indices[-len(axes) :]

    # Regions that are one expression

    def value(self, region: Record) -> str:
        """The result of a region that is one expression."""
        return self.result(region).text

    def result(self, region: Record) -> Text:
        """The same, with its level."""
        for op in region["operations"]:
            self.define(op)
        return self.known[region["results"][0]]

    def define(self, op: Record) -> None:
        """Writes an operation where its result will be read."""
        number = op["results"][0]
        if op["kind"] == "tuple_get" and number in self.known:
            return  # named by the pattern of an arm
        if op["kind"] == "tuple_get" and self.values[op["operands"][0]]["literal"]:
            self.parts[number] = (op["operands"][0], op["attributes"]["index"])
            return
        if op["kind"] == "adopt" and op["operands"][0] in self.parts:
            self.parts[number] = self.parts[op["operands"][0]]
            return
        self.known[number] = self.expression(op)

    # Operations

    def expression(self, op: Record) -> Text:
        """An operation's own expression; `effect` follows its operands."""
        kind = op["kind"]
        if kind in INFIX or kind in CALLED:
            made = self.elementwise(op)
        else:
            made = getattr(self, f"of_{kind}")(op)
        effect = made.effect or any(self.known[n].effect for n in op["operands"] if n in self.known)
        return Text(made.text, made.level, effect)

    def operands(self, op: Record) -> list[Text]:
        """What is written for the operands."""
        return [self.known[number] for number in op["operands"]]

    def listed(self, op: Record) -> str:
        """The operands between commas."""
        return ", ".join(one.text for one in self.operands(op))

    def elementwise(self, op: Record) -> Text:
        """Infix operators and prelude functions."""
        kind = op["kind"]
        operands = self.operands(op)
        if self.typed_integers(op):
            operands = [Text(f"cast<{self.type_of_first(op)}>({operands[0].text})"), *operands[1:]]
        if kind in CALLED:
            return Text(f"{kind}({', '.join(one.text for one in operands)})")
        left, right = operands
        sign = INFIX[kind]
        if kind in ("and", "or") and self.values[op["results"][0]]["type"] == "bool":
            sign *= 2
        level = PRECEDENCE[sign]
        return Text(f"{left.at(level)} {sign} {right.at(level + 1)}", level)

    def of_compare(self, op: Record) -> Text:
        """`a < b`."""
        return self.elementwise({**op, "kind": op["attributes"]["comparison"]})

    def typed_integers(self, op: Record) -> bool:
        """Whether all operands are values of named constants. Written as bare integers they would
        be computed when the program is checked, without their dtype's range.
        """
        return op["kind"] in COMPUTED and all(
            re.fullmatch(r"-?\d+", one.text) and self.values[number]["type"] in INTEGERS
            for one, number in zip(self.operands(op), op["operands"], strict=True)
        )

    def type_of_first(self, op: Record) -> str:
        """The type of the first operand."""
        found: str = self.values[op["operands"][0]]["type"]
        return found

    def of_neg(self, op: Record) -> Text:
        """`-a`."""
        if self.typed_integers(op):
            return Text(f"-cast<{self.type_of_first(op)}>({self.listed(op)})", UNARY)
        return Text(f"-{self.operands(op)[0].at(CLOSED)}", UNARY)

    def of_not(self, op: Record) -> Text:
        """`!a`."""
        return Text(f"!{self.operands(op)[0].at(CLOSED)}", UNARY)

    def of_adopt(self, op: Record) -> Text:
        """The operand, which adopts again where it stands."""
        return self.operands(op)[0]

    def of_constant(self, op: Record) -> Text:
        """A literal."""
        value = op["attributes"]["value"]
        if isinstance(value, bool):
            return Text("true" if value else "false")
        if self.values[op["results"][0]]["type"] in FLOATS:
            value = float(value)  # an integer that only a float holds has no dtype by itself
        return Text(repr(value), UNARY if str(value).startswith("-") else CLOSED)

    def of_size(self, op: Record) -> Text:
        """A size."""
        return size(op["attributes"]["size"])

    def of_cast(self, op: Record) -> Text:
        """`cast<T>(x)`."""
        return Text(f"cast<{op['attributes']['dtype']}>({self.listed(op)})")

    def of_none(self, op: Record) -> Text:
        """`none`."""
        return Text("none")

    def of_some(self, op: Record) -> Text:
        """`some(v)`."""
        return Text(f"some({self.listed(op)})")

    def of_enum(self, op: Record) -> Text:
        """`Mode.A`."""
        return Text(f"{self.values[op['results'][0]]['type']}.{op['attributes']['variant']}")

    # Whole tensors

    def of_reshape(self, op: Record) -> Text:
        """`reshape(x, [dims])`."""
        return Text(f"reshape({self.listed(op)}, [{', '.join(op['attributes']['dims'])}])")

    def of_broadcast(self, op: Record) -> Text:
        """`broadcast_to(x, [dims])`."""
        return Text(f"broadcast_to({self.listed(op)}, [{', '.join(op['attributes']['dims'])}])")

    def of_permute(self, op: Record) -> Text:
        """`permute(x, [axes])`."""
        axes = ", ".join(map(str, op["attributes"]["axes"]))
        return Text(f"permute({self.listed(op)}, [{axes}])")

    def of_concat(self, op: Record) -> Text:
        """`concat(a, b, axis = k)`."""
        return Text(f"concat({self.listed(op)}, axis = {op['attributes']['axis']})")

    def of_cumsum(self, op: Record) -> Text:
        """`cumsum(x, axis = k)`."""
        return Text(f"cumsum({self.listed(op)}, axis = {op['attributes']['axis']})")

    def of_fill(self, op: Record) -> Text:
        """`fill<T>([dims], v)`."""
        dims = ", ".join(op["attributes"]["dims"])
        return Text(f"fill<{op['attributes']['dtype']}>([{dims}], {self.listed(op)})")

    def of_iota(self, op: Record) -> Text:
        """`iota<T>(n)`."""
        return Text(f"iota<{op['attributes']['dtype']}>({op['attributes']['dims'][0]})")

    def of_slice(self, op: Record) -> Text:
        """`x[a:b, :, i]`."""
        base, *_ = self.operands(op)
        shown = [self.slice_part(op, part) for part in op["attributes"]["parts"]]
        # Whole axes next to a pack are taken by the one `...` that takes the pack.
        while "..." in shown and shown.count("...") > 1:
            shown.remove("...")
        return Text(f"{base.at(CLOSED)}[{', '.join(shown)}]")

    def slice_part(self, op: Record, part: list[Any]) -> str:
        """One component."""
        kind = part[0]
        if kind == "whole":
            return "..." if part[1][0].startswith("*") else ":"
        if kind == "range":
            step = "" if part[3] == 1 else f":{part[3]}"
            return f"{part[1]}:{part[2]}{step}"
        return str(part[1]) if kind == "constant" else self.known[op["operands"][part[1]]].text

    # Index notation

    def of_element(self, op: Record) -> Text:
        """`x[i, j]` in index notation."""
        base, *_ = self.operands(op)
        shown = []
        for kind, value in op["attributes"]["parts"]:
            if kind == "index":
                shown.append(self.indices[value])
            else:
                position = self.known[op["operands"][value]].text if kind == "element" else value
                shown.append(str(position))
        return Text(f"{base.at(CLOSED)}[{', '.join(shown)}]")

    def of_reduce(self, op: Record) -> Text:
        """`sum[i] body`, which reaches as far right as it can."""
        axes = op["attributes"]["indices"]
        shown = self.named_indices(axes)
        body = self.value(op["regions"][0])
        self.close_indices(axes)
        return Text(f"{op['attributes']['reduction']}[{shown}] {body}", OPEN)

    def of_comprehension(self, op: Record) -> Text:
        """Only a reduction outside index notation is a value by itself."""
        assert not op["attributes"]["indices"]
        return self.result(op["regions"][0])

    # Structure

    def of_tuple(self, op: Record) -> Text:
        """`(a, b)`; parts of one literal tuple put together are that tuple."""
        parts = [self.parts.get(number) for number in op["operands"]]
        whole = parts[0]
        if whole is not None and parts == [(whole[0], i) for i in range(len(parts))]:
            return self.known[whole[0]]
        return Text(f"({self.listed(op)}{',' if len(parts) == 1 else ''})")

    def of_struct(self, op: Record) -> Text:
        """`S(field = value)`."""
        pairs = zip(op["attributes"]["fields"], self.operands(op), strict=True)
        fields = ", ".join(f"{name} = {value.text}" for name, value in pairs)
        name, angle, arguments = self.values[op["results"][0]]["type"].partition("<")
        count = op["attributes"]["explicit"]
        written = f"<{', '.join(top_level(arguments[:-1])[:count])}>" if angle and count else ""
        return Text(f"{name}{written}({fields})")

    def of_struct_get(self, op: Record) -> Text:
        """`s.field`."""
        return Text(f"{self.operands(op)[0].at(CLOSED)}.{op['attributes']['field']}")

    # Blocks and calls

    def member(self, op: Record) -> Text:
        """`member` of the instance around, or of another."""
        (base,) = self.operands(op)
        name = op["attributes"]["member"]
        return Text(f"{base.at(CLOSED)}.{name}" if base.text else name)

    of_param = member
    of_child = member

    def of_state_read(self, op: Record) -> Text:
        """A state, whose place among writes and calls matters."""
        return Text(self.member(op).text, effect=True)

    def of_array_get(self, op: Record) -> Text:
        """`blocks[i]`."""
        return Text(f"{self.operands(op)[0].at(CLOSED)}[{op['attributes']['index']}]")

    def of_call(self, op: Record) -> Text:
        """`f(a, b = c)`, with the generics that the source wrote."""
        attributes = op["attributes"]
        callee = attributes["callee"]
        texts = self.operands(op)
        name = callee["name"]
        if callee["method"]:
            base = texts.pop(0)
            name = f"{base.at(CLOSED)}.{name}" if base.text else name
        written = list(attributes["bindings"].values())[: attributes["explicit"]]
        generics = f"<{', '.join(written)}>" if written else ""
        arguments: list[str] = []
        left_out = False
        for param, given in zip(callee["params"], attributes["given"], strict=True):
            if given:
                value = texts.pop(0).text
                arguments.append(f"{param} = {value}" if left_out else value)
            else:
                left_out = True
        return Text(f"{name}{generics}({', '.join(arguments)})", effect=True)

    # Branches

    def of_if(self, op: Record) -> Text:
        """`if c { a } else { b }`."""
        (condition,) = self.operands(op)
        then, other = (self.value(region) for region in op["regions"])
        return Text(f"if {condition.text} {{ {then} }} else {{ {other} }}", OPEN)

    def of_match(self, op: Record) -> Text:
        """`match s { some(v) => a none => b }`."""
        (subject,) = self.operands(op)
        arms = []
        for case, region in zip(op["attributes"]["cases"], op["regions"], strict=True):
            if case == "some":
                pattern = f"some({self.pattern(region['params'][0], region)})"
            else:
                pattern = case if isinstance(case, str) else case["variant"]
            arms.append(f"{pattern} => {self.value(region)}")
        return Text(f"match {subject.text} {{ {' '.join(arms)} }}", OPEN)

    def pattern(self, number: int, region: Record) -> str:
        """What binds a value: a name, or names for the parts of a tuple that are taken."""
        taken = [
            op
            for op in region["operations"]
            if op["kind"] == "tuple_get" and op["operands"][0] == number
        ]
        parts = {op["attributes"]["index"]: op["results"][0] for op in reversed(taken)}
        if not parts or self.reads[number] > len(taken):
            return self.fresh(number) if self.reads[number] else "_"
        count = len(top_level(self.values[number]["type"][1:-1]))
        shown = [self.pattern(parts[i], region) if i in parts else "_" for i in range(count)]
        for op in taken:
            first = parts[op["attributes"]["index"]]
            # A part that is taken apart itself has no name.
            self.known[op["results"][0]] = self.known.get(first, Text("_"))
        return f"({', '.join(shown)}{',' if count == 1 else ''})"


def top_level(text: str) -> list[str]:
    """The parts of a list, split at the commas outside all brackets."""
    parts: list[str] = []
    depth = start = 0
    for at, sign in enumerate(text):
        if sign in "([<":
            depth += 1
        elif sign in ")]>":
            depth -= 1
        elif sign == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    rest = text[start:].strip()
    return [*parts, rest] if rest else parts
