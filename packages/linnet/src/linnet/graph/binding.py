"""Makes the graph of an entry at a binding, and the manifest of a root block."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from linnet.check import CheckedProgram
from linnet.check.definitions import BlockDef, FunctionDef, ModuleScope
from linnet.check.types import (
    Dims,
    DTypeVar,
    EnumType,
    OptionalType,
    Scalar,
    StructType,
    Substitution,
    Tensor,
    TupleType,
    Type,
    short_dtype,
    show_dims,
)
from linnet.graph.bound import (
    BindingError,
    Bound,
    bind_generics,
    refuse_unknown,
)
from linnet.graph.builder import Builder, Pruned
from linnet.graph.data import (
    ArrayInstance,
    Datum,
    Instance,
    Record,
    Ref,
    child_of,
    settled,
    tree_of,
)
from linnet.graph.evaluate import Evaluator
from linnet.graph.model import Constant, Graph, Input, State, leaves
from linnet.graph.tensors import World
from linnet.graph.work import check_instances
from linnet.shapes import Pack, Poly
from linnet.source.recursion import deep_recursion


class InputSpec(NamedTuple):
    """Shape and dtype of one input; the shape of a scalar is ()."""

    shape: tuple[int, ...]
    dtype: str


# None is an absent optional; tuples and mappings follow tuples and structs.
Spec: TypeAlias = "InputSpec | tuple[Any, ...] | Mapping[str, Any] | None"


@dataclass(frozen=True)
class ManifestEntry:
    """One parameter, buffer or state of a root at its generics.

    `optional` means that the member itself may be absent; `needs` names the optional children on
    the way, which are present only if all that they require is.
    """

    path: str
    kind: str
    shape: tuple[int, ...]
    dtype: str
    optional: bool
    needs: tuple[str, ...] = ()


def find_root(
    program: CheckedProgram, root: str | None, entry: str | None = None
) -> BlockDef | None:
    """The root block: the one named, or the only public block (with the entry, if given).

    None for an entry of the module itself. BindingError lists what there is.
    """
    module = program.ensure_valid()
    blocks = {item.name: item for item in module.items if isinstance(item, BlockDef)}
    if root is not None:
        if root not in blocks:
            raise BindingError(
                f"module {module.name} has no block {root!r}; it has: {', '.join(blocks) or 'none'}"
            )
        return blocks[root]
    if entry is not None and any(f.name == entry for f in entries(module, None)):
        return None
    public = [b for b in blocks.values() if b.public]
    fitting = [
        b for b in public if entry is None or any(f.name == entry for f in entries(module, b))
    ]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting and entry is not None:
        known = [f"{b.name}.{f.name}" for b in public for f in entries(module, b)]
        known += [f.name for f in entries(module, None)]
        listed = ", ".join(known) or "none"
        raise BindingError(f"module {module.name} has no entry {entry!r}; it has: {listed}")
    named = ", ".join(b.name for b in fitting) or "none"
    raise BindingError(f"name the root block of module {module.name}; candidates: {named}")


def entries(module: ModuleScope, block: BlockDef | None) -> list[FunctionDef]:
    """The entries of a block, or of the module itself."""
    if block is None:
        return [f for f in module.items if isinstance(f, FunctionDef) and f.kind == "entry"]
    return [f for f in block.methods() if f.kind == "entry"]


def root_instance(block: BlockDef, generics: Mapping[str, Any]) -> Instance:
    """The root at its generics; BindingError for what is missing or breaks its `where`."""
    bound = Bound()
    bind_generics(block.generics, generics, bound, f"block {block.name}")
    bound.require(block.generics, f"block {block.name} needs values for its generics", "generics")
    bound.check_where(block.where, f"block {block.name}")
    return Instance(block, bound, "")


def manifest(
    program: CheckedProgram, root: str | None = None, generics: Mapping[str, Any] | None = None
) -> tuple[ManifestEntry, ...]:
    """Every parameter, buffer and state of a root block, in order of declaration."""
    block = find_root(program, root)
    if block is None:
        return ()
    return tuple(_entries_below(root_instance(block, generics or {})))


def _entries_below(root: Instance) -> list[ManifestEntry]:
    """The manifest of an instance; BindingError if it has too many instances."""
    found: list[ManifestEntry] = []
    seen = itertools.count(1)

    def collect(instance: Instance, needs: tuple[str, ...]) -> None:
        check_instances(next(seen), instance.path)
        for member in instance.block.members.values():
            path = instance.child(member.name)
            if member.kind != "sub":
                t = member.type.inner if isinstance(member.type, OptionalType) else member.type
                shape, dtype = instance.bound.numbers(t)
                found.append(ManifestEntry(path, member.kind, shape, dtype, member.optional, needs))
                continue
            inner = (*needs, path) if isinstance(member.type, OptionalType) else needs
            child = child_of(instance, member.name, member.type, lambda _: True)
            for one in child.items if isinstance(child, ArrayInstance) else (child,):
                assert isinstance(one, Instance)
                collect(one, inner)

    collect(root, ())
    return found


def required_paths(instance: Instance) -> list[str]:
    """Parameters and buffers that an instance cannot be without."""
    found = _entries_below(instance)
    return [e.path for e in found if e.kind != "state" and not e.optional and not e.needs]


def graph_for(
    program: CheckedProgram,
    entry: str,
    inputs: Mapping[str, Any] | Sequence[Any] | None = (),
    *,
    root: str | None = None,
    generics: Mapping[str, Any] | None = None,
    entry_generics: Mapping[str, Any] | None = None,
    bound: Collection[str] = (),
    fixed: Mapping[str, bool | int | float] | None = None,
) -> Graph:
    """The graph of `entry` for inputs of these shapes and dtypes.

    `inputs` maps parameter names to `(shape, dtype)`, or lists them in order; a nested tuple or
    mapping stands for a tuple or struct, None for an absent optional. Where `inputs` itself is
    None, every input without a default has the shape that the generics say. `generics` are those of
    the root block, `entry_generics` those of the entry that the inputs do not tell. `bound` holds
    the paths that have weights: they decide which optional parameters and children are present.
    `fixed` gives numbers for scalar parameters; they become constants of the graph, unless `inputs`
    names them too.
    Raises LinnetError if the program has errors, BindingError for a binding that does not fit.
    """
    block = find_root(program, root, entry)
    module = program.ensure_valid()
    fn = next((f for f in entries(module, block) if f.name == entry), None)
    if fn is None:
        known = ", ".join(f.name for f in entries(module, block)) or "none"
        owner = f"block {block.name}" if block else f"module {module.name}"
        raise BindingError(f"{owner} has no entry {entry!r}; it has: {known}")
    with deep_recursion():
        return _Maker(module, block, fn, generics or {}, frozenset(bound), fixed or {}).graph(
            inputs, entry_generics or {}
        )


class _Maker:
    def __init__(
        self,
        module: ModuleScope,
        block: BlockDef | None,
        fn: FunctionDef,
        generics: Mapping[str, Any],
        present: frozenset[str],
        fixed: Mapping[str, bool | int | float],
    ) -> None:
        self.fixed = fixed
        self.module = module
        self.fn = fn
        self.what = f"entry {fn.name}"
        if block is None and generics:
            raise BindingError(f"{self.what} belongs to no block, so it has no root generics")
        self.instance = root_instance(block, generics) if block else None
        self.builder = Builder()
        self.present = present
        self.inputs: list[Input] = []
        self.bound = self.instance.bound.copy() if self.instance else Bound()

    def has_child(self, instance: Instance) -> bool:
        """An optional child is present if all it requires is bound."""
        return all(path in self.present for path in required_paths(instance))

    def graph(
        self, inputs: Mapping[str, Any] | Sequence[Any] | None, generics: Mapping[str, Any]
    ) -> Graph:
        """Binds, evaluates, prunes, numbers."""
        fn = self.fn
        given = self.named_inputs(() if inputs is None else inputs)
        block = self.instance.block if self.instance else None
        refuse_unknown(generics, fn.generics, self.what, block)
        bind_generics(
            (g for g in fn.generics if g.name in generics), generics, self.bound, self.what
        )
        for param in fn.params:
            if param.name in given:
                self.infer(param.name, param.type, given[param.name])
        bind_generics(fn.generics, {}, self.bound, self.what)
        self.bound.require(fn.generics, f"{self.what}: no input tells", "entry_generics")
        self.bound.check_where(fn.where, self.what)
        if inputs is None:
            wanted = (p for p in fn.params if p.node.default is None and p.name not in self.fixed)
            given = {p.name: self.spec(p.type) for p in wanted}
        world = World(self.builder, self.present.__contains__, self.has_child)
        ir = world.function(fn)
        evaluator = Evaluator(world, ir, self.bound, self.instance)
        for one in ir.params:
            if one.name in given:
                datum = self.input(one.name, one.type, given[one.name])
            elif one.name in self.fixed:
                datum = self.constant(one.name, one.type)
            elif one.default is not None:
                datum = evaluator.run(one.default)[0]
            else:
                raise BindingError(f"{self.what} needs the input {one.name}: {one.type}")
            evaluator.values[one.value] = datum
        found = evaluator.run(ir.body)
        return self.finish(world, found[0] if found else None)

    def named_inputs(self, inputs: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
        """Inputs by parameter name."""
        names = [p.name for p in self.fn.params]
        if not isinstance(inputs, Mapping):
            if len(inputs) > len(names):
                raise BindingError(
                    f"{self.what} takes {len(names)} inputs ({', '.join(names)}), got {len(inputs)}"
                )
            return dict(zip(names, inputs, strict=False))
        for name in inputs:
            if name not in names:
                raise BindingError(
                    f"{self.what} has no input {name!r}; it has: {', '.join(names) or 'none'}"
                )
        return dict(inputs)

    def spec(self, t: Type) -> Spec:
        """What an input of a type is at the binding; an optional is absent."""
        if isinstance(t, OptionalType):
            return None
        if isinstance(t, TupleType):
            return tuple(self.spec(item) for item in t.items)
        if isinstance(t, StructType):
            return {name: self.spec(part) for name, part in self.field_types(t).items()}
        if isinstance(t, EnumType):
            return InputSpec((), "i64")
        return InputSpec(*self.bound.numbers(t))

    # Reading generics off shapes

    def infer(self, name: str, t: Type, spec: Any) -> None:
        """Binds generics that an input tells."""
        if isinstance(t, OptionalType):
            if spec is not None:
                self.infer(name, t.inner, spec)
        elif isinstance(t, TupleType):
            for index, (part, one) in enumerate(
                zip(t.items, parts_of(spec, len(t.items), name), strict=True)
            ):
                self.infer(f"{name}.{index}", part, one)
        elif isinstance(t, StructType):
            for field, part in self.fields(t, spec, name).items():
                self.infer(f"{name}.{field}", part, spec[field])
        elif isinstance(t, (Tensor, Scalar)):
            found = input_spec(spec, name)
            if isinstance(t.dtype, DTypeVar) and not self.bound.has(t.dtype):
                generic = next(g for g in self.fn.generics if g.key is t.dtype)
                bind_generics([generic], {generic.name: found.dtype}, self.bound, f"input {name}")
            if isinstance(t, Tensor):
                self.infer_dims(name, t, found)

    def infer_dims(self, name: str, t: Tensor, found: InputSpec) -> None:
        """Binds lone symbols and one pack."""
        dims = t.dims
        packs = [i for i, d in enumerate(dims) if isinstance(d, Pack) and not self.bound.has(d)]
        expanded = self.expand(dims)
        shape = found.shape
        if len(packs) == 1:
            at = expanded.index(dims[packs[0]])
            after = len(expanded) - at - 1
            if len(shape) < at + after:
                raise BindingError(
                    f"input {name} needs at least {at + after} axes ([{show_dims(dims)}]), "
                    f"got shape {list(shape)}"
                )
            pack = expanded[at]
            assert isinstance(pack, Pack)
            self.bound.bind(pack, shape[at : len(shape) - after])
            expanded = self.expand(dims)
        if len(expanded) != len(shape):
            raise BindingError(
                f"input {name} has {len(expanded)} axes ([{show_dims(dims)}]), "
                f"got shape {list(shape)}"
            )
        for dim, size in zip(expanded, shape, strict=True):
            symbol = dim.symbol if isinstance(dim, Poly) else None
            if symbol is not None and not self.bound.has(symbol):
                self.bound.bind(symbol, size)

    def expand(self, dims: Dims) -> list[Poly | Pack | int]:
        """Dimensions with known packs as numbers."""
        found: list[Poly | Pack | int] = []
        for dim in dims:
            if isinstance(dim, Pack) and self.bound.has(dim):
                found += self.bound.packs[dim]
            else:
                found.append(dim)
        return found

    def field_types(self, t: StructType) -> dict[str, Type]:
        """The fields of a struct type with their types."""
        values = Substitution()
        for generic, value in zip(t.definition.generics, t.arguments, strict=True):
            values.bind(generic.key, value)
        return {field: values.type(part) for field, part in t.definition.fields.items()}

    def fields(self, t: StructType, spec: Any, name: str) -> dict[str, Type]:
        """Field types of a struct, after checking that the spec has exactly its fields."""
        fields = self.field_types(t)
        if not isinstance(spec, Mapping) or set(spec) != set(fields):
            raise BindingError(f"input {name} takes a mapping with the fields {', '.join(fields)}")
        return fields

    # Inputs

    def input(self, name: str, t: Type, spec: Any) -> Datum:
        """The values of one input, after checking shapes and dtypes against the binding."""
        if isinstance(t, OptionalType):
            return None if spec is None else self.input(name, t.inner, spec)
        if spec is None:
            raise BindingError(f"input {name}: {t} is not optional, got None")
        if isinstance(t, TupleType):
            parts = zip(t.items, parts_of(spec, len(t.items), name), strict=True)
            return tuple(
                self.input(f"{name}.{i}", part, one) for i, (part, one) in enumerate(parts)
            )
        if isinstance(t, StructType):
            fields = self.fields(t, spec, name)
            return Record({f: self.input(f"{name}.{f}", p, spec[f]) for f, p in fields.items()})
        found = input_spec(spec, name)
        if isinstance(t, EnumType):
            wanted: tuple[tuple[int, ...], str] = ((), "i64")
        else:
            wanted = self.bound.numbers(t)
        if found.dtype != wanted[1]:
            raise BindingError(f"input {name} has the dtype {wanted[1]}, got {found.dtype}")
        if found.shape != wanted[0]:
            raise BindingError(
                f"input {name}: {t} has the shape {list(wanted[0])} here, got {list(found.shape)}"
                f"{self.sizes_note(t)}"
            )
        number = self.builder.value(found.shape, found.dtype, "input", name)
        self.inputs.append(Input(name, number))
        return Ref(number)

    def constant(self, name: str, t: Type) -> Datum:
        """A scalar parameter at its fixed number."""
        number = self.fixed[name]
        dtype = self.bound.numbers(t)[1] if isinstance(t, Scalar) else None
        if dtype is None:
            raise BindingError(f"input {name}: {t} cannot be fixed to a number")
        whole = isinstance(number, int) and not isinstance(number, bool)
        fits = whole or isinstance(number, float) if "f" in dtype else whole
        if not (isinstance(number, bool) if dtype == "bool" else fits):
            raise BindingError(f"input {name} is fixed to {number!r}, which is no {dtype}")
        return Ref(self.builder.constant(float(number) if "f" in dtype else number, dtype))

    def sizes_note(self, t: Type) -> str:
        """The sizes that a type's symbols are bound to."""
        if not isinstance(t, Tensor):
            return ""
        atoms = {a for d in t.dims if isinstance(d, Poly) for a in d.leaves}
        shown = [f"{a.name} = {self.bound.sizes[a]}" for a in sorted(atoms, key=lambda a: a.serial)]
        return f" ({', '.join(shown)})" if shown else ""

    # Finishing

    def finish(self, world: World, found: Datum) -> Graph:
        """Prunes and numbers everything."""
        builder = self.builder
        result = tree_of(settled(builder, found))
        live = set(leaves(result)) | {world.state(path) for path in world.first_states}
        pruned = Pruned(builder)
        steps, calls = pruned.live_steps(builder.steps, builder.calls, live)
        inputs = tuple(Input(i.name, pruned.number(i.value)) for i in self.inputs)
        order = self.manifest_order()
        kept = [p for p in builder.parameters.values() if p.value in live]
        kept.sort(key=lambda p: order[p.path])
        parameters = tuple(
            type(p)(p.path, pruned.number(p.value), p.kind, p.shape, p.dtype, p.optional)
            for p in kept
        )
        paths = sorted(world.first_states, key=order.__getitem__)
        firsts = [pruned.number(world.first_states[path]) for path in paths]
        constants = tuple(
            Constant(pruned.number(c.value), c.literal)
            for c in builder.constants.values()
            if c.value in live
        )
        numbered = tuple(pruned.step(step) for step in steps)
        marked = tuple(pruned.call(call) for call in calls)
        states = tuple(
            State(
                path, first, pruned.number(world.state(path)), *self.kind(world.first_states[path])
            )
            for path, first in zip(paths, firsts, strict=True)
        )
        tree = pruned.tree(result)
        return Graph(
            module=self.module.name,
            root=self.instance.block.name if self.instance else None,
            entry=self.fn.name,
            generics=self.shown(self.instance.block.generics if self.instance else ()),
            entry_generics=self.shown(self.fn.generics),
            values=tuple(pruned.values),
            inputs=inputs,
            result=tree,
            parameters=parameters,
            states=states,
            constants=constants,
            steps=numbered,
            calls=marked,
        )

    def kind(self, number: int) -> tuple[tuple[int, ...], str]:
        """Shape and dtype of a value."""
        value = self.builder.values[number]
        return value.shape, value.dtype

    def shown(self, generics: Sequence[Any]) -> dict[str, Any]:
        """Generics with their values."""
        return {g.name: self.bound.get(g.key) for g in generics}

    def manifest_order(self) -> dict[str, int]:
        """The place of each path among the root's members."""
        if self.instance is None:
            return {}
        found = _entries_below(self.instance)
        return {entry.path: place for place, entry in enumerate(found)}


def input_spec(spec: Any, name: str) -> InputSpec:
    """`(shape, dtype)` as an InputSpec, its dtype in Linnet's word; BindingError for all else."""
    if isinstance(spec, (tuple, list)) and len(spec) == 2 and isinstance(spec[1], str):
        shape = spec[0]
        if isinstance(shape, (tuple, list)) and all(isinstance(s, int) and s >= 0 for s in shape):
            return InputSpec(tuple(shape), short_dtype(spec[1]))
    raise BindingError(f"input {name} is given as (shape, dtype), got {spec!r}")


def parts_of(spec: Any, count: int, name: str) -> Sequence[Any]:
    """The parts of a tuple's spec."""
    if isinstance(spec, InputSpec) or not isinstance(spec, (tuple, list)) or len(spec) != count:
        raise BindingError(f"input {name} is a tuple of {count} parts, got {spec!r}")
    return spec
