"""Resolving sizes and types as they are written."""

from __future__ import annotations

from linnet.check.definitions import (
    BlockDef,
    ConstDef,
    Definition,
    GenericParam,
    ImportedItem,
    ImportedModule,
    ModuleScope,
)
from linnet.check.session import Reporter, Session
from linnet.check.types import (
    CLASSES,
    DTYPE_NAMES,
    ERROR,
    LONG_NAMES,
    CompileInt,
    Dim,
    Dims,
)
from linnet.shapes import (
    ZERO,
    Atom,
    Constraint,
    Pack,
    Poly,
    floordiv,
    maximum,
    minimum,
    mod,
    number,
    of,
)
from linnet.source import clip, did_you_mean
from linnet.syntax import tree

PRELUDE = frozenset(
    [
        *("cast", "exp", "log", "sqrt", "rsqrt", "sin", "cos", "tanh", "abs", "min", "max"),
        *("shl", "shr", "select", "reshape", "permute", "broadcast_to", "concat", "iota"),
        *("fill", "cumsum", "pad", "gather", "scatter"),
    ]
)
GENERIC_KINDS = ("Dim", "Shape", *CLASSES)
MOST_LISTED = 20  # Names in one help; more would be no help.
PROTECTED = frozenset((*PRELUDE, *DTYPE_NAMES, "Tensor", *GENERIC_KINDS))


