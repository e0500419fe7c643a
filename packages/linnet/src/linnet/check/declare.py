"""Declarations: the names of a module, and completing a definition when it is first needed."""

from __future__ import annotations

from collections.abc import Iterable

from linnet.check.definitions import (
    AliasDef,
    BlockDef,
    ConstDef,
    Definition,
    EnumDef,
    FunctionDef,
    GenericDef,
    GenericParam,
    ImportedItem,
    ImportedModule,
    KernelDef,
    MemberInfo,
    ModuleScope,
    ParamInfo,
    StructDef,
    Where,
)
from linnet.check.loader import LoadedModule
from linnet.check.records import Records
from linnet.check.session import Session
from linnet.check.types import (
    CLASSES,
    ERROR,
    MOST_PARTS,
    UNIT,
    ArrayType,
    BlockType,
    DTypeVar,
    OptionalType,
    Tensor,
    Type,
    parts_of,
)
from linnet.check.written import TypeResolver
from linnet.shapes import Atom, Constraint, Facts, Pack
from linnet.source import Mark, Span
from linnet.syntax import tree


def open_scope(
    loaded: LoadedModule, scopes: dict[LoadedModule, ModuleScope], session: Session
) -> ModuleScope:
    """The scope of a module with all names declared and imports connected, nothing resolved."""
    scope = ModuleScope(
        loaded.name,
        loaded.file,
        loaded.tree,
        records=Records(),
        library=loaded.library,
        root=loaded.root,
        inside=loaded.inside,
    )
    declarer = Declarer(session, scope)
    for use in loaded.tree.uses:
        target = loaded.targets.get(use)
        declarer.use(use, scopes.get(target) if target else None)
    for item in loaded.tree.items:
        definition = declarer.define(item, None)
        if definition is not None:
            scope.items.append(definition)
    return scope


def resolve(definition: Definition, at: Mark, session: Session) -> None:
    """Completes a definition; E2122 if that needs the definition itself."""
    if definition.state == "done":
        return
    if definition.state == "busy":
        if not isinstance(definition, FunctionDef):
            declarer = Declarer(session, definition.scope)
            declarer.error(
                "E2122",
                f"the definition of `{definition.name}` needs itself",
                definition.span,
                "cyclic",
            )
            give_up(definition)
        return
    definition.state = "busy"
    Declarer(session, definition.scope).complete(definition)
    definition.state = "done"


def give_up(definition: Definition) -> None:
    """Leaves a definition as it is, wrong already where it would have a type."""
    definition.state = "done"
    if isinstance(definition, ConstDef):
        definition.type = ERROR
    elif isinstance(definition, AliasDef):
        definition.target = ERROR


