"""The numbers of a `config.json`, each checked when it is asked for."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linnet.models.checkpoint import CheckpointError


@dataclass(frozen=True)
class Settings:
    """A `config.json`; errors name it and the setting."""

    path: Path
    document: Mapping[str, Any]

    def error(self, reason: str) -> CheckpointError:
        """An error about this file."""
        return CheckpointError(f"{self.path}: {reason}")

    def size(self, name: str, default: int | None = None) -> int:
        """A positive whole number; null and absence mean the default."""
        value = self.document.get(name)
        value = default if value is None else value
        if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 2**31:
            raise self.error(f"{name} must be a positive whole number, got {value!r}")
        return value

    def number(self, name: str, default: float | None = None) -> float:
        """A positive number; null and absence mean the default."""
        value: Any = self.document.get(name)
        value = default if value is None else value
        real = isinstance(value, (int, float)) and not isinstance(value, bool)
        # The comparison holds for whole numbers past every float, which `float` would refuse.
        if not real or not 0 < value <= sys.float_info.max:
            raise self.error(f"{name} must be a positive number, got {value!r:.40}")
        return float(value)

    def must_be(self, name: str, *accepted: Any) -> None:
        """Refuses a setting whose value would change what is computed; the first accepted value
        is what absence means.
        """
        value = self.document.get(name, accepted[0])
        if value not in accepted:
            listed = " or ".join(repr(one) for one in accepted)
            raise self.error(f"{name} is {value!r}; only {listed} is understood")