class SizeResolver(Reporter):
    """Names, sizes and types in the scope of one definition."""

    def __init__(self, session: Session, module: ModuleScope) -> None:
        super().__init__(session, module)
        self.generics: dict[str, GenericParam] = {}
        self.block: BlockDef | None = None

    # Names

    def item(self, name: str) -> Definition | ImportedModule | ImportedItem | None:
        """What the module, or the block around, calls `name`."""
        if self.block is not None and name in self.block.items:
            return self.block.items[name]
        return self.module.names.get(name)

    def definition(self, name: str, at: tree.Node) -> Definition | None:
        """The definition behind an item's or import's name, resolved; None if there is none."""
        found = self.item(name)
        if isinstance(found, ImportedItem):
            found.used = True
            found = found.target
        if isinstance(found, Definition):
            self.session.resolve(found, self.mark(at))
            return found
        return None

    def unknown(self, name: str, at: tree.Node, what: str = "name") -> None:
        """E1201, with a name that is close, if any."""
        pool = [*self.generics, *self.module.names, *PROTECTED, *self.local_names()]
        if name in LONG_NAMES:
            helps: tuple[str, ...] = (f"Linnet calls it `{LONG_NAMES[name]}`",)
        else:
            helps = did_you_mean(name, pool)
        self.error("E1201", f"there is no {what} `{clip(name)}` here", at, "unknown", helps=helps)

    def public_item(self, scope: ModuleScope, name: tree.Identifier) -> Definition | None:
        """What another module offers as `name`; None after E1201, or E1203 if it is private."""
        found = scope.names.get(name.text)
        if isinstance(found, Definition) and found.public:
            return found
        if isinstance(found, Definition):
            self.error(
                "E1203",
                f"`{clip(name.text)}` is private to module `{scope.name}`",
                name,
                "private",
                helps=(f"declare it `pub` in `{scope.name}`",),
            )
            return None
        offered = [
            known
            for known, item in scope.names.items()
            if isinstance(item, Definition) and item.public
        ]
        helps = did_you_mean(name.text, offered)
        if not helps and len(offered) <= MOST_LISTED:
            helps = (f"it has: {', '.join(map(clip, offered))}" if offered else "nothing is `pub`",)
        self.error(
            "E1201",
            f"module `{scope.name}` has no item `{clip(name.text)}`",
            name,
            "unknown",
            helps=helps,
        )
        return None

    def local_names(self) -> list[str]:
        """Names of locals, for suggestions."""
        return []

    def check_new_name(self, name: tree.Identifier) -> None:
        """E1207 for a declaration of a name that the prelude has."""
        if name.text in PROTECTED:
            self.error(
                "E1207",
                f"`{name.text}` is a name of the prelude and cannot be declared again",
                name,
                "choose another name",
            )

    # Sizes

    def size_local(self, name: str, at: tree.Node) -> Poly | bool | None:
        """A local's compile-time value; None after an error; False if no local has the name."""
        return False

    def size(self, node: tree.Expr) -> Poly | None:
        """The polynomial that an expression in a size position is, or None after an error."""
        if isinstance(node, tree.IntLiteral):
            return number(node.value)
        if isinstance(node, tree.Paren):
            return self.size(node.inner)
        if isinstance(node, tree.Name):
            return self.size_name(node.text, node)
        if isinstance(node, tree.Unary) and node.operator in ("-", "+"):
            inner = self.size(node.operand)
            return None if inner is None else (-inner if node.operator == "-" else inner)
        if isinstance(node, tree.Binary) and node.operator in ("+", "-", "*", "/", "%"):
            left, right = self.size(node.left), self.size(node.right)
            if left is None or right is None:
                return None
            return self.size_operation(node.operator, left, right, node)
        if isinstance(node, tree.Call):
            callee = node.callee
            if isinstance(callee, tree.Name) and callee.text in ("min", "max"):
                parts = [self.size(a.value) for a in node.arguments]
                if len(parts) == 2 and parts[0] is not None and parts[1] is not None:
                    fold = minimum if callee.text == "min" else maximum
                    return fold(parts[0], parts[1])
                if None in parts:
                    return None
        self.error(
            "E2123",
            "a size is a compile-time integer",
            node,
            "not a compile-time integer",
            helps=(
                "sizes are integers, `Dim` generics, constants, and + - * / % min max of these",
            ),
        )
        return None

    def size_name(self, name: str, node: tree.Node) -> Poly | None:
        """The size that a name stands for."""
        local = self.size_local(name, node)
        if local is not False:
            assert local is None or isinstance(local, Poly)
            return local
        generic = self.generics.get(name)
        if generic is not None:
            generic.used = True
            if isinstance(generic.key, Atom):
                return of(generic.key)
            what = "a shape: write `*" + name + "`" if isinstance(generic.key, Pack) else "a dtype"
            self.error("E1208", f"`{name}` is {what}, not a size", node, "not a size")
            return None
        found = self.definition(name, node)
        if isinstance(found, ConstDef):
            if isinstance(found.type, CompileInt):
                return found.type.poly
            if found.type is not ERROR:
                self.error(
                    "E2123",
                    f"`{name}` is not a compile-time integer",
                    node,
                    f"has the type {found.type}",
                    helps=("an integer constant without a type is one",),
                )
            return None
        if found is not None or self.item(name) is not None:
            broken = isinstance(self.item(name), ImportedItem) and found is None
            if not broken:
                self.error("E1208", f"`{name}` is not a size", node, "wrong kind of name")
        else:
            self.unknown(name, node, "size")
        return None

    def size_operation(self, operator: str, left: Poly, right: Poly, node: tree.Binary) -> Poly:
        """Arithmetic on sizes; requires positive divisors."""
        if operator == "+":
            return left + right
        if operator == "-":
            return left - right
        if operator == "*":
            return left * right
        self.require(
            Constraint(">", right, ZERO),
            "E2205",
            f"the divisor `{right}` may not be positive",
            node.right,
        )
        return floordiv(left, right) if operator == "/" else mod(left, right)

    def dimension(self, node: tree.Expr) -> Dim | None:
        """One element of a shape."""
        if isinstance(node, tree.PackUse):
            generic = self.generics.get(node.name)
            if generic is None:
                self.unknown(node.name, node, "shape")
                return None
            generic.used = True
            if isinstance(generic.key, Pack):
                return generic.key
            self.error(
                "E1208", f"`{node.name}` is not a shape", node, "no pack", helps=("drop `*`",)
            )
            return None
        found = self.size(node)
        if found is not None and found.constant is not None and found.constant < 0:
            helps = ("every size is written out; none is filled in",)
            self.error(
                "E2208", f"the dimension `{found}` is negative", node, "negative", helps=helps
            )
            return None
        if found is not None and not self.require(
            Constraint(">=", found, ZERO),
            "E2208",
            f"the dimension `{found}` may be negative",
            node,
        ):
            return None
        return found

    def shape(self, nodes: tuple[tree.Expr, ...]) -> Dims | None:
        """All elements of a shape, or None after an error."""
        found = [self.dimension(node) for node in nodes]
        return None if None in found else tuple(d for d in found if d is not None)
