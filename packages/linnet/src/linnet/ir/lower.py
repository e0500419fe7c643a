"""Checked syntax trees to IR."""

from __future__ import annotations

from linnet.check.definitions import ConstDef, FunctionDef, ModuleScope
from linnet.check.records import Local, MemberUse
from linnet.check.types import UNIT, BlockType
from linnet.ir.expressions import ExpressionLowerer
from linnet.ir.model import IRConstant, IRFunction, IRModule, IRParam, Region
from linnet.source.recursion import deep_recursion
from linnet.syntax import tree


def lower(module: ModuleScope) -> IRModule:
    """Lowers every function of a checked module without errors."""
    with deep_recursion():
        return IRModule(
            module,
            {fn: lower_function(fn) for fn in module.functions()},
            {constant: lower_constant(constant) for constant in module.constants()},
        )


def lower_constant(constant: ConstDef) -> IRConstant:
    """Lowers the value of one checked constant."""
    lowerer = ExpressionLowerer(constant.scope)
    lowerer.open()
    number = lowerer.constant(constant, constant.span)
    body = lowerer.close((), (number,))
    return IRConstant(constant, body, tuple(lowerer.types), tuple(lowerer.names))


def lower_function(fn: FunctionDef) -> IRFunction:
    """Lowers one checked function."""
    return FunctionLowerer(fn).function()


