"""`if`, `match`, loops as values, patterns."""

from __future__ import annotations

from linnet.check.agreement import problem
from linnet.check.indexing import IndexChecker
from linnet.check.records import Local, VariantUse
from linnet.check.types import (
    BOOL,
    ERROR,
    I64,
    CompileInt,
    EnumType,
    FloatLiteralType,
    NoneType,
    OptionalType,
    Scalar,
    Tensor,
    TupleType,
    Type,
    contains_literal,
    contains_optional,
    every,
)
from linnet.shapes import Constraint, Poly
from linnet.syntax import tree


class ControlChecker(IndexChecker):
    """Types of branches and loops."""

    def body(self, block: tree.Block) -> None:
        """Overridden by the statement checker."""
        raise NotImplementedError

    def condition(self, node: tree.Expr) -> None:
        """E2114 unless a scalar bool."""
        found = self.infer(node)
        if found is not ERROR and found != BOOL:
            helps: tuple[str, ...] = ()
            if isinstance(found, Tensor):
                helps = ("use `select` element by element, or reduce with `any` or `all`",)
            self.error(
                "E2114", f"a condition is a scalar bool, not {found}", node, "no", helps=helps
            )

    def infer_if(self, expr: tree.IfExpr, expected: Type | None) -> Type:
        """`if c { a } else { b }`."""
        if self.frame is not None:
            return self.not_an_element(expr, "`if`")
        self.condition(expr.condition)
        then = self.infer(expr.then, expected)
        other = self.infer(expr.other, expected)
        found = self.join([(expr.then, then), (expr.other, other)], expected)
        return self.no_chosen_optional(expr, found)

    def no_chosen_optional(self, expr: tree.Expr, found: Type) -> Type:
        """E2190 where presence would depend on what is known only when the program runs."""
        if not contains_optional(found):
            return found
        self.error(
            "E2190",
            "an optional chosen by a condition is not implemented",
            expr,
            "not implemented",
            helps=("choose between values, or pass a flag beside the value",),
        )
        return ERROR

    def not_an_element(self, expr: tree.Expr, what: str) -> Type:
        """E3104 for control flow in index notation."""
        self.error(
            "E3104",
            f"{what} is not valid in index notation",
            expr,
            "not an element",
            helps=("choose elements with `select(c, a, b)`, or branch outside the definition",),
        )
        return ERROR

    def join(self, arms: list[tuple[tree.Expr, Type]], expected: Type | None) -> Type:
        """The one type of all arms; E2115 where they differ."""
        arms = [(e, t) for e, t in arms]
        if any(t is ERROR for _, t in arms):
            return ERROR
        for expr, found in arms:
            if not self.is_value(found, expr):
                return ERROR
        typed = [t for _, t in arms if not contains_literal(t)]
        common = typed[0] if typed else self.join_literals([t for _, t in arms], expected)
        if common is None:
            self.error("E2113", "`none` of which type?", arms[0][0], "give the type in a `let`")
            return ERROR
        for expr, found in arms:
            wrong = problem(found, common, self.facts)
            if wrong is not None:
                self.error(
                    "E2115",
                    f"the arms have different types: {common} and {found}",
                    expr,
                    wrong[1],
                )
                return ERROR
        for expr, found in arms:
            self.coerce(expr, found, common)
        return common

    def join_literals(self, types: list[Type], expected: Type | None) -> Type | None:
        """The common type of arms that all have literal parts."""
        first = types[0]
        if all(t == first for t in types) and not isinstance(first, NoneType):
            return first
        if expected is not None and not contains_literal(expected):
            return expected
        if any(isinstance(t, (OptionalType, NoneType)) for t in types):
            inner = [t.inner for t in types if isinstance(t, OptionalType)]
            found = self.join_literals(inner, None) if inner else None
            return OptionalType(found) if found is not None else None
        if any(isinstance(t, FloatLiteralType) for t in types):
            return Scalar("f64")
        if isinstance(first, TupleType):
            columns = [
                list(c)
                for c in zip(*(t.items for t in types if isinstance(t, TupleType)), strict=False)
            ]
            joined = [self.join_literals(c, None) for c in columns]
            if None not in joined:
                return TupleType(tuple(t for t in joined if t is not None))
        return I64 if isinstance(first, CompileInt) else first

    # Matching

    def infer_match(self, expr: tree.MatchExpr, expected: Type | None) -> Type:
        """`match` on an optional or an enum, exhaustive."""
        if self.frame is not None:
            return self.not_an_element(expr, "`match`")
        subject = self.infer(expr.subject)
        if subject is ERROR:
            return ERROR
        if not isinstance(subject, (OptionalType, EnumType)):
            self.error(
                "E2117",
                f"`match` takes an optional or an enum, not {subject}",
                expr.subject,
                "cannot be matched",
            )
            return ERROR
        covered: set[str] = set()
        arms: list[tuple[tree.Expr, Type]] = []
        ok = True
        for arm in expr.arms:
            self.scopes.append({})
            case = self.arm_pattern(arm.pattern, subject)
            if case is None:
                ok = False
            elif case in covered or "_" in covered:
                self.error("E2117", "this arm can never match", arm.pattern, "covered above")
                ok = False
            else:
                covered.add(case)
            arms.append((arm.value, self.infer(arm.value, expected)))
            self.warn_unused()
            self.scopes.pop()
        if not ok:
            return ERROR
        cases = (
            ("some", "none") if isinstance(subject, OptionalType) else subject.definition.variants
        )
        missing = [c for c in cases if c not in covered] if "_" not in covered else []
        if missing or not arms:
            shown = ", ".join(f"`{m}`" for m in missing)
            self.error(
                "E2118",
                f"the match misses {shown or 'every case'}",
                expr,
                "not exhaustive",
                helps=("add an arm for each case",),
            )
            return ERROR
        common = self.join(arms, expected)
        return (
            common if isinstance(subject, OptionalType) else self.no_chosen_optional(expr, common)
        )

    def warn_unused(self) -> None:
        """Overridden: W1002 for locals of the scope about to end."""

    def arm_pattern(self, pattern: tree.Pattern, subject: OptionalType | EnumType) -> str | None:
        """The case that a pattern covers (`_` for all), or None after E2117."""
        if isinstance(subject, EnumType):
            if isinstance(pattern, tree.NamePattern):
                variants = subject.definition.variants
                if pattern.text in variants:
                    use = VariantUse(subject.definition, variants.index(pattern.text))
                    self.records.patterns[pattern] = use
                    return pattern.text
                if pattern.text == "_":
                    return "_"
            self.error(
                "E2117",
                f"the pattern is no variant of {subject}",
                pattern,
                "cannot match",
                helps=(f"the variants are {', '.join(subject.definition.variants)}",),
            )
            return None
        if isinstance(pattern, tree.NonePattern):
            return "none"
        if isinstance(pattern, tree.SomePattern):
            return "some" if self.bind_pattern(pattern.inner, subject.inner) else None
        if isinstance(pattern, tree.NamePattern):
            if pattern.text != "_":
                self.bind_pattern(pattern, subject)
            return "_"
        self.error("E2117", f"a tuple pattern does not match {subject}", pattern, "cannot match")
        return None

    def bind_pattern(self, pattern: tree.Pattern, found: Type, size: Poly | None = None) -> bool:
        """Declares the names of a pattern that always matches."""
        if isinstance(pattern, tree.NamePattern):
            if pattern.text != "_":
                name = tree.Identifier(pattern.span, pattern.text)
                local = self.declare(name, found, pattern, size=size)
                self.records.patterns[pattern] = local
            return True
        if isinstance(pattern, tree.TuplePattern):
            if found is ERROR:
                return every([self.bind_pattern(p, ERROR) for p in pattern.items])
            if isinstance(found, TupleType) and len(found.items) == len(pattern.items):
                pairs = zip(pattern.items, found.items, strict=True)
                return every([self.bind_pattern(p, t) for p, t in pairs])
            self.error("E2117", f"the pattern does not match {found}", pattern, "cannot match")
        else:
            self.error(
                "E2117",
                "a pattern that may fail stands in `match` only",
                pattern,
                "may fail",
                helps=("match on the optional and handle `none`",),
            )
        for inner in pattern_names(pattern):
            self.bind_pattern(inner, ERROR)
        return False

    def declare(
        self,
        name: tree.Identifier,
        found: Type,
        node: tree.Node,
        *,
        mutable: bool = False,
        size: Poly | None = None,
        is_param: bool = False,
    ) -> Local:
        """Declares a local in the innermost scope; it may shadow an earlier one."""
        self.check_new_name(name)
        local = Local(name.text, found, node, mutable, size, is_param=is_param)
        local.depth = len(self.scopes)
        self.shadow(name.text)
        self.scopes[-1][name.text] = local
        self.records.locals[node] = local
        return local

    def shadow(self, name: str) -> None:
        """Overridden: notes that a local of the same scope ends here."""

    # Loops as values

    def infer_scan(self, expr: tree.ScanExpr, expected: Type | None) -> Type:
        """`for i in a..b { ...; yield v }` stacks what it yields."""
        if self.frame is not None:
            return self.not_an_element(expr, "a loop")
        extent = self.loop_extent(expr.start, expr.stop, "E2208")
        self.scopes.append({})
        self.declare(expr.counter, I64, expr)
        yields = self.yield_type(expr)
        self.scopes.pop()
        if extent is None or yields is ERROR:
            return ERROR
        return self.stacked(expr, yields, extent)

    def yield_type(self, expr: tree.ScanExpr) -> Type:
        """Overridden by the statement checker: checks the body and gives what it yields."""
        raise NotImplementedError

    def loop_extent(self, start: tree.Expr, stop: tree.Expr, code: str) -> Poly | None:
        """b - a of compile-time bounds with b >= a; None after an error."""
        first, last = self.loop_bound(start), self.loop_bound(stop)
        if first is None or last is None:
            return None
        extent = self.facts.simplify(last - first)
        proved = self.require(
            Constraint(">=", last, first),
            code,
            f"cannot prove that the loop's end `{last}` is not below its start `{first}`",
            stop,
        )
        return extent if proved else None

    def loop_bound(self, node: tree.Expr) -> Poly | None:
        """A compile-time integer; None after E2123."""
        found = self.infer(node)
        if isinstance(found, CompileInt):
            return found.poly
        size = getattr(self.records.names.get(node), "size", None)
        if isinstance(size, Poly):
            return size
        if found is not ERROR:
            self.error(
                "E2123",
                "bounds of a loop are compile-time integers",
                node,
                f"this is {found}",
                helps=("use `while` for a bound known only when it runs",),
            )
        return None

    def stacked(self, expr: tree.ScanExpr, found: Type, extent: Poly) -> Type:
        """What a scan yields, with a leading axis."""
        if isinstance(found, TupleType):
            items = tuple(self.stacked(expr, t, extent) for t in found.items)
            return ERROR if ERROR in items else TupleType(items)
        if isinstance(found, (Scalar, Tensor)):
            dims = found.dims if isinstance(found, Tensor) else ()
            return Tensor((extent, *dims), found.dtype)
        if found is not ERROR:
            self.error(
                "E2124", f"a scan stacks tensors and scalars, not {found}", expr, "cannot stack"
            )
        return ERROR


def pattern_names(pattern: tree.Pattern) -> list[tree.NamePattern]:
    """All names that a pattern binds."""
    if isinstance(pattern, tree.NamePattern):
        return [pattern]
    if isinstance(pattern, tree.SomePattern):
        return pattern_names(pattern.inner)
    if isinstance(pattern, tree.TuplePattern):
        return [name for item in pattern.items for name in pattern_names(item)]
    return []
