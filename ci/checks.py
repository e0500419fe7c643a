"""Checks of the repository that no linter makes; `python -m ci checks` runs them by themselves."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ci import pages
from ci.native import ROOT
from ci.packages import PACKAGES
from ci.stamp import files_of
from ci.steps import Step, StepError

ROOT_ENTRIES = {
    ".ci",
    ".clang-format",
    ".clang-tidy",
    ".github",
    ".gitignore",
    ".pre-commit-config.yaml",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "README.md",
    "ci",
    "docs",
    "mkdocs.yml",
    "noxfile.py",
    "packages",
    "pyproject.toml",
}
LONGEST_FILE = 500
LONGEST_NOXFILE = 250
SOURCE_SUFFIXES = {".py", ".pyi", ".h", ".cc", ".cu", ".cuh", ".cmake", ".sh"}
# Spelled in two halves, since this file is checked too.
REGISTRY_HOSTS = tuple(
    host + domain
    for host, domain in [
        ("pypi", ".org"),
        ("pythonhosted", ".org"),
        ("npmjs", ".org"),
        ("deb.debian", ".org"),
        ("download.pytorch", ".org"),
    ]
)
# Settings of a machine whose values must not get into the tree.
MACHINE_VARIABLES = (
    "HOME",
    "PIP_FIND_LINKS",
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "UV_FIND_LINKS",
    "UV_INDEX_URL",
    "UV_DEFAULT_INDEX",
    "PYENV_ROOT",
)


@dataclass(frozen=True)
class Problem:
    """One finding: where, and what to do about it."""

    path: Path
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


Check = Callable[[Path], list[Problem]]


def _lines(root: Path, path: Path) -> list[str]:
    """The lines of a text file; none for a binary one."""
    try:
        return (root / path).read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        return []


def misplaced_files(root: Path) -> list[Problem]:
    """Entries of the root that nothing is known of, and parts that a package lacks."""
    files = files_of(root, ["."])
    problems = [
        Problem(Path(name), 1, "unknown entry of the root; add it to ci/checks.py or move it")
        for name in sorted({path.parts[0] for path in files} - ROOT_ENTRIES)
    ]
    known = {package.name for package in PACKAGES}
    present = {path.parts[1] for path in files if path.parts[0] == "packages"}
    problems += [
        Problem(Path("packages", name), 1, "not a package of ci/packages.py")
        for name in sorted(present - known)
    ]
    for name in sorted(present & known):
        folder = Path("packages", name)
        problems += [
            Problem(folder / part, 1, f"missing; every package has a {part}")
            for part in ("README.md", "pyproject.toml", "tests")
            if not (root / folder / part).exists()
        ]
    problems += [
        Problem(path, 1, "`infini` is a namespace of two distributions: it has no __init__.py")
        for path in files
        if path.parts[-2:] == ("infini", "__init__.py")
    ]
    return problems


def incomplete_readmes(root: Path) -> list[Problem]:
    """READMEs of packages that do not open with a title or do not name a folder of theirs."""
    problems = []
    for package in PACKAGES:
        folder = Path("packages", package.name)
        readme = folder / "README.md"
        lines = _lines(root, readme) if (root / readme).is_file() else []
        if not lines:
            continue  # `misplaced_files` reports a missing one.
        if not lines[0].startswith("# "):
            problems.append(Problem(readme, 1, "opens with no title `# ...`"))
        inside = {path.relative_to(folder) for path in files_of(root, [str(folder)])}
        folders = sorted({path.parts[0] for path in inside if len(path.parts) > 1})
        problems += [
            Problem(readme, 1, f"has no line for the folder `{name}/`")
            for name in folders
            if not any(f"`{name}/" in line for line in lines)
        ]
    return problems


def differing_versions(root: Path) -> list[Problem]:
    """Packages whose version is not the workspace's, in pyproject.toml or CMakeLists.txt."""
    pattern = re.compile(r'^version = "([^"]+)"', re.MULTILINE)
    found = pattern.search((root / "pyproject.toml").read_text(encoding="utf-8"))
    if found is None:
        return [Problem(Path("pyproject.toml"), 1, "has no version")]
    expected = found[1]
    problems = []
    for package in PACKAGES:
        sources = {
            Path("packages", package.name, "pyproject.toml"): pattern,
            Path("packages", package.name, "CMakeLists.txt"): re.compile(
                r"^project\([^)]*?VERSION\s+([0-9.]+)", re.MULTILINE
            ),
        }
        for path, expression in sources.items():
            if not (root / path).is_file():
                continue
            own = expression.search((root / path).read_text(encoding="utf-8"))
            if own is None or own[1] != expected:
                got = "none" if own is None else own[1]
                problems.append(Problem(path, 1, f"version {got}, the workspace has {expected}"))
    return problems


