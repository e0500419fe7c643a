"""Constants: literals and arithmetic on them."""

from __future__ import annotations

from linnet.check.definitions import ConstDef
from linnet.check.statements import BodyChecker
from linnet.check.types import ERROR, CompileInt, FloatLiteralType, Scalar, TupleType, Type, every
from linnet.syntax import tree

ALLOWED = (
    tree.IntLiteral,
    tree.FloatLiteral,
    tree.BoolLiteral,
    tree.Name,
    tree.Field,
    tree.Paren,
    tree.Unary,
    tree.Binary,
    tree.TupleExpr,
)


class ConstChecker(BodyChecker):
    """Checks the value of a constant."""

    def constant(self, definition: ConstDef) -> Type:
        """The constant's type; without an annotation integers and floats stay literals."""
        node = definition.node
        assert node is not None
        wanted = self.type(node.type) if node.type is not None else None
        if not self.is_constant(node.value):
            return ERROR
        found = self.infer(node.value, wanted)
        if wanted is None or found is ERROR:
            return found if self.allowed_type(found, node.value) else ERROR
        if not self.allowed_type(wanted, node.value):
            return ERROR
        return wanted if self.coerce(node.value, found, wanted) else ERROR

    def allowed_type(self, found: Type, at: tree.Node) -> bool:
        """Constants are scalars and tuples of scalars."""
        if isinstance(found, TupleType):
            return all(self.allowed_type(item, at) for item in found.items)
        if isinstance(found, (CompileInt, FloatLiteralType, Scalar)):
            return True
        if found is not ERROR:
            self.error("E2190", f"a constant of type {found} is not implemented", at, "no scalar")
        return False

    def is_constant(self, node: tree.Expr) -> bool:
        """E2190 for a form that constants do not have yet."""
        callee = node.callee if isinstance(node, tree.Call) else None
        if isinstance(callee, tree.Name) and callee.text in ("min", "max"):
            assert isinstance(node, tree.Call)
            return every([self.is_constant(a.value) for a in node.arguments])
        if not isinstance(node, ALLOWED):
            self.error(
                "E2190",
                "constants are literals and arithmetic on them; more is not implemented",
                node,
                "not implemented",
            )
            return False
        if isinstance(node, tree.Paren):
            return self.is_constant(node.inner)
        if isinstance(node, tree.Unary):
            return self.is_constant(node.operand)
        if isinstance(node, tree.Binary):
            return self.is_constant(node.left) and self.is_constant(node.right)
        if isinstance(node, tree.TupleExpr):
            return every([self.is_constant(item) for item in node.items])
        return True
