"""Writes the documentation pages that follow from the tree, so that they never disagree with it."""

from __future__ import annotations

import ast
from pathlib import Path

from ci.packages import PACKAGES

NOTICE = "<!-- Made by ci/pages.py; `nox -s docs -- --write` renews it. -->"


def packages_page(root: Path) -> str:
    """The page of all packages: version and description from each pyproject.toml."""
    lines = [
        NOTICE,
        "",
        "# Packages",
        "",
        "| folder | distribution | modules | version | what it is |",
    ]
    lines.append("|---|---|---|---|---|")
    for package in PACKAGES:
        project = package.metadata_below(root)
        modules = ", ".join(f"`{name}`" for name in package.modules)
        names = [f"`packages/{package.name}`", f"`{project['name']}`", modules]
        row = [*names, project["version"], project["description"]]
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines) + "\n"


def sessions_page(root: Path) -> str:
    """The page of all nox sessions: name and docstring from noxfile.py."""
    tree = ast.parse((root / "noxfile.py").read_text(encoding="utf-8"))
    lines = [NOTICE, "", "# Sessions", "", "| session | does |", "|---|---|"]
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and any(map(_is_session, node.decorator_list)):
            text = " ".join((ast.get_docstring(node) or "").split())
            lines.append(f"| `nox -s {node.name}` | {text} |")
    return "\n".join(lines) + "\n"


def _is_session(decorator: ast.expr) -> bool:
    return ast.unparse(decorator).startswith("nox.session")


def generate(root: Path) -> dict[Path, str]:
    """Every generated page: its path relative to `root`, and its text."""
    return {
        Path("docs/packages.md"): packages_page(root),
        Path("docs/sessions.md"): sessions_page(root),
    }


def write(root: Path) -> None:
    """Writes every generated page whose text differs."""
    for path, text in generate(root).items():
        target = root / path
        if not target.is_file() or target.read_text(encoding="utf-8") != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
