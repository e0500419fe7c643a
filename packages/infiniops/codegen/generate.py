"""The stages: declarations and options -> every generated file."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from .cmake_sources import cmake_sources
from .cpp_header import cpp_header
from .cpp_source import cpp_source
from .implementations import BASELINE_SETS, BF16_SETS, find_implementations
from .kernel_sources import kernel_sources, large_kernels, shared_sources
from .linked_table import linked_table
from .model import Build
from .operators_json import operators_json
from .ops_json import SelectionError
from .pages import operator_page, support_matrix
from .python_binding import binding_sources
from .python_stub import python_stub
from .read import read_declaration, read_declarations
from .registry import operators_header, registry_source
from .selection import Selection, select
from .sweep import benchmark_json, sweep_json

KERNEL_SETS = {
    "x86_64": ("baseline", "avx2", "avx512", "avx512_bf16"),
    "aarch64": ("baseline", "neon"),
}
"""Architecture -> the instruction sets that kernels are compiled for; others have the first."""
assert {s for sets in KERNEL_SETS.values() for s in sets} == {*BASELINE_SETS, *BF16_SETS}


@dataclass(frozen=True)
class Options:
    """What CMake passes."""

    root: Path
    version: str
    rt_abi_version: int
    devices: tuple[str, ...]
    architecture: str
    cpp_entries: bool
    ops: str
    smoke: bool
    torch_ops: str = ""
    linked: bool = False


def plan(options: Options) -> tuple[Build, Selection]:
    """Read the sources and apply the selection."""
    source = options.root / "src"
    declared = read_declarations(source / "base")
    selection = select(declared, options.root, options.ops, options.smoke, options.torch_ops)
    added = tuple(read_declaration(path) for path in selection.declarations.values())
    operators = tuple(
        operator
        for operator in sorted((*declared, *added), key=lambda one: one.name)
        if operator.name in selection.slots
    )
    families = [device for device in options.devices if device != "sim"]
    found = find_implementations(
        source, operators, families, selection.headers, linked=options.linked
    )
    kept = tuple(item for item in found if selection.keeps(item))
    for operator in operators:
        present = sorted({item.slot for item in found if item.operator == operator.name})
        missing = sorted((selection.slots[operator.name] or frozenset()) - set(present))
        if missing:
            raise SelectionError(
                f"{selection.origin}: {operator.name}: no implementation in slot "
                f"{', '.join(map(str, missing))}; this build can have {present or 'none'}"
            )
    return (
        Build(
            version=options.version,
            abi_version=_abi_version(options.root / "include" / "infini" / "ops" / "abi.h"),
            rt_abi_version=options.rt_abi_version,
            devices=options.devices,
            kernel_sets=KERNEL_SETS.get(options.architecture, ("baseline",)),
            cpp_entries=options.cpp_entries,
            operators=operators,
            implementations=kept,
            selection_inputs=selection.inputs,
            selection=selection.structured(options.root),
            accuracy=json.loads((source / "base" / "accuracy.json").read_text(encoding="utf-8")),
        ),
        selection,
    )


def generate(build: Build, root: Path) -> dict[str, str]:
    """Every generated file: path below the generated folder -> text."""
    files: dict[str, str] = {}
    for operator in build.operators:
        files[f"include/infini/ops/base/{operator.name}.h"] = cpp_header(operator)
        files[f"base/{operator.name}.cc"] = cpp_source(operator, build)
        files[f"share/docs/{operator.name}.md"] = operator_page(operator, build)
        files[f"share/sweep/{operator.name}.json"] = sweep_json(operator)
        files[f"share/benchmarks/{operator.name}.json"] = benchmark_json(operator)
    files["include/infini/ops/base/operators.h"] = operators_header(build)
    files["base/registry.cc"] = registry_source(build)
    files["share/docs/index.md"] = support_matrix(build)
    files["selection.json"] = json.dumps(build.selection, indent=2) + "\n"
    files["share/operators.json"] = operators_json(build)
    files["python/__init__.pyi"] = python_stub(build)
    files.update(shared_sources(build))
    kernels = kernel_sources(build)
    bindings = binding_sources(build)
    sources = [name for name in files if name.endswith(".cc")]
    files.update(linked_table(build))
    files.update(kernels)
    files.update(bindings)
    files["sources.cmake"] = cmake_sources(
        build, sources, kernels, large_kernels(build), bindings, _inputs(root)
    )
    return files


def _inputs(root: Path) -> list[str]:
    """What the generated files follow from, relative to the package; CMake watches these."""
    watched = [
        *(root / "codegen").glob("*.py"),
        *(root / "src" / "base").glob("*.yaml"),
        root / "src" / "base" / "accuracy.json",
        *(root / "src" / "native").glob("*/ops/*/*.h"),
        *(root / "src" / "native").glob("*/shared/*.h"),
        *(root / "src" / "linked").glob("*/*/ops/*/*.h"),
        root / "include" / "infini" / "ops" / "abi.h",
    ]
    return [path.relative_to(root).as_posix() for path in watched]


def _abi_version(header: Path) -> int:
    match = re.search(r"#define INFINI_OPS_ABI_VERSION (\d+)", header.read_text(encoding="utf-8"))
    if match is None:
        raise ValueError(f"{header} does not define INFINI_OPS_ABI_VERSION")
    return int(match[1])
