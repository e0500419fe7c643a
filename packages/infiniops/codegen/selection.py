"""Says which operators and implementations are built: INFINI_OPS_OPS and what stands beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .declaration import Operator
from .implementations import TORCH_SLOT, Header, Implementation
from .ops_json import Selected, SelectionError, read_ops_json

OPTION = "INFINI_OPS_OPS"
TORCH_OPTION = "INFINI_OPS_TORCH_OPS"


@dataclass(frozen=True)
class Selection:
    """What is built."""

    origin: str
    """Who asks for it, for messages."""
    slots: dict[str, frozenset[int] | None]
    """Operator -> its slots, or None for all of them."""
    headers: dict[str, tuple[Header, ...]] = field(default_factory=dict)
    """Operator -> the headers that take the place of those below `src/`."""
    declarations: dict[str, Path] = field(default_factory=dict)
    """Operator that `src/base` does not declare -> its declaration."""
    torch_operators: frozenset[str] | None = None
    """Operators whose generated ATen implementation is built; None for all."""
    file: Path | None = None
    """The `ops.json` that was read."""

    def keeps(self, item: Implementation) -> bool:
        """Whether an implementation of a selected operator is built."""
        if item.operator in self.headers:
            return any(header.path == item.header for header in self.headers[item.operator])
        if (
            item.slot == TORCH_SLOT
            and self.torch_operators is not None
            and item.operator not in self.torch_operators
        ):
            return False
        slots = self.slots[item.operator]
        return slots is None or item.slot in slots

    def structured(self, root: Path) -> dict[str, object]:
        """The same in the form of an `ops.json`, for linked-resolver; relative to `root`."""

        def entry(name: str) -> object:
            if name in self.headers:
                return [
                    {
                        "path": header.path.relative_to(root).as_posix()
                        if header.path.is_relative_to(root)
                        else str(header.path),
                        "backend": header.backend,
                    }
                    for header in self.headers[name]
                ]
            slots = self.slots[name]
            return {"implementations": "all" if slots is None else sorted(slots)}

        return {name: entry(name) for name in self.slots}

    @property
    def inputs(self) -> tuple[Path, ...]:
        """The files that the selection was read from, or leads to."""
        headers = [header.path for named in self.headers.values() for header in named]
        file = [self.file] if self.file else []
        return tuple(sorted({*file, *headers, *self.declarations.values()}))


def select(
    operators: Sequence[Operator], root: Path, ops: str = "", smoke: bool = False, torch: str = ""
) -> Selection:
    """The selection that the options ask for.

    Args:
        operators: What `src/base` declares.
        root: Folder of the package; relative paths start there, and its `ops.json` is read where
            nothing else is asked for.
        ops: INFINI_OPS_OPS: operators separated by commas or semicolons, or the path of an
            `ops.json`. Wins over all the rest.
        smoke: INFINI_OPS_SMOKE_BUILD: the representative subset; wins over an implicit `ops.json`.
        torch: INFINI_OPS_TORCH_OPS: operators whose ATen implementation is built; what `ops`
            leaves out stays out.

    Raises:
        SelectionError: A name is unknown, or a file is malformed.
    """
    names = [operator.name for operator in operators]
    torch_operators = frozenset(_listed(torch, names, TORCH_OPTION)) if torch.strip() else None
    implicit = root / "ops.json"
    if _is_path(ops):
        return _of_file(root / ops.strip(), names, root, torch_operators)
    if ops.strip():
        listed = _listed(ops, names, OPTION)
        return Selection(
            OPTION,
            {name: None for name in names if name in listed},
            torch_operators=torch_operators,
        )
    if smoke:
        chosen = [operator.name for operator in operators if operator.smoke]
        return Selection(
            "INFINI_OPS_SMOKE_BUILD", dict.fromkeys(chosen), torch_operators=torch_operators
        )
    if implicit.exists():
        return _of_file(implicit, names, root, torch_operators)
    return Selection("all operators", dict.fromkeys(names), torch_operators=torch_operators)


def _is_path(ops: str) -> bool:
    """No operator's name has a dot or a slash."""
    return any(letter in ops for letter in "./\\")


def _listed(text: str, names: Sequence[str], option: str) -> list[str]:
    listed = [name.strip() for name in text.replace(";", ",").split(",") if name.strip()]
    if not listed:
        raise SelectionError(f"{option}: `{text}` names no operator")
    for name in listed:
        if name not in names:
            raise SelectionError(f"{option}: `{name}` is no operator; there are {', '.join(names)}")
    return listed


def _of_file(
    path: Path, names: Sequence[str], root: Path, torch_operators: frozenset[str] | None
) -> Selection:
    entries: dict[str, Selected] = read_ops_json(path, names, root)
    return Selection(
        str(path),
        {name: entries[name].slots for name in sorted(entries)},
        {name: entry.headers for name, entry in entries.items() if entry.headers},
        {name: entry.declaration for name, entry in entries.items() if entry.declaration},
        torch_operators,
        path,
    )
