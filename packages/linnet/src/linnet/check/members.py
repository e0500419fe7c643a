"""Members: `module.item`, `Enum.Variant`, `struct.field`, `block.member`."""

from __future__ import annotations

from linnet.check.definitions import EnumDef, ImportedItem, ImportedModule
from linnet.check.expressions import ExpressionChecker
from linnet.check.records import VariantUse
from linnet.check.types import (
    ERROR,
    ArrayType,
    BlockType,
    EnumType,
    ModuleType,
    OptionalType,
    StructType,
    Substitution,
    Type,
)
from linnet.source import clip
from linnet.syntax import tree


class MemberChecker(ExpressionChecker):
    """Types of what stands behind a dot."""

    def infer_field(self, expr: tree.Field, expected: Type | None) -> Type:
        """`module.item`, `Enum.Variant`, `struct.field`, `block.member`."""
        name = expr.name.text
        enum = self.enum_named(expr.base)
        if enum is not None:
            return self.variant(enum, expr)
        with_frame, self.frame = self.frame, None
        if with_frame is not None:
            self.hidden_frames.append(with_frame)
        base = self.infer(expr.base)
        if with_frame is not None:
            self.hidden_frames.pop()
            self.frame = with_frame
        if isinstance(base, ModuleType):
            return self.element_only(expr, self.module_value(base, expr))
        if isinstance(base, StructType):
            field = base.definition.fields.get(name)
            if field is None:
                self.no_member(expr, base, list(base.definition.fields))
                return ERROR
            return self.element_only(expr, arguments_of(base).type(field))
        if isinstance(base, BlockType):
            member = base.definition.members.get(name)
            if member is None:
                self.no_member(expr, base, list(base.definition.members))
                return ERROR
            member.used = True
            return self.element_only(expr, arguments_of(base).type(member.type))
        if base is not ERROR:
            helps: tuple[str, ...] = ()
            if isinstance(base, OptionalType):
                helps = ("it may be absent: `match` on it first",)
            elif isinstance(base, ArrayType):
                helps = ("name one of its blocks: `blocks[0]`, or walk it with `static for`",)
            self.error(
                "E2107", f"{base} has no member `{clip(name)}`", expr.name, "none", helps=helps
            )
        return ERROR

    def no_member(self, expr: tree.Field, base: Type, names: list[str]) -> None:
        """E2107 with the members there are."""
        has = f"it has: {', '.join(names)}" if names else "it has none"
        self.error(
            "E2107",
            f"{base} has no member `{clip(expr.name.text)}`",
            expr.name,
            "none",
            helps=(has,),
        )

    def enum_named(self, base: tree.Expr) -> EnumDef | None:
        """The enum that a base expression names, if it does."""
        if isinstance(base, tree.Name):
            if self.local(base.text) or base.text in self.generics:
                return None
            if self.block is not None and base.text in self.block.members:
                return None
            found = self.item(base.text)
            target = found.target if isinstance(found, ImportedItem) else found
            if isinstance(target, EnumDef):
                self.definition(base.text, base)
                return target
        if isinstance(base, tree.Field) and isinstance(base.base, tree.Name):
            module = self.item(base.base.text)
            if isinstance(module, ImportedModule):
                item = module.scope.names.get(base.name.text)
                if isinstance(item, EnumDef) and item.public:
                    module.used = True
                    return item
        return None

    def variant(self, enum: EnumDef, expr: tree.Field) -> Type:
        """`Enum.Variant`."""
        name = expr.name.text
        if name not in enum.variants:
            self.error(
                "E2107",
                f"enum `{enum.name}` has no variant `{clip(name)}`",
                expr.name,
                "none",
                helps=(f"it has: {', '.join(enum.variants)}",),
            )
            return ERROR
        self.records.names[expr] = VariantUse(enum, enum.variants.index(name))
        return EnumType(enum)

    def module_value(self, base: ModuleType, expr: tree.Field) -> Type:
        """`module.item` as a value."""
        found = self.public_item(base.module, expr.name)
        if found is None:
            return ERROR
        self.session.resolve(found, self.mark(expr.name))
        return self.definition_value(found, expr)


def arguments_of(t: StructType | BlockType) -> Substitution:
    """The generics of a struct or block type, bound."""
    found = Substitution()
    for param, value in zip(t.definition.generics, t.arguments, strict=True):
        found.bind(param.key, value)
    return found
