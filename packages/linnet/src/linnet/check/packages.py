"""Packages: `linnet.toml`, and which file a module path names."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LANGUAGE = "0.1"
MANIFEST = "linnet.toml"
LIBRARY = Path(__file__).parent.parent / "library"


class ManifestError(Exception):
    """A manifest that cannot be used; the text says why and what to write."""


@dataclass(frozen=True)
class Package:
    """A package: its folder, name, and the folders of its dependencies."""

    root: Path
    name: str
    version: str
    dependencies: dict[str, Path]
    has_manifest: bool = True

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
        raise ManifestError(f"{MANIFEST} has no [package] table")
    for key in ("name", "version", "language"):
        if not isinstance(package.get(key), str):
            raise ManifestError(f'{MANIFEST}: [package] needs {key} = "..."')
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


def _dependency(root: Path, name: str, entry: object) -> Path:
    if not isinstance(entry, dict):
        raise ManifestError(f'{MANIFEST}: dependency {name} needs {{ path = "..." }}')
    if isinstance(entry.get("path"), str) and set(entry) == {"path"}:
        return (root / str(entry["path"])).resolve()
    if "git" in entry:
        raise ManifestError(
            f"{MANIFEST}: dependency {name} comes from git, which this version does not fetch; "
            'clone it and write { path = "..." }'
        )
    raise ManifestError(f'{MANIFEST}: dependency {name} needs {{ path = "..." }}')


def library_file(names: tuple[str, ...]) -> Path:
    """The file of a library module, `("std", "nn", "linear")`."""
    return LIBRARY.joinpath(*names).with_suffix(".linnet")


def package_file(package: Package, names: tuple[str, ...]) -> Path:
    """The file of the package's own module; no names means its `lib`."""
    if not names:
        return package.sources / "lib.linnet"
    return package.sources.joinpath(*names).with_suffix(".linnet")
