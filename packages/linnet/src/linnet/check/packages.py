"""Packages: `linnet.toml`, and which file a module path names."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from linnet.source import near_names

LANGUAGE = "0.1"
MANIFEST = "linnet.toml"
LOCK = "linnet.lock"
LIBRARY = Path(__file__).parent.parent / "library"


class ManifestError(Exception):
    """A manifest that cannot be used; the text says why and what to write."""


@dataclass(frozen=True)
class GitSource:
    """A repository and what to take of it; `wanted` is `tag`, `branch` or `rev`."""

    url: str
    wanted: str
    reference: str
    subdir: str = ""

    @property
    def store(self) -> Path:
        """Where its clone and snapshots are kept."""
        # Loaded here, as what most checks do without.
        import hashlib

        key = hashlib.sha256(self.url.encode()).hexdigest()[:16]
        return linnet_home() / "git" / key

    def snapshot(self, commit: str) -> Path:
        """The folder of the package at a commit."""
        return self.store / "snapshots" / commit / self.subdir


def linnet_home() -> Path:
    """`$LINNET_HOME`, or `.linnet` in the home directory."""
    return Path(os.environ.get("LINNET_HOME") or Path.home() / ".linnet")


@dataclass(frozen=True)
class Package:
    """A package: its folder, name, and where its dependencies come from."""

    root: Path
    name: str
    version: str
    dependencies: dict[str, Path | GitSource]
    has_manifest: bool = True

    def folder(self, dependency: str, locked: Path) -> Path:
        """Where a dependency is on disk; LookupError says why it is not.

        `locked` is the folder of the package that is checked: its lock file pins what its
        dependencies need as well.
        """
        source = self.dependencies[dependency]
        if isinstance(source, Path):
            if not source.is_dir():
                raise LookupError(f"the dependency `{dependency}` is not at {source}")
            return source
        commit = read_lock(locked).get(lock_key(source))
        if commit is None or not source.snapshot(commit).is_dir():
            raise LookupError(
                f"the dependency `{dependency}` is not fetched; run `linnet fetch` in {locked}"
            )
        return source.snapshot(commit)

    @property
    def sources(self) -> Path:
        """Where its modules are. Without a manifest, beside the file itself."""
        return self.root / "src" if self.has_manifest else self.root


def find_package(file: Path) -> Package:
    """The package of `file`: the nearest folder above with a manifest, else its own folder."""
    folder = file.resolve().parent
    for candidate in (folder, *folder.parents):
        if (candidate / MANIFEST).is_file():
            return read_manifest(candidate)
    return Package(folder, folder.name, "0", {}, has_manifest=False)


def read_manifest(root: Path) -> Package:
    """Reads `root/linnet.toml`; ManifestError says what is wrong with it."""
    path = root / MANIFEST
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ManifestError(f"{MANIFEST} is not TOML: {error}") from error
    package = document.get("package")
    if not isinstance(package, dict):
        raise ManifestError(f"{MANIFEST} has no [package] table{_misspelt('package', document)}")
    for key in ("name", "version", "language"):
        if not isinstance(package.get(key), str):
            hint = _misspelt(key, package)
            raise ManifestError(f'{MANIFEST}: [package] needs {key} = "..."{hint}')
    hint = "" if "dependencies" in document else _misspelt("dependencies", document)
    if hint:
        raise ManifestError(f"{MANIFEST} has no [dependencies] table{hint}")
    if package["language"] != LANGUAGE:
        raise ManifestError(
            f"{MANIFEST}: language {package['language']!r} is not known; this Linnet reads "
            f'language = "{LANGUAGE}"'
        )
    listed = document.get("dependencies", {})
    if not isinstance(listed, dict):
        raise ManifestError(f"{MANIFEST}: [dependencies] is not a table")
    dependencies = {name: _dependency(root, name, entry) for name, entry in listed.items()}
    return Package(root, package["name"], package["version"], dependencies)


def _misspelt(key: str, table: Mapping[str, object]) -> str:
    """`; is `languages` meant to be it?` where a key of the table is much like the missing one."""
    near = near_names(key, table)
    return f"; is `{near[0]}` meant to be it?" if near else ""


def lock_key(source: GitSource) -> tuple[str, str, str]:
    """What a line of the lock file is about."""
    return source.url, source.wanted, source.reference


def read_lock(root: Path) -> dict[tuple[str, str, str], str]:
    """Commits that `root/linnet.lock` pins; ManifestError if it is no lock file."""
    path = root / LOCK
    if not path.is_file():
        return {}
    try:
        listed = tomllib.loads(path.read_text(encoding="utf-8")).get("git", [])
        return {(e["url"], e["wanted"], e["reference"]): e["commit"] for e in listed}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
        raise ManifestError(
            f"{LOCK} cannot be read ({error}); remove it and run `linnet fetch`"
        ) from error


def _git_source(name: str, entry: dict[str, object]) -> GitSource:
    wanted = [key for key in ("tag", "branch", "rev") if key in entry]
    extra = set(entry) - {"git", "subdir", *wanted}
    texts = all(isinstance(value, str) and value for value in entry.values())
    if len(wanted) != 1 or extra or not texts:
        raise ManifestError(
            f'{MANIFEST}: dependency {name} needs git = "..." with one of tag, branch, rev, '
            "and perhaps subdir, all text"
        )
    subdir = str(entry.get("subdir", ""))
    if Path(subdir).is_absolute() or ".." in Path(subdir).parts:
        raise ManifestError(f"{MANIFEST}: subdir of {name} leaves the repository: {subdir!r}")
    url, reference = str(entry["git"]), str(entry[wanted[0]])
    # Git would take such text for an option.
    if url.startswith("-") or reference.startswith("-"):
        raise ManifestError(f"{MANIFEST}: dependency {name}: text that starts with `-`")
    return GitSource(url, wanted[0], reference, subdir)


def _dependency(root: Path, name: str, entry: object) -> Path | GitSource:
    if not isinstance(entry, dict):
        raise ManifestError(f'{MANIFEST}: dependency {name} needs {{ path = "..." }}')
    if isinstance(entry.get("path"), str) and set(entry) == {"path"}:
        return (root / str(entry["path"])).resolve()
    if "git" in entry:
        return _git_source(name, entry)
    raise ManifestError(f'{MANIFEST}: dependency {name} needs {{ path = "..." }}')


def library_file(names: tuple[str, ...]) -> Path:
    """The file of a library module, `("std", "nn", "linear")`."""
    return LIBRARY.joinpath(*names).with_suffix(".linnet")


def package_file(package: Package, names: tuple[str, ...]) -> Path:
    """The file of the package's own module; no names means its `lib`."""
    if not names:
        return package.sources / "lib.linnet"
    return package.sources.joinpath(*names).with_suffix(".linnet")


def modules_near(path: Path, shown: str, library: bool) -> list[str]:
    """Modules that may be meant where `path` is no file: the library's, or those beside it."""
    if library:
        return [
            ".".join(file.relative_to(LIBRARY).with_suffix("").parts)
            for file in LIBRARY.rglob("*.linnet")
        ]
    above, dot, _ = shown.rpartition(".")
    return [f"{above}.{file.stem}" for file in path.parent.glob("*.linnet")] if dot else []
