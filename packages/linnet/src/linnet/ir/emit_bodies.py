"""Regions of IR documents to statements of the source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from linnet.ir.emit_expressions import ExpressionEmitter, Record, Text

# Values of these kinds are written wherever they are read.
EVERYWHERE = ("param", "child", "array_get")
# Kinds whose value takes its dtype from where it stands, so that a `let` has to name the type.
ADOPTING = ("constant", "size", "adopt", "none", "some", "if", "match", "select", "tuple", "neg")


class BodyEmitter(ExpressionEmitter):
    """Statements of one function. `waiting` holds values that are written where they are read."""

    def __init__(self, record: Record, taken: Any) -> None:
        super().__init__(record, taken)
        self.waiting: dict[int, Record] = {}

    def body(self, region: Record) -> Iterator[str]:
        """The statements of a function's body, `return` included."""
        yield from self.statements(region)
        results = region["results"]
        yield f"return {self.known[results[0]].text}" if results else "return"
        self.waiting.clear()

    def statements(self, region: Record) -> Iterator[str]:
        """The statements of a region without its results."""
        own = {number for op in region["operations"] for number in op["operands"]}
        own.update(region["results"])
        for op in region["operations"]:
            for number in op["operands"]:
                self.waiting.pop(number, None)
            yield from self.statement(op, region, own)

    def statement(self, op: Record, region: Record, own: set[int]) -> Iterator[str]:
        """What one operation needs to be written before it is read."""
        kind = op["kind"]
        if kind in ("static_for", "while", "scan"):
            yield from self.flush(everything=True)
            yield from getattr(self, f"write_{kind}")(op)
        elif kind == "comprehension" and op["attributes"]["indices"]:
            yield from self.index_definition(op)
        elif kind == "state_write":
            text = self.known[op["operands"][1]].text
            yield from self.flush()
            yield f"{op['attributes']['member']} = {text}"
        elif kind == "tuple_get" and not self.values[op["operands"][0]]["literal"]:
            yield from self.destructure(op, region)
        else:
            if kind == "call" and op["attributes"]["callee"]["writes_state"]:
                yield from self.flush()
            self.define(op)
            yield from self.keep(op, own)

    def keep(self, op: Record, own: set[int]) -> Iterator[str]:
        """Declares a value with `let`, or leaves it waiting."""
        number = op["results"][0]
        if number not in self.known:
            return
        if op["kind"] in EVERYWHERE or self.values[number]["literal"]:
            return
        once = self.reads[number] == 1 and number in own
        unread = self.reads[number] == 0 and not self.known[number].effect
        if not self.values[number]["name"] and (once or unread):
            self.waiting[number] = op
            return
        yield self.let(number, op)

    def let(self, number: int, op: Record) -> str:
        """A value by itself."""
        text = self.known[number].text
        annotation = f": {self.values[number]['type']}" if op["kind"] in ADOPTING else ""
        return f"let {self.fresh(number)}{annotation} = {text}"

    def flush(self, everything: bool = False) -> Iterator[str]:
        """Declares what waits and must not move behind what comes next."""
        for number, op in list(self.waiting.items()):
            if self.reads[number] and (everything or self.known[number].effect):
                del self.waiting[number]
                yield self.let(number, op)

    def index_definition(self, op: Record) -> Iterator[str]:
        """`let y[i] = ...`."""
        axes = op["attributes"]["indices"]
        shown = self.named_indices(axes)
        text = self.value(op["regions"][0])
        self.close_indices(axes)
        yield f"let {self.fresh(op['results'][0])}[{shown}] = {text}"

    def destructure(self, op: Record, region: Record) -> Iterator[str]:
        """`let (a, b) = t` at the first part that is taken."""
        if op["results"][0] in self.known:
            return
        whole = op["operands"][0]
        text = self.known[whole].text
        yield f"let {self.pattern(whole, region)} = {text}"

    # Loops

    def carry(self, op: Record, operands: list[int], params: list[int]) -> Iterator[str]:
        """Declares the variables that a loop carries."""
        for number, param, result in zip(operands, params, op["results"], strict=False):
            text = self.known[number].text
            t = self.values[param]["type"]
            annotation = "" if t.startswith("Tensor[") and not t.endswith("?") else f": {t}"
            self.values[param]["name"] = self.values[param]["name"] or self.values[result]["name"]
            name = self.fresh(param)
            self.known[result] = Text(name)
            yield f"var {name}{annotation} = {text}"

    def inside(self, region: Record, params: list[int]) -> Iterator[str]:
        """The statements of a loop's body, then the assignments of its variables."""
        waiting, self.waiting = self.waiting, {}
        yield from self.statements(region)
        pairs = list(zip(params, region["results"], strict=False))
        rest = region["results"][len(params) :]
        # An assignment must not change what a later one reads.
        if len(pairs) + len(rest) > 1:
            yield from self.flush(everything=True)
        changed = {self.known[param].text for param, _ in pairs}
        texts = {}
        for param, number in pairs:
            text = self.known[number].text
            if text in changed and text != self.known[param].text:
                text = f"old_{text}"
                while text in self.taken:
                    text = f"{text}_"
                self.taken.add(text)
                yield f"let {text} = {self.known[number].text}"
            texts[param] = text
        late = []
        for number in rest:
            text = self.known[number].text
            if text in changed:
                name = f"yielded_{text}"
                while name in self.taken:
                    name = f"{name}_"
                self.taken.add(name)
                yield f"let {name} = {text}"
                text = name
            late.append(text)
        for param, text in texts.items():
            yield f"{self.known[param].text} = {text}"
        yield from (f"yield {text}" for text in late)
        self.waiting = waiting

    def write_static_for(self, op: Record) -> Iterator[str]:
        """A walk over a block array or a range."""
        (region,) = op["regions"]
        element, *params = region["params"]
        operands = list(op["operands"])
        start, stop = op["attributes"]["start"], op["attributes"]["stop"]
        over = f"{start}..{stop}" if start is not None else self.known[operands.pop(0)].text
        yield from self.carry(op, operands, params)
        yield f"static for {self.fresh(element)} in {over} {{"
        yield from self.inside(region, params)
        yield "}"

    def write_while(self, op: Record) -> Iterator[str]:
        """A loop with a condition."""
        head, body = op["regions"]
        yield from self.carry(op, op["operands"], body["params"])
        for param, same in zip(head["params"], body["params"], strict=True):
            self.known[param] = self.known[same]
        yield f"while {self.value(head)} {{"
        yield from self.inside(body, body["params"])
        yield "}"

    def write_scan(self, op: Record) -> Iterator[str]:
        """`for`, as a statement or as the value of a `let`."""
        (region,) = op["regions"]
        counter, *params = region["params"]
        yield from self.carry(op, op["operands"], params)
        start, stop = op["attributes"]["start"], op["attributes"]["stop"]
        stacked = op["results"][len(params) :]
        lead = f"let {self.fresh(stacked[0])} = " if stacked else ""
        yield f"{lead}for {self.fresh(counter)} in {start}..{stop} {{"
        yield from self.inside(region, params)
        yield "}"
