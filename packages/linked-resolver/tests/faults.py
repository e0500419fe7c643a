"""Reads the pages of `faults/`: prose, files of a contract tree, and the whole text that results.

A section begins with `## what holds`. A fenced block whose info is `file PATH` is a file that
replaces or adds to the valid tree of `Workspace.complete`; `delete PATH` takes one away; `ops` is
the text of an ops.json; the block `problems` holds the whole text, or nothing if all is well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent / "faults"
_BLOCK = re.compile(r"^```(\w+)(?: ([^\n]+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass
class Fault:
    """One section of a page."""

    title: str
    files: dict[str, str] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    ops: str | None = None
    problems: str | None = None


def read_page(page: Path) -> Iterator[Fault]:
    """The sections of one page."""
    _, *sections = re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for section in sections:
        title, _, body = section.partition("\n")
        fault = Fault(title.strip())
        for kind, argument, text in _BLOCK.findall(body):
            if kind == "file":
                fault.files[argument] = text
            elif kind == "delete":
                fault.deleted.append(argument)
            elif kind == "ops":
                fault.ops = text
            elif kind == "problems":
                fault.problems = text.rstrip("\n")
            else:
                raise ValueError(f"{page}: {title}: a block of the unknown kind {kind!r}")
        if fault.problems is None:
            raise ValueError(f"{page}: {title}: no block `problems`")
        yield fault