def machine_dependent_text(
    root: Path, environment: Mapping[str, str] = os.environ
) -> list[Problem]:
    """Lines that name a package registry's host or a path of the present machine."""
    values = {f"{root.resolve().parent}/"}
    for name in MACHINE_VARIABLES:
        values |= {value.rstrip("/") for value in environment.get(name, "").split()}
    # A value of one path component, such as a home of `/me`, is an ordinary word elsewhere.
    paths = [re.escape(value) for value in sorted(values) if value.count("/") > 1]
    # Only at the start of a path: `build/home/x` and `${prefix}/home/x` are relative.
    starts = "|".join([*paths, r"/(?:home|root|Users)/\w"])
    forbidden = re.compile(
        rf"(?<![\w.$}}*>-])(?:{starts})|{'|'.join(map(re.escape, REGISTRY_HOSTS))}"
    )
    return [
        Problem(path, number, f"names {match[0]!r}, which is not so on every machine")
        for path in files_of(root, ["."])
        for number, line in enumerate(_lines(root, path), 1)
        for match in forbidden.finditer(line)
    ]


# What follows the code of a suppression has to be a reason.
_SUPPRESSIONS = re.compile(
    r"(?P<mark>#\s*type:\s*ignore(?:\[[\w, -]+\])?"
    r"|#\s*noqa(?::\s*[A-Z]+\d+(?:,\s*[A-Z]+\d+)*)?"
    r"|//\s*NOLINT(?:NEXTLINE|BEGIN)?(?:\([\w.,* -]+\))?)"
    r"(?P<rest>.*)"
)


def unreasoned_suppressions(root: Path) -> list[Problem]:
    """Suppressions of a linter that no reason follows on the same line."""
    problems = []
    for path in files_of(root, ["."]):
        if path.suffix not in SOURCE_SUFFIXES:
            continue
        for number, line in enumerate(_lines(root, path), 1):
            found = _SUPPRESSIONS.search(line)
            if found is None or re.search(r"\w{2}", found["rest"]):
                continue
            mark = found["mark"].strip()
            problems.append(Problem(path, number, f"`{mark}` gives no reason after it"))
    return problems


def overlong_files(root: Path) -> list[Problem]:
    """Source files over 500 lines that do not say at their top why, and a noxfile over 250."""
    problems = []
    for path in files_of(root, ["."]):
        if path.suffix not in SOURCE_SUFFIXES:
            continue
        lines = _lines(root, path)
        limit = LONGEST_NOXFILE if path == Path("noxfile.py") else LONGEST_FILE
        explained = limit == LONGEST_FILE and any("500 lines" in line for line in lines[:30])
        if len(lines) > limit and not explained:
            problems.append(
                Problem(
                    path,
                    1,
                    f"{len(lines)} lines; split it below {limit}"
                    + (", or say at its top why it is over 500 lines" if limit > 250 else ""),
                )
            )
    return problems


def stale_pages(root: Path) -> list[Problem]:
    """Committed pages that differ from what their generator makes of the present tree."""
    return [
        Problem(path, 1, "differs from what is generated; run `nox -s docs -- --write`")
        for path, text in pages.generate(root).items()
        if not (root / path).is_file() or (root / path).read_text(encoding="utf-8") != text
    ]


CHECKS: tuple[tuple[str, Check], ...] = (
    ("layout", misplaced_files),
    ("readmes", incomplete_readmes),
    ("versions", differing_versions),
    ("machine-dependent text", machine_dependent_text),
    ("reasons of suppressions", unreasoned_suppressions),
    ("lengths of files", overlong_files),
    ("generated pages", stale_pages),
)


def require_none(check: Check) -> None:
    """Runs one check on the tree.

    Raises:
        StepError: It found problems; each is printed.
    """
    problems = check(ROOT)
    for problem in problems:
        print(problem)
    if problems:
        raise StepError(f"{len(problems)} problems, the first: {problems[0]}")


def steps() -> list[Step]:
    """One step for each check."""
    return [Step(f"check: {name}", partial(require_none, check)) for name, check in CHECKS]
