"""Parsing types, generic arguments and generic declarations."""

from __future__ import annotations

from linnet.syntax import tree
from linnet.syntax.cursor import Cursor, ParseError

GENERIC_KINDS = ("Dim", "Shape", "DType", "Numeric", "Integer", "Float")


class TypeParser(Cursor):
    """The part of the parser that reads types. Expressions come from the class built on it."""

    _generic_lists: dict[int, tuple[tuple[tree.GenericArgument, ...], int] | None]

    def expression(self) -> tree.Expr:
        """Overridden by the expression parser."""
        raise NotImplementedError

    def arithmetic(self) -> tree.Expr:
        """Overridden by the expression parser."""
        raise NotImplementedError

    def type(self) -> tree.TypeExpr:
        """type = ( dtype | tensor | tuple | array | path [gargs] ) ["?"]"""
        self.enter()
        try:
            start = self.current.span
            inner: tree.TypeExpr
            if self.is_name("Tensor") and self.ahead().text == "[":
                inner = self.tensor_type()
            elif self.is_("("):
                inner = self.tuple_type()
            elif self.is_("["):
                inner = self.array_type()
            else:
                inner = self.path_type()
            if self.accept("?"):
                inner = tree.OptionalType(self.since(start), inner)
            return inner
        finally:
            self.leave()

    def tensor_type(self) -> tree.TensorType:
        """tensor = "Tensor" "[" shape-elems ";" type "]" """
        start = self.advance().span
        self.expect("[", "after `Tensor`")
        if self.is_(";"):
            self.report(
                "E1103",
                "a tensor of rank 0 is reserved syntax",
                self.current.span,
                "no dimension",
                "a scalar is written as its dtype alone, such as `f32`",
            )
        dims: list[tree.Expr] = []
        while not self.is_(";"):
            dims.append(self.dimension())
            if not self.accept(","):
                break
        self.expect(";", "between the dimensions and the dtype of a tensor type")
        dtype = self.type()
        self.expect("]", "to close the tensor type")
        return tree.TensorType(self.since(start), tuple(dims), dtype)

    def dimension(self) -> tree.Expr:
        """shape-elem = "*" ID | arithmetic"""
        if self.is_("*"):
            start = self.advance().span
            name = self.name("of a shape after `*`")
            return tree.PackUse(self.since(start), name.text)
        return self.arithmetic()

    def tuple_type(self) -> tree.TupleType:
        """tuple = "(" type "," [ type {"," type} [","] ] ")" """
        start = self.advance().span
        items = [self.type()]
        if not self.is_(","):
            raise self.unexpected("`,`", "in a tuple type", "one element is written `(T,)`")
        while self.accept(","):
            if self.is_(")"):
                break
            items.append(self.type())
        self.expect(")", "to close the tuple type")
        return tree.TupleType(self.since(start), tuple(items))

    def array_type(self) -> tree.ArrayType:
        """array = "[" type ";" expr "]" """
        start = self.advance().span
        element = self.type()
        self.expect(";", "between the block and the size of a block array")
        size = self.expression()
        self.expect("]", "to close the block array type")
        return tree.ArrayType(self.since(start), element, size)

    def path_type(self) -> tree.PathType:
        """path = ID {"." ID} [gargs]"""
        start = self.current.span
        names = [self.name("of a type")]
        while self.is_(".") and self.ahead().kind in ("name", "reserved"):
            self.advance()
            names.append(self.name("of a type after `.`"))
        generics = self.generic_arguments() if self.is_("<") else None
        return tree.PathType(self.since(start), tuple(names), generics)

    def generic_arguments(self) -> tuple[tree.GenericArgument, ...]:
        """gargs = "<" garg {"," garg} [","] ">" """
        at = self.at
        if at in self._generic_lists:
            known = self._generic_lists[at]
            if known is None:
                if self.speculating:
                    raise ParseError
            else:
                self.at = known[1]
                self.current = self.tokens[self.at]
                return known[0]
        self.enter()
        try:
            self.expect("<", "to open generic arguments")
            items = [self.generic_argument()]
            while self.accept(","):
                if self.is_(">"):
                    break
                items.append(self.generic_argument())
            self.expect(">", "to close the generic arguments")
        except ParseError:
            self._generic_lists[at] = None
            raise
        finally:
            self.leave()
        self._generic_lists[at] = (tuple(items), self.at)
        return tuple(items)

    def generic_argument(self) -> tree.GenericArgument:
        """garg = type | arithmetic"""
        at = self.at
        depth = self.depth
        self.speculating += 1
        try:
            found = self.type()
            if self.is_(",") or self.is_(">"):
                return found
        except ParseError:
            pass
        finally:
            self.speculating -= 1
        self.at, self.depth = at, depth
        self.current = self.tokens[at]
        return self.arithmetic()

    def generics(self) -> tuple[tree.Generic, ...]:
        """gens = "<" ["*"] ID ":" kind ["=" (type | arithmetic)] {"," ...} [","] ">" """
        if not self.accept("<"):
            return ()
        found: list[tree.Generic] = []
        while True:
            start = self.current.span
            pack = self.accept("*") is not None
            name = self.name("of a generic")
            if not self.accept(":"):
                advice = f"say what it is: `{name.text}: Dim`"
                raise self.unexpected("`:`", f"after the generic `{name.text}`", advice)
            if self.current.text not in GENERIC_KINDS:
                raise self.unexpected(
                    "a generic kind",
                    f"for `{name.text}`",
                    f"the kinds are {', '.join(GENERIC_KINDS)}",
                )
            kind = self.name("of a generic kind")
            default = self.generic_argument() if self.accept("=") else None
            found.append(tree.Generic(self.since(start), name, pack, kind, default))
            if not self.accept(",") or self.is_(">"):
                break
        self.expect(">", "to close the generics")
        return tuple(found)
