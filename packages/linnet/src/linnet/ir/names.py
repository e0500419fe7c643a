"""Names and types as one module's own source would write them."""

from __future__ import annotations

from collections.abc import Iterable

from linnet.check.definitions import Definition, ModuleScope
from linnet.check.types import (
    ArrayType,
    BlockType,
    Dims,
    EnumType,
    GenericValue,
    OptionalType,
    Scalar,
    StructType,
    Tensor,
    TupleType,
    Type,
    show_dims,
)


class Names:
    """What definitions are called in one module; `imports` collects those of other modules."""

    def __init__(self, module: ModuleScope) -> None:
        self.module = module
        self.imports: dict[Definition, str] = {}
        self._taken = {item.name for item in module.items}

    def local(self, definition: Definition) -> str:
        """The name here; one of another module that is taken gets a number."""
        if definition.scope is self.module:
            return definition.name
        known = self.imports.get(definition)
        if known is None:
            known, count = definition.name, 1
            while known in self._taken:
                count += 1
                known = f"{definition.name}_{count}"
            self._taken.add(known)
            self.imports[definition] = known
        return known

    def path(self, scope: ModuleScope) -> str:
        """What a `use` line here calls another module."""
        same = scope.root is not None and scope.root == self.module.root
        return scope.inside if same else scope.name

    def type(self, t: Type) -> str:
        """A type as source; of what has no type that can be written, the words of messages."""
        if isinstance(t, Tensor):
            return f"Tensor[{show_dims(t.dims)}; {t.dtype}]"
        if isinstance(t, Scalar):
            return str(t.dtype)
        if isinstance(t, TupleType):
            inner = ", ".join(map(self.type, t.items))
            return f"({inner},)" if len(t.items) == 1 else f"({inner})"
        if isinstance(t, OptionalType):
            return f"{self.type(t.inner)}?"
        if isinstance(t, (StructType, BlockType)):
            return self.local(t.definition) + self.arguments(t.arguments)
        if isinstance(t, EnumType):
            return self.local(t.definition)
        if isinstance(t, ArrayType):
            return f"[{self.type(t.element)}; {t.size}]"
        return str(t)

    def arguments(self, values: Iterable[GenericValue]) -> str:
        """Generic arguments in angle brackets, or nothing."""
        shown = ", ".join(self.argument(value) for value in values)
        return f"<{shown}>" if shown else ""

    def argument(self, value: GenericValue) -> str:
        """One generic argument; a shape, which cannot be written, as a list."""
        return f"[{show_dims(value)}]" if isinstance(value, tuple) else str(value)

    def dims(self, dims: Dims) -> list[str]:
        """Dimensions one by one."""
        return [show_dims((dim,)) for dim in dims]