class FunctionLowerer(ExpressionLowerer):
    """Lowers statements."""

    def __init__(self, fn: FunctionDef) -> None:
        super().__init__(fn.scope)
        self.fn = fn

    def function(self) -> IRFunction:
        """The whole function."""
        fn = self.fn
        if fn.block is not None:
            arguments = tuple(g.key for g in fn.block.generics)
            self.instance = self.value(BlockType(fn.block, self.as_values(arguments)), "self")
        params = [self.value(p.type, p.name) for p in fn.params]
        for param, number in zip(fn.params, params, strict=True):
            self.environment[self.records.locals[param.node]] = number
        defaults = [
            None if p.node.default is None else self.region(p.node.default) for p in fn.params
        ]
        body = self.function_body(fn.node.body)
        gradient = None
        if fn.node.gradient is not None:
            node = fn.node.gradient
            result = fn.result or UNIT
            extra = (self.value(result, node.result.text), self.value(result, node.gradient.text))
            for name, number in zip((node.result, node.gradient), extra, strict=True):
                self.environment[self.records.locals[name]] = number
            found = self.function_body(node.body)
            gradient = Region((*params, *extra), found.operations, found.results)
        return IRFunction(
            fn,
            fn.scope,
            self.instance,
            tuple(
                IRParam(p.name, p.type, n, d)
                for p, n, d in zip(fn.params, params, defaults, strict=True)
            ),
            fn.result or UNIT,
            body,
            tuple(self.types),
            tuple(self.names),
            gradient,
        )

    def function_body(self, block: tree.Block) -> Region:
        """A body; its results are the returned value, or none."""
        self.open()
        results: tuple[int, ...] = ()
        for statement in block.statements:
            if isinstance(statement, tree.Return):
                if statement.value is not None:
                    results = (self.expression(statement.value),)
                break
            self.statement(statement)
        return self.close((), results)

    # Statements

    def statement(self, node: tree.Statement) -> None:
        """Dispatches by kind."""
        if isinstance(node, tree.Let):
            self.bind(node.pattern, self.expression(node.value))
        elif isinstance(node, tree.IndexDefinition):
            number = self.index_definition(node)
            self.environment[self.records.locals[node]] = number
        elif isinstance(node, tree.Var):
            self.assign_local(self.records.locals[node], self.expression(node.value))
        elif isinstance(node, tree.Assign):
            self.assign(node)
        elif isinstance(node, tree.StaticFor):
            self.static_for(node)
        elif isinstance(node, tree.For):
            self.loop(node, node.counter, node.start, node.stop, node.body)
        elif isinstance(node, tree.While):
            self.while_(node)
        else:
            raise AssertionError(f"{type(node).__name__} is no statement of a checked body")

    def assign(self, node: tree.Assign) -> None:
        """A variable gets a new value; a state is written."""
        number = self.expression(node.value)
        target = self.records.names[node]
        if isinstance(target, MemberUse):
            assert self.instance is not None
            self.emit(
                "state_write", (self.instance, number), None, node.span, member=target.member.name
            )
        else:
            assert isinstance(target, Local)
            self.assign_local(target, number)

    def assign_local(self, local: Local, number: int) -> None:
        """A variable's value from here on."""
        self.environment[local] = number
        self.names[number] = self.names[number] or local.name

    # Loops

    def carried(self, block: tree.Block) -> list[Local]:
        """Variables from outside that a body assigns, in order of declaration."""
        found: dict[Local, None] = {}
        pending: list[tree.Block] = [block]
        while pending:
            for node in pending.pop().statements:
                if isinstance(node, tree.Assign):
                    target = self.records.names[node]
                    if isinstance(target, Local) and target in self.environment:
                        found[target] = None
                elif isinstance(node, (tree.StaticFor, tree.For, tree.While)):
                    pending.append(node.body)
                value = getattr(node, "value", None)
                if isinstance(value, tree.ScanExpr):
                    pending.append(value.body)
        return [local for local in self.environment if local in found]

    def inner_region(
        self, carried: list[Local], extra: tuple[int, ...], statements: tuple[tree.Statement, ...]
    ) -> tuple[tuple[int, ...], dict[Local, int]]:
        """Opens a region whose parameters are `extra` and the carried values; runs statements."""
        outer = dict(self.environment)
        self.open()
        inputs = tuple(self.value(local.type, local.name) for local in carried)
        for local, number in zip(carried, inputs, strict=True):
            self.environment[local] = number
        for statement in statements:
            self.statement(statement)
        return (*extra, *inputs), outer

    def finish(self, carried: list[Local], outer: dict[Local, int]) -> tuple[int, ...]:
        """The carried values at the end of a body; the environment becomes the outer one."""
        results = tuple(self.environment[local] for local in carried)
        self.environment = outer
        return results

    def rebind(self, carried: list[Local], results: tuple[int, ...]) -> None:
        """After a loop its variables are the loop's results."""
        for local, number in zip(carried, results, strict=True):
            self.environment[local] = number

    def carried_results(self, carried: list[Local]) -> tuple[int, ...]:
        """New values for what a loop gives."""
        return tuple(self.value(local.type, local.name) for local in carried)

    def static_for(self, node: tree.StaticFor) -> None:
        """Unrolled when the sizes are bound."""
        carried = self.carried(node.body)
        operands = tuple(self.environment[local] for local in carried)
        local = self.records.locals[node]
        attributes: dict[str, object] = {"start": None, "stop": None}
        if node.stop is None:
            operands = (self.expression(node.start), *operands)
        else:
            attributes = {"start": self.size_of(node.start), "stop": self.size_of(node.stop)}
        element = self.value(local.type, local.name)
        self.environment[local] = element
        params, outer = self.inner_region(carried, (element,), node.body.statements)
        region = self.close(params, self.finish(carried, outer))
        results = self.carried_results(carried)
        self.emit_many("static_for", operands, results, node.span, (region,), **attributes)
        self.rebind(carried, results)

    def while_(self, node: tree.While) -> None:
        """A loop whose condition is known when it runs."""
        carried = self.carried(node.body)
        operands = tuple(self.environment[local] for local in carried)
        params, outer = self.inner_region(carried, (), ())
        condition = self.expression(node.condition)
        self.environment = outer
        head = self.close(params, (condition,))
        params, outer = self.inner_region(carried, (), node.body.statements)
        body = self.close(params, self.finish(carried, outer))
        results = self.carried_results(carried)
        self.emit_many("while", operands, results, node.span, (head, body))
        self.rebind(carried, results)

    def loop(
        self,
        node: tree.For | tree.ScanExpr,
        counter: tree.Identifier,
        start: tree.Expr,
        stop: tree.Expr,
        body: tree.Block,
    ) -> int | None:
        """`for`, with what it yields stacked if it is a value; gives the stacked value."""
        carried = self.carried(body)
        operands = tuple(self.environment[local] for local in carried)
        local = self.records.locals[node]
        position = self.value(local.type, counter.text)
        self.environment[local] = position
        statements = body.statements
        last = statements[-1] if statements and isinstance(statements[-1], tree.Yield) else None
        plain = statements[:-1] if last is not None else statements
        params, outer = self.inner_region(carried, (position,), plain)
        yields = () if last is None else (self.expression(last.value),)
        region = self.close(params, (*self.finish(carried, outer), *yields))
        results = self.carried_results(carried)
        stacked: tuple[int, ...] = ()
        if isinstance(node, tree.ScanExpr):
            stacked = (self.value(self.records.types[node], ""),)
        self.emit_many(
            "scan",
            operands,
            (*results, *stacked),
            node.span,
            (region,),
            start=self.size_of(start),
            stop=self.size_of(stop),
            yields=len(stacked),
        )
        self.rebind(carried, results)
        return stacked[0] if stacked else None

    def scan(self, node: tree.ScanExpr) -> int:
        """A loop as a value."""
        found = self.loop(node, node.counter, node.start, node.stop, node.body)
        assert found is not None
        return found
