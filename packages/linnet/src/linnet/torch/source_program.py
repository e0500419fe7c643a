"""A checked Linnet module as a program that the runtime loads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from linnet.check import CheckedProgram, check_file, check_text
from linnet.check.definitions import BlockDef, FunctionDef
from linnet.check.types import (
    EnumType,
    OptionalType,
    Scalar,
    StructType,
    Tensor,
    TupleType,
    Type,
)
from linnet.graph import Graph
from linnet.graph.binding import InputSpec, entries, find_root, graph_for, manifest
from linnet.graph.bound import BindingError, MissingGenericsError
from linnet.torch.inputs import Description, PlainNumber
from linnet.torch.weights import Declared


def read_program(
    source: str | Path | CheckedProgram,
    root: str | None = None,
    generics: Mapping[str, Any] | None = None,
    fixed_inputs: Mapping[str, bool | int | float] | None = None,
) -> SourceProgram:
    """Checks a source: a path, a text (with a line break), or what was checked already.

    `fixed_inputs` gives scalar inputs of entries, by name, numbers that they have in every call.
    LinnetError if it has errors; BindingError for a root or generics that do not fit.
    """
    if isinstance(source, CheckedProgram):
        checked = source
    elif isinstance(source, str) and "\n" in source:
        checked = check_text(source)
    else:
        checked = check_file(Path(source))
    return SourceProgram(checked, root, generics or {}, fixed_inputs or {})


class SourceProgram:
    """A checked module with a root block at fixed generics; a `linnet.torch.Program`."""

    def __init__(
        self,
        checked: CheckedProgram,
        root: str | None,
        generics: Mapping[str, Any],
        fixed_inputs: Mapping[str, bool | int | float],
    ) -> None:
        module = checked.ensure_valid()
        self._checked = checked
        if not isinstance(generics, Mapping):
            raise BindingError(f"generics: expected values by name, got {type(generics).__name__}")
        self._generics = dict(generics)
        own = entries(module, None)
        blocks = [item for item in module.items if isinstance(item, BlockDef) and item.public]
        alone = root is None and own and not any(entries(module, block) for block in blocks)
        self._block = None if alone else find_root(checked, root)
        self._own = {f.name: f for f in own}
        methods = entries(module, self._block) if self._block is not None else []
        self._functions: dict[str, FunctionDef] = {**self._own, **{f.name: f for f in methods}}
        self._methods = {f.name for f in methods}
        self._fixed = dict(fixed_inputs)
        self._variants: dict[str, dict[str, int]] = {}
        known = {param.name for f in self._functions.values() for param in f.params}
        unknown = [name for name in self._fixed if name not in known]
        if unknown:
            raise BindingError(
                f"fixed_inputs: no entry of {module.name} has the input {unknown[0]}"
            )
        self._manifest = manifest(checked, self._block.name, generics) if self._block else ()
        self._name = self._block.name if self._block else module.name

    @property
    def name(self) -> str:
        """The root block, or the module where there is none."""
        return self._name

    @property
    def generics(self) -> Mapping[str, Any]:
        """The root block's generics, as given."""
        return self._generics

    @property
    def entries(self) -> tuple[str, ...]:
        """The entries of the root block and of the module itself."""
        return tuple(self._functions)

    def inputs_of(self, entry: str) -> tuple[str, ...]:
        """The names of an entry's inputs, in order."""
        return tuple(param.name for param in self._functions[entry].params)

    def variants(self, entry: str) -> Mapping[str, int]:
        """How many variants the enum of each flat input of that type has."""
        found = self._variants.get(entry)
        if found is None:
            params = self._functions[entry].params
            pairs = (pair for param in params for pair in _variants(param.name, param.type))
            found = self._variants[entry] = dict(pairs)
        return found

    def declared(self, bound: frozenset[str] | None) -> tuple[Declared, ...]:
        """Parameters, buffers and states; of optional children only those all of whose required
        weights are in `bound`. With None, everything that there can be.
        """
        found = []
        for one in self._manifest:
            if bound is not None and not all(self._present(child, bound) for child in one.needs):
                continue
            optional = one.optional or (bound is None and bool(one.needs))
            found.append(Declared(one.path, one.kind, one.shape, one.dtype, optional))
        return tuple(found)

    def _present(self, child: str, bound: frozenset[str]) -> bool:
        """An optional child is there if everything that it cannot be without has a weight."""
        required = (
            one.path
            for one in self._manifest
            if one.needs and one.needs[-1] == child and one.kind != "state" and not one.optional
        )
        return all(path in bound for path in required)

    def graph_for(
        self,
        entry: str,
        inputs: Mapping[str, Description],
        generics: Mapping[str, Any],
        bound: frozenset[str],
    ) -> Graph:
        """The graph of an entry for inputs of these shapes and dtypes. TypeError that names the
        entry and the input for one that is missing or of another kind.
        """
        method = entry in self._methods
        params = self._functions[entry].params
        types = {param.name: param.type for param in params}
        for param in params:
            may_lack = isinstance(param.type, OptionalType) or param.node.default is not None
            if not (may_lack or param.name in inputs or param.name in self._fixed):
                missing = f"input {param.name!r} is missing; it is {param.type}"
                raise TypeError(f"entry {entry}: {missing}")
        specs = {
            name: _spec(f"entry {entry}: input {name}", types[name], given)
            for name, given in inputs.items()
        }
        try:
            return graph_for(
                self._checked,
                entry,
                specs,
                root=self._block.name if method and self._block is not None else None,
                generics=self._generics if method else {},
                entry_generics=generics,
                bound=bound,
                fixed={name: self._fixed[name] for name in types if name in self._fixed},
            )
        except MissingGenericsError as error:
            # The methods of `LinnetModule` call them `generics`.
            raise MissingGenericsError(error.problem, error.names, "generics") from None


