"""Calls of functions, methods and struct constructors."""

from __future__ import annotations

from linnet.check.definitions import (
    BlockDef,
    Definition,
    EnumDef,
    FunctionDef,
    GenericDef,
    GenericParam,
    ImportedItem,
    ImportedModule,
    KernelDef,
    StructDef,
)
from linnet.check.inference import Unifier
from linnet.check.members import arguments_of
from linnet.check.operators import OperatorChecker
from linnet.check.records import FunctionCall, StructCall
from linnet.check.sizes import PRELUDE
from linnet.check.types import (
    CLASSES,
    DTYPE_NAMES,
    ERROR,
    ArrayType,
    BlockType,
    DTypeVar,
    ModuleType,
    OptionalType,
    StructType,
    Substitution,
    Tensor,
    Type,
    dtype_class,
)
from linnet.shapes import Poly
from linnet.source import clip
from linnet.syntax import tree


class CallChecker(OperatorChecker):
    """Types of calls."""

    def infer_call(self, expr: tree.Call, expected: Type | None) -> Type:
        """Finds the callee by its form."""
        callee = expr.callee
        while isinstance(callee, tree.Paren):
            callee = callee.inner
        if isinstance(callee, tree.Name):
            return self.call_name(expr, callee, expected)
        if isinstance(callee, tree.Field):
            return self.call_field(expr, callee, expected)
        found = self.infer(callee)
        self.not_callable(callee, found)
        return ERROR

    def not_callable(self, at: tree.Node, found: Type | str, *helps: str) -> None:
        """E2106."""
        if found is not ERROR:
            self.error("E2106", f"{found} cannot be called", at, "not callable", helps=helps)

    def call_name(self, expr: tree.Call, callee: tree.Name, expected: Type | None) -> Type:
        """`name(...)`."""
        name = callee.text
        local = self.local(name)
        if local is not None:
            local.used = True
            self.not_callable(callee, local.type)
            return ERROR
        if name in self.generics:
            self.not_callable(callee, f"the generic `{name}`")
            return ERROR
        if self.block is not None and name in self.block.members:
            member = self.block.members[name]
            member.used = True
            helps: tuple[str, ...] = ()
            if isinstance(member.type, BlockType):
                methods = (f"`{name}.{m.name}(...)`" for m in member.type.definition.methods())
                helps = (f"call one of its methods: {', '.join(methods) or 'it has none'}",)
            self.not_callable(callee, member.type, *helps)
            return ERROR
        found = self.item(name)
        if isinstance(found, ImportedModule):
            self.not_callable(callee, f"the module `{name}`")
            return ERROR
        definition = self.definition(name, callee)
        if definition is not None:
            return self.call_definition(expr, definition, None)
        if isinstance(found, ImportedItem):
            return ERROR
        if name in PRELUDE:
            return self.call_prelude(expr, name, expected)
        if name in DTYPE_NAMES:
            self.not_callable(callee, f"the dtype {name}", f"convert with `cast<{name}>(...)`")
            return ERROR
        self.unknown(name, callee, "function")
        return ERROR

    def call_prelude(self, expr: tree.Call, name: str, expected: Type | None) -> Type:
        """Overridden by the prelude."""
        raise NotImplementedError

    def call_field(self, expr: tree.Call, callee: tree.Field, expected: Type | None) -> Type:
        """`module.item(...)` or `block.method(...)`."""
        enum = self.enum_named(callee.base)
        if enum is not None:
            self.variant(enum, callee)
            self.not_callable(callee, f"a variant of `{enum.name}`")
            return ERROR
        frame, self.frame = self.frame, None
        if frame is not None:
            self.hidden_frames.append(frame)
        base = self.infer(callee.base)
        if frame is not None:
            self.hidden_frames.pop()
            self.frame = frame
        name = callee.name.text
        if isinstance(base, ModuleType):
            found = self.public_item(base.module, callee.name)
            if found is None:
                return ERROR
            self.session.resolve(found, self.mark(callee.name))
            return self.call_definition(expr, found, None)
        if isinstance(base, BlockType):
            return self.call_method(expr, callee, base)
        if base is ERROR:
            return ERROR
        helps: tuple[str, ...] = ()
        if isinstance(base, OptionalType) and isinstance(base.inner, BlockType):
            helps = ("it may be absent: `match` on it first",)
        elif isinstance(base, ArrayType):
            helps = ("call the method of one block, in a `static for`",)
        elif name in PRELUDE:
            helps = (f"it is a function: `{name}(...)`",)
        elif name == "to":
            helps = ("convert with `cast<f32>(...)`",)
        self.error(
            "E2107", f"{base} has no method `{clip(name)}`", callee.name, "none", helps=helps
        )
        return ERROR

    def call_method(self, expr: tree.Call, callee: tree.Field, base: BlockType) -> Type:
        """`block.method(...)`."""
        name = callee.name.text
        method = base.definition.items.get(name)
        if not isinstance(method, FunctionDef):
            if name in base.definition.members:
                member = base.definition.members[name]
                self.not_callable(callee, arguments_of(base).type(member.type))
                return ERROR
            known = ", ".join(m.name for m in base.definition.methods()) or "none"
            self.error(
                "E2107",
                f"{base} has no method `{clip(name)}`",
                callee.name,
                "none",
                helps=(f"it has: {known}",),
            )
            return ERROR
        if not method.public and base.definition.scope is not self.module:
            self.error(
                "E1203", f"`{name}` is private to `{base.definition.name}`", callee.name, "private"
            )
            return ERROR
        self.session.resolve(method, self.mark(callee.name))
        return self.call_definition(expr, method, (callee.base, base))

    def call_definition(
        self, expr: tree.Call, target: Definition, instance: tuple[tree.Expr, BlockType] | None
    ) -> Type:
        """Calls a function or builds a struct."""
        if isinstance(target, StructDef):
            return self.build_struct(expr, target)
        if isinstance(target, KernelDef):
            self.error(
                "E2126",
                f"`{target.name}` is a kernel; only an op can name it",
                expr.callee,
                "kernel",
            )
            return ERROR
        if not isinstance(target, FunctionDef):
            what = {EnumDef: "an enum", BlockDef: "a block"}.get(type(target), "no function")
            self.not_callable(expr.callee, f"`{target.name}` is {what}; it")
            return ERROR
        if self.function is not None:
            self.function.callees.setdefault(target, expr.span)
        if self.frame is not None:
            self.error(
                "E3104",
                "a function of the program is not valid in index notation",
                expr,
                "not an element",
                helps=("compute the tensor in a `let` before, then index it",),
            )
            return ERROR
        return self.call_function(expr, target, instance)

    # Functions

    def call_function(
        self, expr: tree.Call, target: FunctionDef, instance: tuple[tree.Expr, BlockType] | None
    ) -> Type:
        """Matches arguments, infers generics, checks, proves `where`."""
        params = target.params
        matched = self.match_arguments(
            expr, target.name, [(p.name, p.node.default is not None) for p in params]
        )
        if matched is None:
            self.infer_all(expr)
            return ERROR
        values = arguments_of(instance[1]) if instance else Substitution()
        explicit = self.explicit_arguments(target, expr.generics or (), expr.span)
        if explicit is None:
            self.infer_all(expr)
            return ERROR
        for generic, value in zip(target.generics, explicit, strict=False):
            values.bind(generic.key, value)
        types: list[Type | None] = []
        unifier = Unifier({g.key for g in target.generics}, self.facts, values)
        failed = False
        for param, argument in zip(params, matched, strict=True):
            if argument is None or isinstance(argument, tree.NoneLiteral):
                types.append(None)
                continue
            found = self.infer(argument, self.hint(param.type, values, target))
            if not self.is_value(found, argument):
                failed = True
                types.append(None)
                continue
            types.append(found)
            unifier.unify(values.type(param.type) if not target.generics else param.type, found)
        for param, found_ in zip(params, types, strict=True):
            if found_ is not None:
                unifier.unify_literals(param.type, found_)
        unifier.infer_factors()
        if failed or not self.complete_generics(expr, target, values):
            return ERROR
        ok = True
        for param, argument, found_ in zip(params, matched, types, strict=True):
            if argument is None:
                continue
            wanted = values.type(param.type)
            if found_ is None:
                found_ = self.infer(argument, wanted)
            ok = self.coerce(argument, found_, wanted) and ok
        ok = self.prove_where(target, values, expr.span) and ok
        self.records.calls[expr] = FunctionCall(
            target, values, tuple(matched), instance[0] if instance else None, len(explicit)
        )
        result = values.type(target.result or ERROR)
        return self.simplified(result) if ok else ERROR

    def hint(self, t: Type, values: Substitution, target: GenericDef) -> Type | None:
        """The parameter's type as a hint for its argument, when generics do not matter."""
        return values.type(t) if not target.generics else None

    def simplified(self, t: Type) -> Type:
        """A type with its sizes in simplest form."""
        if isinstance(t, Tensor):
            dims = tuple(self.facts.simplify(d) if isinstance(d, Poly) else d for d in t.dims)
            return Tensor(dims, t.dtype)
        if isinstance(t, OptionalType):
            return OptionalType(self.simplified(t.inner))
        return t

    def infer_all(self, expr: tree.Call) -> None:
        """Looks into the arguments of a call that is wrong anyway."""
        for argument in expr.arguments:
            if not isinstance(argument.value, (tree.ListExpr, tree.NoneLiteral)):
                self.infer(argument.value)

    def match_arguments(
        self, expr: tree.Call, name: str, params: list[tuple[str, bool]]
    ) -> list[tree.Expr | None] | None:
        """Arguments in the order of the parameters, None for defaults; None after E2102."""
        found: dict[str, tree.Expr] = {}
        named = False
        names = [p for p, _ in params]
        for position, argument in enumerate(expr.arguments):
            if argument.name is None:
                if named:
                    self.bad_argument(argument, "positional arguments stand before named ones")
                    return None
                if position >= len(params):
                    self.bad_argument(
                        argument,
                        f"`{name}` takes {len(params)} arguments, not {len(expr.arguments)}",
                    )
                    return None
                found[names[position]] = argument.value
                continue
            named = True
            key = argument.name.text
            if key not in names:
                known = f"it has: {', '.join(names)}" if names else "it has none"
                self.bad_argument(argument, f"`{name}` has no parameter `{clip(key)}`", known)
                return None
            if key in found:
                self.bad_argument(argument, f"`{key}` is given twice")
                return None
            found[key] = argument.value
        missing = [p for p, default in params if p not in found and not default]
        if missing:
            listed = ", ".join(f"`{p}`" for p in missing)
            self.error("E2102", f"`{name}` also needs {listed}", expr, f"{len(missing)} missing")
            return None
        return [found.get(p) for p in names]

    def bad_argument(self, argument: tree.Argument, message: str, *helps: str) -> None:
        """E2102."""
        self.error("E2102", message, argument, "here", helps=helps)

    def complete_generics(self, expr: tree.Call, target: GenericDef, values: Substitution) -> bool:
        """Defaults for what is not bound; E2110 for the rest; E2112 for wrong classes."""
        for generic in target.generics:
            if not values.bound(generic.key):
                if generic.default is None:
                    self.error(
                        "E2110",
                        f"the generic `{generic.name}` of `{target.name}` cannot be inferred",
                        expr,
                        "no argument tells it",
                        helps=(f"give it: `{target.name}<...>(...)`",),
                    )
                    return False
                values.bind(generic.key, values.argument(generic.default))
            if not self.class_fits(expr, generic, values):
                return False
        return True

    def class_fits(self, expr: tree.Call, generic: GenericParam, values: Substitution) -> bool:
        """E2112 for a dtype that is not of the generic's class."""
        if not isinstance(generic.key, DTypeVar):
            return True
        dtype = values.dtypes[generic.key]
        if dtype_class(dtype) <= CLASSES[generic.kind]:
            return True
        return self.check_class(dtype, generic, expr)

    # Structs

    def build_struct(self, expr: tree.Call, target: StructDef) -> Type:
        """`S(field = value, ...)`, all fields by keyword."""
        if self.frame is not None:
            self.error("E3104", "a struct is not an element", expr, "in index notation")
            return ERROR
        if any(argument.name is None for argument in expr.arguments):
            first = next(a for a in expr.arguments if a.name is None)
            self.bad_argument(
                first, f"fields of `{target.name}` are given by name", "write `field = value`"
            )
            self.infer_all(expr)
            return ERROR
        matched = self.match_arguments(expr, target.name, [(f, False) for f in target.fields])
        explicit = self.explicit_arguments(target, expr.generics or (), expr.span)
        if matched is None or explicit is None:
            self.infer_all(expr)
            return ERROR
        values = Substitution()
        for generic, value in zip(target.generics, explicit, strict=False):
            values.bind(generic.key, value)
        unifier = Unifier({g.key for g in target.generics}, self.facts, values)
        given = [e for e in matched if e is not None]
        types: list[Type | None] = []
        for field, argument in zip(target.fields.values(), given, strict=True):
            if isinstance(argument, tree.NoneLiteral):
                types.append(None)
                continue
            found = self.infer(argument, field if not target.generics else None)
            if not self.is_value(found, argument):
                return ERROR
            types.append(found)
            unifier.unify(field, found)
        for field, found_ in zip(target.fields.values(), types, strict=True):
            if found_ is not None:
                unifier.unify_literals(field, found_)
        unifier.infer_factors()
        if not self.complete_generics(expr, target, values):
            return ERROR
        ok = True
        for field, argument, found_ in zip(target.fields.values(), given, types, strict=True):
            wanted = values.type(field)
            if found_ is None:
                found_ = self.infer(argument, wanted)
            ok = self.coerce(argument, found_, wanted) and ok
        self.records.calls[expr] = StructCall(target, tuple(given), len(explicit))
        if not ok:
            return ERROR
        return StructType(target, tuple(values.get(g.key) for g in target.generics))
