"""Statements and bodies of functions."""

from __future__ import annotations

from linnet.check.control import ControlChecker
from linnet.check.definitions import ConstDef, FunctionDef, ModuleScope
from linnet.check.records import Local, MemberUse
from linnet.check.session import Session
from linnet.check.types import (
    ERROR,
    I64,
    UNIT,
    ArrayType,
    CompileInt,
    Scalar,
    Tensor,
    TupleType,
    Type,
    contains_optional,
    is_float,
)
from linnet.shapes import Poly
from linnet.source import Diagnostic, Span
from linnet.syntax import tree


class BodyChecker(ControlChecker):
    """Checks the body of one function."""

    def __init__(self, session: Session, module: ModuleScope) -> None:
        super().__init__(session, module)
        self.loops: list[tree.Node] = []
        self.loop_depths: list[tuple[tree.Node, int]] = []
        self.result: Type = UNIT
        self.yields: list[list[Type]] = []

    def check_function(self, fn: FunctionDef) -> None:
        """Checks the body of `fn`, its defaults and its gradient."""
        self.enter(fn)
        for param in fn.params:
            if param.node.default is not None:
                self.check(param.node.default, param.type)
        if fn.kind == "op" and fn.result is UNIT:
            self.error("E2120", f"the op `{fn.name}` has no result", fn.node.name, "no result")
        self.function_body(fn.node.body, fn.node.name.span)
        if fn.node.gradient is not None:
            self.check_gradient(fn, fn.node.gradient)

    def enter(self, fn: FunctionDef) -> None:
        """Makes the names of a function visible."""
        self.function = fn
        self.block = fn.block
        self.facts = fn.facts
        self.generics = {
            g.name: g for g in (*(fn.block.generics if fn.block else ()), *fn.generics)
        }
        self.scopes = [{}]
        for param in fn.params:
            # The gradient of an op sees the parameters that its body sees.
            local = self.records.locals.get(param.node)
            if local is None:
                local = Local(param.name, param.type, param.node, is_param=True, used=True)
                self.records.locals[param.node] = local
            self.scopes[0][param.name] = local
        self.result = fn.result or ERROR

    def function_body(self, block: tree.Block, name: Span) -> None:
        """A body that ends in `return` when there is a result."""
        statements = block.statements
        self.scopes.append({})
        for position, statement in enumerate(statements):
            if isinstance(statement, tree.Return) and position + 1 < len(statements):
                self.error(
                    "E2120",
                    "statements after `return` never run",
                    statements[position + 1],
                    "after it",
                )
                break
            self.statement(statement)
        self.warn_unused()
        self.scopes.pop()
        last = statements[-1] if statements else None
        ended = any(isinstance(s, tree.Return) for s in statements)
        if self.result not in (UNIT, ERROR) and not ended:
            end = Span(block.span.end - 1, block.span.end)
            self.error(
                "E2120",
                f"the body does not return its {self.result}",
                last or end,
                "no `return` at the end",
                related=(self.mark(name, "declared here"),),
            )

    # Warnings about locals

    def warn(self, code: str, message: str, span: Span, *helps: str) -> None:
        """Reports a warning."""
        mark = self.mark(span, "unused")
        self.session.diagnostics.append(Diagnostic(code, message, mark, helps=helps))

    def warn_unused(self) -> None:
        """W1002 for locals of the innermost scope."""
        for local in self.scopes[-1].values():
            self.warn_local(local)

    def warn_local(self, local: Local) -> None:
        """W1002 unless the local is used, starts with `_`, or is no `let` or `var`."""
        if local.used or local.name.startswith("_") or local.is_param or local.type is ERROR:
            return
        if isinstance(local.node, (tree.ScanExpr, tree.For, tree.StaticFor)):
            return
        node = local.node
        span = node.name.span if isinstance(node, (tree.Var, tree.IndexDefinition)) else node.span
        self.warn("W1002", f"`{local.name}` is never used", span, f"call it `_{local.name}`")

    def shadow(self, name: str) -> None:
        """W1002 for a local of this scope that another now hides."""
        earlier = self.scopes[-1].get(name)
        if earlier is not None:
            self.warn_local(earlier)

    # Statements

    def body(self, block: tree.Block) -> None:
        """A nested body with a scope of its own."""
        self.scopes.append({})
        for statement in block.statements:
            self.statement(statement)
        self.warn_unused()
        self.scopes.pop()

    def statement(self, node: tree.Statement) -> None:
        """Dispatches by kind."""
        if isinstance(node, tree.Let):
            self.let(node)
        elif isinstance(node, tree.IndexDefinition):
            found = self.index_definition(node)
            self.declare(node.name, found, node)
        elif isinstance(node, tree.Var):
            self.var(node)
        elif isinstance(node, tree.Assign):
            self.assign(node)
        elif isinstance(node, tree.Return):
            self.return_(node)
        elif isinstance(node, tree.StaticFor):
            self.static_for(node)
        elif isinstance(node, tree.For):
            self.loop_extent(node.start, node.stop, "E2208")
            self.scopes.append({})
            self.declare(node.counter, I64, node)
            self.loop_body(node, node.body)
            self.scopes.pop()
        elif isinstance(node, tree.While):
            self.loop_condition(node.condition)
            self.loop_body(node, node.body)
        else:
            self.yield_(node)

    def loop_body(self, node: tree.Node, body: tree.Block) -> None:
        """A body inside a loop, where `return` is not allowed."""
        self.loops.append(node)
        self.loop_depths.append((node, len(self.scopes)))
        self.body(body)
        self.loop_depths.pop()
        self.loops.pop()

    def loop_condition(self, node: tree.Expr) -> None:
        """A condition; the functions it calls are kept, since they may not write a state."""
        fn = self.function
        assert fn is not None
        before, fn.callees = fn.callees, {}
        self.condition(node)
        fn.condition_callees.update(fn.callees)
        fn.callees = {**before, **fn.callees}

    def let(self, node: tree.Let) -> None:
        """`let pattern: T = value`."""
        wanted = self.type(node.type) if node.type is not None else None
        found = self.infer(node.value, wanted)
        size: Poly | None = None
        if wanted is not None:
            ok = found is ERROR or (
                self.is_value(found, node.value) and self.coerce(node.value, found, wanted)
            )
            found = wanted if ok else ERROR
        elif found is UNIT:
            self.error("E2101", "the call has no value", node.value, "no result")
            found = ERROR
        elif not self.is_value(found, node.value):
            found = ERROR
        else:
            if isinstance(found, CompileInt):
                size = found.poly
            found = self.settle(node.value, found)
        self.bind_pattern(node.pattern, found, size)

    def var(self, node: tree.Var) -> None:
        """`var name: T = value`; a size becomes i64."""
        wanted = self.type(node.type) if node.type is not None else None
        found = self.infer(node.value, wanted)
        if wanted is not None:
            ok = found is ERROR or (
                self.is_value(found, node.value) and self.coerce(node.value, found, wanted)
            )
            found = wanted if ok else ERROR
        elif not self.is_value(found, node.value):
            found = ERROR
        else:
            found = self.settle_number(node.value, found)
        self.declare(node.name, found, node, mutable=True)

    def assign(self, node: tree.Assign) -> None:
        """`name = value` of a `var` or a state of this block."""
        name = node.name.text
        local = self.local(name)
        if local is not None:
            found = self.infer(node.value, local.type)
            if not local.mutable:
                what = "parameter" if local.is_param else "`let`"
                self.immutable(node, f"`{name}` is a {what} and cannot be assigned", "use `var`")
                return
            self.records.names[node] = local
            if contains_optional(local.type) and self.in_runtime_loop(local):
                self.error(
                    "E2190",
                    "an optional that changes in a loop is not implemented",
                    node,
                    "not implemented",
                    helps=("carry a value and a flag beside it",),
                )
                return
            self.assigned(node, found, local.type)
            return
        if self.block is not None and name in self.block.members:
            member = self.block.members[name]
            member.used = True
            found = self.infer(node.value, member.type)
            if member.kind != "state":
                self.immutable(node, f"`{name}` is a {member.kind}; only a `state` is assigned")
                return
            self.records.names[node] = MemberUse(self.block, member)
            if self.function is not None:
                self.function.writes_state = True
            self.assigned(node, found, member.type)
            return
        self.infer(node.value)
        if name in self.generics:
            self.immutable(node, f"`{name}` is a generic and cannot be assigned")
        elif isinstance(self.item(name), ConstDef) or self.item(name) is not None:
            self.immutable(node, f"`{name}` cannot be assigned")
        else:
            self.unknown(name, node.name, "variable")

    def in_runtime_loop(self, local: Local) -> bool:
        """Whether a loop that runs as one lies between a variable's declaration and here."""
        return any(
            depth >= local.depth and not isinstance(loop, tree.StaticFor)
            for loop, depth in self.loop_depths
        )

    def immutable(self, node: tree.Assign, message: str, *helps: str) -> None:
        """E2108."""
        self.error("E2108", message, node.name, "cannot change", helps=helps)

    def assigned(self, node: tree.Assign, found: Type, wanted: Type) -> None:
        """E2109 unless the value has the type that the variable keeps."""
        if found is ERROR or wanted is ERROR:
            return
        from linnet.check.agreement import problem

        wrong = problem(found, wanted, self.facts)
        if wrong is None:
            self.coerce(node.value, found, wanted)
            return
        if wrong[0] == "E2105":
            self.error("E2105", wrong[1], node.value, "out of range")
            return
        self.error(
            "E2109",
            f"`{node.name.text}` is {wanted} and stays so; this is {found}",
            node.value,
            wrong[1],
            helps=("a new `let` may use the name again",),
        )

    def return_(self, node: tree.Return) -> None:
        """`return value`."""
        if self.loops:
            self.error("E2120", "`return` does not stand in a loop", node, "inside a loop")
            if node.value is not None:
                self.infer(node.value)
            return
        if node.value is None:
            if self.result not in (UNIT, ERROR):
                self.error("E2120", f"`return` needs a {self.result}", node, "no value")
            return
        if self.result is UNIT:
            self.infer(node.value)
            self.error("E2101", "this function has no result", node.value, "a value")
            return
        found = self.infer(node.value, self.result)
        if self.result is not ERROR and found is not ERROR and self.is_value(found, node.value):
            self.coerce(node.value, found, self.result)

    def static_for(self, node: tree.StaticFor) -> None:
        """Over a block array, or over compile-time bounds."""
        self.scopes.append({})
        if node.stop is None:
            found = self.infer(node.start)
            element: Type = ERROR
            if isinstance(found, ArrayType):
                element = found.element
            elif found is not ERROR:
                self.error(
                    "E2121",
                    f"`static for` walks a block array, not {found}",
                    node.start,
                    "no array",
                )
        else:
            element = I64
            self.static_bounds(node.start, node.stop)
        if isinstance(node.pattern, tree.NamePattern):
            name = tree.Identifier(node.pattern.span, node.pattern.text)
            local = self.declare(name, element, node)
            self.records.patterns[node.pattern] = local
        else:
            self.error("E2121", "`static for` binds one name", node.pattern, "not a name")
        self.loop_body(node, node.body)
        self.scopes.pop()

    def static_bounds(self, start: tree.Expr, stop: tree.Expr) -> None:
        """E2121 for bounds that are no compile-time integers in order."""
        for bound in (start, stop):
            found = self.infer(bound)
            size = getattr(self.records.names.get(bound), "size", None)
            if not isinstance(found, CompileInt) and not isinstance(size, Poly):
                if found is not ERROR:
                    self.error(
                        "E2121",
                        "bounds of `static for` are compile-time integers",
                        bound,
                        f"{found}",
                    )
                return
        self.loop_extent(start, stop, "E2121")

    # Scans

    def yield_type(self, expr: tree.ScanExpr) -> Type:
        """Checks a scan's body, which ends in its only `yield`."""
        statements = expr.body.statements
        last = statements[-1] if statements else None
        if not isinstance(last, tree.Yield):
            self.error(
                "E2124", "a loop that is a value ends in `yield`", last or expr, "no `yield`"
            )
            self.loop_body(expr, expr.body)
            return ERROR
        self.loops.append(expr)
        self.loop_depths.append((expr, len(self.scopes)))
        self.scopes.append({})
        for statement in statements[:-1]:
            self.statement(statement)
        found = self.infer(last.value)
        ok = self.is_value(found, last.value)
        if ok and isinstance(found, CompileInt):
            self.coerce(last.value, found, I64)
            found = I64
        elif ok:
            found = self.settle(last.value, found)
        self.warn_unused()
        self.scopes.pop()
        self.loop_depths.pop()
        self.loops.pop()
        return found if ok else ERROR

    def yield_(self, node: tree.Yield) -> None:
        """A `yield` that does not end a scan's body."""
        self.infer(node.value)
        self.error(
            "E2124",
            "`yield` ends the body of a loop that is a value",
            node,
            "misplaced",
            helps=("write `let xs = for i in 0..n { ... yield x }`",),
        )

    # Gradients

    def check_gradient(self, fn: FunctionDef, node: tree.Gradient) -> None:
        """`grad(y, dy) { ... }` returns the gradient of each floating tensor parameter."""
        result = fn.result
        if result is ERROR or any(p.type is ERROR for p in fn.params):
            return
        if not isinstance(result, (Scalar, Tensor)) or not is_float(result.dtype):
            self.error(
                "E2125", "`grad` needs an op with one floating result", node, f"it is {result}"
            )
            return
        odd = [p for p in fn.params if not isinstance(p.type, (Scalar, Tensor))]
        if odd:
            self.error(
                "E2125",
                f"`grad` needs tensors and scalars; `{odd[0].name}` is {odd[0].type}",
                node,
                "not allowed here",
            )
            return
        wanted = [
            p.type for p in fn.params if isinstance(p.type, Tensor) and is_float(p.type.dtype)
        ]
        if not wanted:
            self.error("E2125", "no parameter has a gradient", node, "no floating tensor")
            return
        self.enter(fn)
        self.result = wanted[0] if len(wanted) == 1 else TupleType(tuple(wanted))
        for name in (node.result, node.gradient):
            if name.text in self.scopes[0]:
                self.error("E1205", f"`{name.text}` is a parameter already", name, "declared again")
            self.declare(name, result, name, is_param=True)
        self.function_body(node.body, node.span)
