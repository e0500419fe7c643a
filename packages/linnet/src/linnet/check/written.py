"""Types and generic arguments as they are written."""

from __future__ import annotations

from linnet.check.definitions import (
    AliasDef,
    BlockDef,
    Definition,
    EnumDef,
    GenericDef,
    GenericParam,
    ImportedModule,
    StructDef,
)
from linnet.check.sizes import PROTECTED, SizeResolver
from linnet.check.types import (
    CLASSES,
    DTYPE_NAMES,
    ERROR,
    MOST_PARTS,
    ArrayType,
    BlockType,
    DType,
    DTypeVar,
    EnumType,
    ErrorType,
    GenericValue,
    OptionalType,
    Scalar,
    StructType,
    Substitution,
    Tensor,
    TupleType,
    Type,
    dtype_class,
)
from linnet.shapes import ZERO, Atom, Constraint, Pack, Poly
from linnet.source import Span
from linnet.syntax import tree


class TypeResolver(SizeResolver):
    """Types in the scope of one definition."""

    # Types

    def tuple_type(self, items: tuple[Type, ...], at: tree.Node) -> Type:
        """A tuple; ERROR where a part is wrong, or after E2190 for too many parts."""
        if ERROR in items:
            return ERROR
        found = TupleType(items)
        if found.parts <= MOST_PARTS:
            return found
        self.too_many_parts(at)
        return ERROR

    def too_many_parts(self, at: tree.Node | Span) -> None:
        """E2190."""
        self.error(
            "E2190",
            f"types of more than {MOST_PARTS} parts are not implemented",
            at,
            "too many parts",
        )

    def type(self, node: tree.TypeExpr, blocks: bool = False) -> Type:
        """A type as written; ERROR after an error. `blocks` allows blocks and their arrays."""
        if isinstance(node, tree.TensorType):
            dims = self.shape(node.dims)
            dtype = self.dtype(node.dtype)
            return ERROR if dims is None or dtype is None else Tensor(dims, dtype)
        if isinstance(node, tree.TupleType):
            return self.tuple_type(tuple(self.type(item) for item in node.items), node)
        if isinstance(node, tree.OptionalType):
            inner = self.type(node.inner, blocks)
            if isinstance(inner, OptionalType):
                self.error(
                    "E2101", "an optional of an optional is no type", node, "one `?` is enough"
                )
                return ERROR
            return ERROR if inner is ERROR else OptionalType(inner)
        if isinstance(node, tree.ArrayType):
            return self.array_type(node, blocks)
        return self.path_type(node, blocks)

    def array_type(self, node: tree.ArrayType, blocks: bool) -> Type:
        """`[Block; size]`."""
        if not blocks:
            self.error("E4101", "block arrays are types of `sub` members only", node, "not allowed")
            return ERROR
        element = self.type(node.element, blocks)
        size = self.dimension(node.size)
        if element is ERROR or size is None:
            return ERROR
        if not isinstance(element, BlockType) or not isinstance(size, Poly):
            self.error("E4101", "a block array holds blocks", node.element, f"this is {element}")
            return ERROR
        return ArrayType(element, size)

    def dtype(self, node: tree.TypeExpr) -> DType | None:
        """A dtype as written, or None after an error."""
        found = self.type(node)
        if isinstance(found, Scalar):
            return found.dtype
        if not isinstance(found, ErrorType):
            self.error("E1208", f"`{found}` is not a dtype", node, "expected a dtype such as f32")
        return None

    def path_type(self, node: tree.PathType, blocks: bool) -> Type:
        """A dtype, a generic, or a named type with its arguments."""
        name = node.names[0].text
        target: Definition | None = None
        if len(node.names) == 1:
            generic = self.generics.get(name)
            if generic is not None:
                generic.used = True
                if isinstance(generic.key, DTypeVar):
                    return Scalar(generic.key)
                self.error("E1208", f"`{name}` is a size, not a type", node, "wrong kind of name")
                return ERROR
            if name in DTYPE_NAMES:
                if node.generics is not None:
                    self.error("E2111", f"`{name}` takes no generic arguments", node, "drop them")
                return Scalar(name)
            found = self.item(name)
            if found is None:
                if name in PROTECTED:
                    self.error(
                        "E1208", f"`{name}` is not a type by itself", node, "wrong kind of name"
                    )
                else:
                    self.unknown(name, node, "type")
                return ERROR
            if isinstance(found, ImportedModule):
                self.error("E1208", f"`{name}` is a module, not a type", node, "wrong kind of name")
                return ERROR
            target = self.definition(name, node)
        else:
            target = self.qualified(node.names)
        if target is None:
            return ERROR
        return self.named_type(target, node, blocks)

    def qualified(self, names: tuple[tree.Identifier, ...]) -> Definition | None:
        """`module.item`, resolved; None after an error."""
        module = self.item(names[0].text)
        if module is None:
            self.unknown(names[0].text, names[0], "module")
            return None
        if not isinstance(module, ImportedModule) or len(names) != 2:
            self.error(
                "E1208", f"`{names[0].text}` is not a module", names[0], "wrong kind of name"
            )
            return None
        module.used = True
        return self.module_item(module, names[1])

    def module_item(self, module: ImportedModule, name: tree.Identifier) -> Definition | None:
        """A public item of an imported module, resolved; None after an error."""
        found = self.public_item(module.scope, name)
        if found is not None:
            self.session.resolve(found, self.mark(name))
        return found

    def named_type(self, target: Definition, node: tree.PathType, blocks: bool) -> Type:
        """The type that a definition is at the arguments written."""
        if isinstance(target, EnumDef):
            if node.generics is not None:
                self.error(
                    "E2111", f"`{target.name}` takes no generic arguments", node, "drop them"
                )
            return EnumType(target)
        if isinstance(target, BlockDef) and not blocks:
            self.error(
                "E1208",
                f"`{target.name}` is a block; blocks are types of `sub` members only",
                node,
                "wrong kind of name",
            )
            return ERROR
        if not isinstance(target, (AliasDef, StructDef, BlockDef)):
            self.error("E1208", f"`{target.name}` is not a type", node, "wrong kind of name")
            return ERROR
        values = self.generic_arguments(target, node.generics or (), node.span)
        if values is None:
            return ERROR
        substitution = Substitution()
        for param, value in zip(target.generics, values, strict=True):
            substitution.bind(param.key, value)
        self.prove_where(target, substitution, node.span)
        if isinstance(target, AliasDef):
            return substitution.type(target.target or ERROR)
        if isinstance(target, StructDef):
            return StructType(target, values)
        return BlockType(target, values)

    def prove_where(self, target: GenericDef, values: Substitution, span: Span) -> bool:
        """E2206 for each constraint of `target` that does not hold at `values`."""
        proved = True
        for where in target.where:
            constraint = values.constraint(where.constraint)
            if not self.require(
                constraint,
                "E2206",
                f"`{target.name}` needs `{where.constraint}`, which is not proved here",
                span,
            ):
                proved = False
        return proved

    # Generic arguments

    def generic_arguments(
        self, target: GenericDef, given: tuple[tree.GenericArgument, ...], span: Span
    ) -> tuple[GenericValue, ...] | None:
        """Arguments of a type, with defaults; None after an error."""
        values = self.explicit_arguments(target, given, span)
        if values is None:
            return None
        substitution = Substitution()
        for param, value in zip(target.generics, values, strict=False):
            substitution.bind(param.key, value)
        for param in target.generics[len(values) :]:
            if param.default is None:
                self.error(
                    "E2111",
                    f"`{target.name}` needs a value for its generic `{param.name}`",
                    span,
                    f"{len(given)} of {len(target.generics)} given",
                )
                return None
            value = substitution.argument(param.default)
            substitution.bind(param.key, value)
            values.append(value)
        return tuple(values)

    def explicit_arguments(
        self, target: GenericDef, given: tuple[tree.GenericArgument, ...], span: Span
    ) -> list[GenericValue] | None:
        """The arguments written, as a prefix of the generics; None after an error."""
        if len(given) > len(target.generics):
            self.error(
                "E2111",
                f"`{target.name}` takes {len(target.generics)} generic arguments, not {len(given)}",
                span,
                "too many",
            )
            return None
        values: list[GenericValue] = []
        for param, node in zip(target.generics, given, strict=False):
            value = self.generic_argument(param, node)
            if value is None:
                return None
            values.append(value)
        return values

    def generic_argument(
        self, param: GenericParam, node: tree.GenericArgument
    ) -> GenericValue | None:
        """One argument for one generic; None after an error."""
        if isinstance(param.key, DTypeVar):
            if not isinstance(node, (tree.PathType, tree.TensorType, tree.TupleType)):
                self.error("E2111", f"`{param.name}` is a dtype", node, "expected a dtype")
                return None
            dtype = self.dtype(node)
            if dtype is not None and not self.check_class(dtype, param, node):
                return None
            return dtype
        if isinstance(param.key, Pack):
            if isinstance(node, tree.ListExpr):
                return self.shape(node.items)
            self.error(
                "E2111", f"`{param.name}` is a shape", node, "expected a list such as [2, 3]"
            )
            return None
        if isinstance(node, tree.PathType):
            if len(node.names) == 1 and node.generics is None:
                name = node.names[0].text
                generic = self.generics.get(name)
                wrong = name in DTYPE_NAMES or (generic and not isinstance(generic.key, Atom))
                if wrong:
                    self.error("E2111", f"`{param.name}` is a size", node, "expected a size")
                    return None
                found = self.size_name(name, node)
                return None if found is None else self.nonnegative(found, node)
            if len(node.names) == 2:
                self.error(
                    "E2123",
                    "a constant of another module is not a size; import it by name",
                    node,
                    "not a compile-time integer",
                )
                return None
        if isinstance(node, (tree.PathType, tree.TensorType, tree.TupleType, tree.ArrayType)):
            self.error("E2111", f"`{param.name}` is a size", node, "expected a size")
            return None
        if isinstance(node, tree.OptionalType):
            self.error("E2111", f"`{param.name}` is a size", node, "expected a size")
            return None
        found = self.size(node)
        return None if found is None else self.nonnegative(found, node)

    def nonnegative(self, found: Poly, node: tree.Node) -> Poly | None:
        """A generic size must not be negative."""
        proved = self.require(
            Constraint(">=", found, ZERO), "E2208", f"the size `{found}` may be negative", node
        )
        return found if proved else None

    def check_class(self, dtype: DType, param: GenericParam, at: tree.Node | Span) -> bool:
        """E2112 unless every dtype that `dtype` may be is of the generic's class."""
        if dtype_class(dtype) <= CLASSES[param.kind]:
            return True
        self.error(
            "E2112",
            f"`{param.name}` takes {param.kind} dtypes, not {dtype}",
            at,
            f"{dtype} is not {param.kind}",
        )
        return False
