"""What resolving found out, and its JSON documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any, ClassVar

from .contracts import Implementation, SymbolContract
from .diagnostics import Problem, ResolveError, write_json
from .environment import Distribution
from .locate import Located


@dataclass(frozen=True)
class Resolution:
    """The result of resolving: either everything is proved, or there are problems."""

    SCHEMA: ClassVar[int] = 1

    implementations: tuple[Implementation, ...]
    located: Mapping[str, Located]
    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()
    torch: Distribution | None = None
    """The installed torch, if the transport `torch` is in use."""

    @property
    def ok(self) -> bool:
        """Whether every contract is proved."""
        return not self.problems

    @property
    def torch_version(self) -> str | None:
        """The version of the torch in use."""
        return None if self.torch is None else str(self.torch.version)

    @property
    def version(self) -> str:
        """The version of the resolver."""
        return version("linked-resolver")

    @property
    def libraries(self) -> tuple[Located, ...]:
        """The libraries of the implementations, each before those that it depends on, once per
        file."""
        names = dict.fromkeys(
            library.id
            for position in (0, 1)
            for item in self.implementations
            for library in (item.link_libraries if position else (item.library,))
        )
        found = [self.located[name] for name in names if name in self.located]
        # One that others depend on comes last, even if it is also some implementation's own.
        needed = {other.id for item in self.implementations for other in item.link_libraries}
        found.sort(key=lambda item: item.library.id in needed)
        return tuple({item.path: item for item in found}.values())

    @property
    def retained(self) -> frozenset[str]:
        """Ids of the libraries that the linker must keep although no symbol of theirs is used:
        those of Dispatcher contracts, and those named under `link_libraries`."""
        names = {other.id for item in self.implementations for other in item.link_libraries}
        names |= {
            item.library.id
            for item in self.implementations
            if not isinstance(item.contract, SymbolContract)
        }
        paths = {self.located[name].path for name in names if name in self.located}
        return frozenset(name for name, item in self.located.items() if item.path in paths)

    def raise_for_problems(self) -> None:
        """Raises ResolveError unless everything is proved."""
        if self.problems:
            raise ResolveError(self.problems)


def document(resolution: Resolution) -> dict[str, Any]:
    """`diagnostics.json`: everything that was found out, in every case."""
    return {
        "schema": resolution.SCHEMA,
        "resolver": resolution.version,
        "status": "proved" if resolution.ok else "failed",
        "problems": [asdict(problem) for problem in resolution.problems],
        "notes": sorted(resolution.notes),
        "torch": resolution.torch_version,
        "implementations": [_implementation(item) for item in resolution.implementations],
        "libraries": [_library(item) for item in _sorted(resolution)],
    }


def resolved_document(resolution: Resolution) -> str:
    """`resolved.json`: what an installed build tells about the libraries that it is linked with.
    Unlike in the diagnostics, paths are whole."""
    retained = resolution.retained
    content = {
        "schema": resolution.SCHEMA,
        "resolver": resolution.version,
        "torch": resolution.torch_version,
        "implementations": [_implementation(item) for item in resolution.implementations],
        "libraries": [
            {**_library(item), "retained": item.library.id in retained}
            for item in _sorted(resolution)
        ],
    }
    return write_json(content)


def _sorted(resolution: Resolution) -> list[Located]:
    return [resolution.located[name] for name in sorted(resolution.located)]


def _implementation(item: Implementation) -> dict[str, Any]:
    contract = item.contract
    if isinstance(contract, SymbolContract):
        proved: dict[str, Any] = {"symbols": [symbol.value for symbol in contract.symbols]}
    else:
        proved = {
            "operator_schema": contract.schema.value,
            "dispatch_key": contract.dispatch_key.value,
        }
    return {
        "id": item.id,
        "operator": item.operator,
        "device": item.device,
        "transport": item.transport,
        "name": item.name,
        "slot": item.slot.number,
        "library": item.library.id,
        "link_libraries": [other.id for other in item.link_libraries],
        **proved,
    }


def _library(item: Located) -> dict[str, Any]:
    return {
        "id": item.library.id,
        "distribution": item.distribution.name,
        "version": str(item.distribution.version),
        "path": str(item.path),
        "include": None if item.include is None else str(item.include),
        "soname": item.facts.soname,
        "needed": list(item.facts.needed),
        "machine": item.facts.machine,
        "size": item.facts.size,
        "build_id": item.facts.build_id,
    }
