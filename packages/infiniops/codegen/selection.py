"""Reads which operators and slots to build: `INFINI_OPS_OPS` and `INFINI_OPS_SMOKE_BUILD`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .declaration import Operator
from .implementations import GREATEST_SLOT, Implementation


class SelectionError(Exception):
    """The selection names something that is not there, or is malformed."""


@dataclass(frozen=True)
class Selection:
    """What is built: operator -> its slots, or None for all of them."""

    slots: dict[str, frozenset[int] | None]
    origin: str

    def keeps(self, item: Implementation) -> bool:
        """Whether an implementation of a selected operator is built."""
        slots = self.slots.get(item.operator)
        return slots is None or item.slot in slots


def select(
    operators: Sequence[Operator], ops: str, smoke: bool, implicit: Path | None = None
) -> Selection:
    """The selection that the options ask for; an explicit one wins over the smoke subset.

    `ops` is a list of operators separated by commas or semicolons, or the path of an `ops.json`;
    `implicit` is the `ops.json` that is read when it exists and nothing else is asked for.
    """
    names = [operator.name for operator in operators]
    if _is_path(ops):
        return read_ops_json(Path(ops.strip()), names)
    listed = [name.strip() for name in ops.replace(";", ",").split(",") if name.strip()]
    if listed:
        for name in listed:
            if name not in names:
                raise SelectionError(
                    f"INFINI_OPS_OPS: `{name}` is no operator; there are {', '.join(names)}"
                )
        return Selection({name: None for name in names if name in listed}, "INFINI_OPS_OPS")
    if smoke:
        chosen = {operator.name: None for operator in operators if operator.smoke}
        return Selection(dict.fromkeys(chosen), "INFINI_OPS_SMOKE_BUILD")
    if implicit is not None and implicit.is_file():
        return read_ops_json(implicit, names)
    return Selection(dict.fromkeys(names), "all operators")


def _is_path(ops: str) -> bool:
    return ops.strip().endswith(".json")


def read_ops_json(path: Path, names: Iterable[str]) -> Selection:
    """Read the structured form: operator -> {"implementations": "all" or [slots]}."""
    known = sorted(names)

    def refuse(key: str, message: str) -> SelectionError:
        return SelectionError(f"{path}: {key}: {message}" if key else f"{path}: {message}")

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        keys = [key for key, _ in pairs]
        for key in keys:
            if keys.count(key) > 1:
                raise refuse(key, "the key is given twice")
        return dict(pairs)

    try:
        document = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=unique)
    except OSError as error:
        raise refuse("", f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise refuse("", f"is not UTF-8: {error.reason}") from error
    except json.JSONDecodeError as error:
        raise refuse("", f"line {error.lineno}: is not JSON: {error.msg}") from error
    if not isinstance(document, dict):
        raise refuse("", "expected an object that maps operators to implementations")
    slots: dict[str, frozenset[int] | None] = {}
    for name, entry in document.items():
        if name not in known:
            raise refuse(name, f"is no operator; there are {', '.join(known)}")
        if isinstance(entry, (str, list)):
            raise refuse(
                name,
                "selects implementation headers, which this version does not read; write "
                '{"implementations": "all"} or {"implementations": [SLOT, ...]}',
            )
        if not isinstance(entry, dict) or list(entry) != ["implementations"]:
            raise refuse(name, 'expected {"implementations": "all" or [SLOT, ...]}')
        try:
            slots[name] = _slots(entry["implementations"])
        except ValueError as error:
            raise refuse(name, str(error)) from error
    return Selection({name: slots[name] for name in known if name in slots}, str(path))


def _slots(value: object) -> frozenset[int] | None:
    """The slots that `value` selects; None for all. Raises ValueError with what is wrong."""
    if value == "all":
        return None
    if not isinstance(value, list) or not value:
        raise ValueError('`implementations` must be "all" or a list of slots that is not empty')
    for slot in value:
        if isinstance(slot, bool) or not isinstance(slot, int) or not 0 <= slot <= GREATEST_SLOT:
            raise ValueError(
                f"{json.dumps(slot)} is no slot; slots are integers from 0 to {GREATEST_SLOT}"
            )
        if value.count(slot) > 1:
            raise ValueError(f"slot {slot} is given twice")
    return frozenset(value)
