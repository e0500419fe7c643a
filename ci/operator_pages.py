"""A hook of mkdocs that publishes the pages of InfiniOps' operators, which its generators write."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

PACKAGE = Path("packages/infiniops")
PLACE = "infiniops/operators"


def operator_pages(package: Path) -> dict[str, str]:
    """The support matrix and a page for each operator of a CPU build: name -> text.

    Each begins with its heading, where mkdocs looks for a page's name.
    """
    sys.path.insert(0, str(package))
    try:
        from codegen.generate import Options, generate, plan
    finally:
        sys.path.remove(str(package))
    build, _ = plan(
        Options(
            root=package,
            version="",
            rt_abi_version=0,
            devices=("cpu", "sim"),
            architecture="x86_64",
            cpp_entries=False,
            ops="",
            smoke=False,
        )
    )
    prefix = "share/docs/"
    return {
        path.removeprefix(prefix): text[text.index("# ") :]
        for path, text in generate(build, package).items()
        if path.startswith(prefix)
    }


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Adds the support matrix and every operator's page below `PLACE`."""
    from mkdocs.structure.files import File

    root = Path(config.config_file_path).parent
    for name, text in sorted(operator_pages(root / PACKAGE).items()):
        files.append(File.generated(config, f"{PLACE}/{name}", content=text))
    return files