class Declarer(TypeResolver):
    """Declares and completes definitions of one module."""

    # Names

    def use(self, use: tree.Use, target: ModuleScope | None) -> None:
        """Binds what a `use` line imports."""
        if use.items is None:
            name = use.path[-1]
            if target is not None:
                self.bind(name, ImportedModule(target, use.span))
            return
        for imported in use.items:
            found: Definition | None = None
            if target is not None:
                found = self.public_item(target, imported.name)
            self.bind(imported.local, ImportedItem(found, imported.span))

    def bind(
        self, name: tree.Identifier, value: Definition | ImportedModule | ImportedItem
    ) -> bool:
        """Gives a name at the level of the module."""
        self.check_new_name(name)
        earlier = self.module.names.get(name.text)
        if earlier is not None:
            self.error(
                "E1204",
                f"`{name.text}` is declared twice",
                name,
                "declared again",
                related=(self.mark(earlier.span, "first declared here"),),
            )
            return False
        self.module.names[name.text] = value
        return True

    def define(self, item: tree.Item, block: BlockDef | None) -> Definition | None:
        """Makes the definition of an item and gives it its name."""
        head = (item.name.text, self.module, item.name.span, item.public)
        definition: Definition
        if isinstance(item, tree.Const):
            definition = ConstDef(*head, node=item)
        elif isinstance(item, tree.Alias):
            definition = AliasDef(*head, node=item)
        elif isinstance(item, tree.Struct):
            definition = StructDef(*head, node=item)
        elif isinstance(item, tree.Enum):
            definition = EnumDef(*head, variants=tuple(v.text for v in item.variants))
            self.distinct(item.variants, "variant")
        elif isinstance(item, tree.Kernel):
            definition = KernelDef(*head)
            self.error(
                "E2190",
                "tile kernels are not implemented yet",
                item.name,
                "not implemented",
                helps=("write an `op` whose body defines the result",),
            )
        elif isinstance(item, tree.Function):
            definition = FunctionDef(*head, node=item, block=block)
        else:
            definition = BlockDef(*head, node=item)
            self.block_names(definition, item)
        if block is None:
            return definition if self.bind(item.name, definition) else None
        return definition

    def block_names(self, block: BlockDef, node: tree.BlockItem) -> None:
        """Names of members and items inside a block."""
        taken: dict[str, Span] = {}
        for part in node.content:
            self.check_new_name(part.name)
            if part.name.text in taken:
                self.error(
                    "E1205",
                    f"block `{block.name}` has `{part.name.text}` twice",
                    part.name,
                    "declared again",
                    related=(self.mark(taken[part.name.text], "first declared here"),),
                )
                continue
            taken[part.name.text] = part.name.span
            if isinstance(part, tree.Member):
                info = MemberInfo(part.name.text, part.kind, ERROR, part)
                block.members[info.name] = info
            elif isinstance(part, (tree.Function, tree.Const)):
                definition = self.define(part, block)
                if definition is not None:
                    block.items[definition.name] = definition
            elif isinstance(part, tree.Kernel):
                self.define(part, block)
            else:
                self.error(
                    "E2190",
                    "types and blocks inside a block are not implemented",
                    part.name,
                    "not implemented",
                    helps=("declare it beside the block",),
                )

    def distinct(self, names: Iterable[tree.Identifier], what: str) -> None:
        """E1205 for names that repeat."""
        seen: dict[str, Span] = {}
        for name in names:
            if name.text in seen:
                self.error(
                    "E1205",
                    f"there are two of the {what} `{name.text}`",
                    name,
                    "declared again",
                    related=(self.mark(seen[name.text], "first declared here"),),
                )
            seen.setdefault(name.text, name.span)

    # Completing

    def complete(self, definition: Definition) -> None:
        """Fills in generics, types and facts."""
        if isinstance(definition, ConstDef):
            self.complete_const(definition)
        elif isinstance(definition, AliasDef) and definition.node is not None:
            self.enter_generics(definition, definition.node.generics, ())
            definition.target = self.type(definition.node.target)
        elif isinstance(definition, StructDef) and definition.node is not None:
            self.enter_generics(definition, definition.node.generics, ())
            self.distinct([f.name for f in definition.node.fields], "field")
            for field in definition.node.fields:
                definition.fields[field.name.text] = self.type(field.type)
            definition.parts = self.bounded(definition.fields.values(), definition)
        elif isinstance(definition, BlockDef) and definition.node is not None:
            self.complete_block(definition, definition.node)
        elif isinstance(definition, FunctionDef):
            self.complete_function(definition)

    def complete_const(self, definition: ConstDef) -> None:
        """The type of a constant; compile-time integers and float literals keep their value."""
        from linnet.check.constants import ConstChecker

        checker = ConstChecker(self.session, self.module)
        definition.type = checker.constant(definition)

    def complete_function(self, fn: FunctionDef) -> None:
        """Generics, constraints, parameters, result."""
        node = fn.node
        outer: list[tuple[Where, ...]] = []
        if fn.block is not None:
            self.session.resolve(fn.block, self.mark(node.name))
            self.block = fn.block
            self.generics = {g.name: g for g in fn.block.generics}
            outer.append(fn.block.where)
        self.enter_generics(fn, node.generics, node.where, outer)
        self.distinct(
            [*(g.name for g in node.generics), *(p.name for p in node.params)], "parameter"
        )
        params = []
        for param in node.params:
            self.check_new_name(param.name)
            params.append(ParamInfo(param.name.text, self.type(param.type), param))
        fn.params = tuple(params)
        fn.result = UNIT if node.result is None else self.type(node.result)
        if node.kernel is not None:
            self.error(
                "E2190", "tile kernels are not implemented yet", node.kernel, "not implemented"
            )

    def complete_block(self, block: BlockDef, node: tree.BlockItem) -> None:
        """Generics, constraints, members."""
        self.enter_generics(block, node.generics, node.where)
        self.block = block
        for member in block.members.values():
            member.type = self.member_type(member)
        block.parts = self.bounded((m.type for m in block.members.values()), block)

    def bounded(self, types: Iterable[Type], definition: Definition) -> int:
        """How many parts a definition has; 0 after E2190 for too many, so that it is said once."""
        parts = sum(map(parts_of, types))
        if parts <= MOST_PARTS:
            return parts
        self.too_many_parts(definition.span)
        return 0

    def member_type(self, member: MemberInfo) -> Type:
        """The type of a member, after checking that its kind allows it."""
        node = member.node
        found = self.type(node.type, blocks=member.kind == "sub")
        if found is ERROR:
            return ERROR
        inner = found.inner if isinstance(found, OptionalType) else found
        wrong = ""
        if member.kind == "sub":
            if not isinstance(inner, (BlockType, ArrayType)):
                wrong = "a `sub` is a block, a block array or an optional block"
            elif isinstance(inner, ArrayType) and isinstance(found, OptionalType):
                wrong = "a block array cannot be optional"
        elif not isinstance(inner, Tensor):
            wrong = f"a `{member.kind}` is a tensor"
        elif isinstance(found, OptionalType) and member.kind != "param":
            wrong = f"a `{member.kind}` cannot be optional"
        if wrong:
            self.error("E4101", wrong, node.type, f"this is {found}")
            return ERROR
        if node.default is not None:
            if not isinstance(node.default, tree.NoneLiteral):
                self.error(
                    "E4102" if member.kind == "param" else "E4101",
                    "members hold no data: the only default is `none`",
                    node.default,
                    "not `none`",
                    helps=("weights come from a file at load time",),
                )
                return ERROR
            if not isinstance(found, OptionalType):
                self.error(
                    "E4101",
                    "only an optional member has the default `none`",
                    node.default,
                    "not optional",
                )
                return ERROR
        return found

    def enter_generics(
        self,
        target: GenericDef,
        generics: tuple[tree.Generic, ...],
        where: tuple[tree.Expr, ...],
        outer: Iterable[tuple[Where, ...]] = (),
    ) -> None:
        """Declares generics, then takes the constraints as facts, then proves their divisors."""
        self.distinct([g.name for g in generics], "generic")
        declared: list[GenericParam] = []
        self.hold_obligations()
        for node in generics:
            param = self.generic(node, declared)
            declared.append(param)
            self.generics[param.name] = param
        target.generics = tuple(declared)
        constraints = [w.constraint for group in outer for w in group]
        own: list[Where] = []
        for expr in where:
            constraint = self.constraint(expr)
            if constraint is not None:
                own.append(Where(constraint, expr.span))
                constraints.append(constraint)
        target.where = tuple(own)
        target.facts = Facts(constraints)
        self.facts = target.facts
        self.release_obligations()

    def generic(self, node: tree.Generic, earlier: list[GenericParam]) -> GenericParam:
        """One generic with its default."""
        self.check_new_name(node.name)
        name, kind = node.name.text, node.kind.text
        if node.name.text in self.generics and all(g.name != name for g in earlier):
            self.error(
                "E1205", f"the block already has a generic `{name}`", node.name, "declared again"
            )
        if (kind == "Shape") != node.pack:
            self.error(
                "E2111",
                "a shape is declared with `*` and the kind `Shape`",
                node,
                "both or neither",
                helps=(f"write `*{name}: Shape` or `{name}: Dim`",),
            )
        key: Atom | Pack | DTypeVar
        if kind in CLASSES:
            key = DTypeVar(name, kind)
        elif node.pack or kind == "Shape":
            key = Pack(name)
        else:
            key = Atom("symbol", name, ())
        param = GenericParam(name, kind, key, node.name.span)
        if node.default is not None:
            param.default = self.generic_argument(param, node.default)
        return param

    def constraint(self, expr: tree.Expr) -> Constraint | None:
        """A comparison of a `where` clause."""
        while isinstance(expr, tree.Paren):
            expr = expr.inner
        comparisons = ("==", "!=", "<", "<=", ">", ">=")
        if not isinstance(expr, tree.Binary) or expr.operator not in comparisons:
            self.error(
                "E2123",
                "a `where` clause compares sizes",
                expr,
                "no comparison",
                helps=("write for example `where H % N == 0, N > 0`",),
            )
            return None
        left, right = self.size(expr.left), self.size(expr.right)
        if left is None or right is None:
            return None
        return Constraint(expr.operator, left, right)
