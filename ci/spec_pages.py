"""A hook of mkdocs that publishes Linnet's specification: its pages are tests of the package."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

PAGES = Path("packages/linnet/tests/spec")
PLACE = "linnet/spec"


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Adds every page of the specification below `PLACE`."""
    from mkdocs.structure.files import File

    root = Path(config.config_file_path).parent
    for page in sorted((root / PAGES).glob("*.md")):
        files.append(File.generated(config, f"{PLACE}/{page.name}", abs_src_path=str(page)))
    return files