def _spec(where: str, type_: Type, given: Description) -> Any:
    """What the binder takes: a Python number gets the dtype that the entry declares."""
    if isinstance(type_, OptionalType) and given is not None:
        return _spec(where, type_.inner, given)
    if isinstance(type_, Tensor) and not _is_leaf(given):
        parts = "a mapping" if isinstance(given, Mapping) else f"a list or tuple of {len(given)}"
        raise TypeError(f"{where}: expected {type_}, got {parts}; give a tensor")
    if isinstance(given, PlainNumber):
        if isinstance(type_, EnumType):
            return InputSpec((), "i64")
        if isinstance(type_, Scalar) and isinstance(type_.dtype, str):
            return InputSpec((), type_.dtype)
        kind = "whose dtype is generic" if isinstance(type_, Scalar) else "of that type"
        raise TypeError(f"{where}: {type_}: a plain number is no input {kind}; give a tensor")
    if isinstance(type_, TupleType) and isinstance(given, tuple) and len(given) == len(type_.items):
        return tuple(
            _spec(f"{where}.{k}", part, one)
            for k, (part, one) in enumerate(zip(type_.items, given, strict=True))
        )
    if isinstance(type_, StructType) and isinstance(given, Mapping):
        fields = type_.definition.fields
        return {
            field: _spec(f"{where}.{field}", fields[field], one) if field in fields else one
            for field, one in given.items()
        }
    return given


def _variants(name: str, type_: Type) -> Iterator[tuple[str, int]]:
    """The flat names of the parts of a type that are enums, with their numbers of variants."""
    if isinstance(type_, OptionalType):
        yield from _variants(name, type_.inner)
    elif isinstance(type_, EnumType):
        yield name, len(type_.definition.variants)
    elif isinstance(type_, TupleType):
        for position, part in enumerate(type_.items):
            yield from _variants(f"{name}.{position}", part)
    elif isinstance(type_, StructType):
        for field, part in type_.definition.fields.items():
            yield from _variants(f"{name}.{field}", part)


def _is_leaf(given: Description) -> bool:
    """Whether it describes a tensor, a number or nothing, and no parts."""
    if isinstance(given, tuple):
        return len(given) == 2 and isinstance(given[1], str)
    return not isinstance(given, Mapping)
