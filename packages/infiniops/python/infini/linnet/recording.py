"""Which recorder a thread records with; executables ask on each call."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from infini.linnet.recorder import GraphRecorder

current = threading.local()


def recording() -> GraphRecorder | None:
    """The recorder that this thread records with, or None when it does not record."""
    recorder: GraphRecorder | None = getattr(current, "recorder", None)
    return recorder
