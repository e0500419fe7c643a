"""The Python environment whose distributions are searched, and the distributions in it."""

from __future__ import annotations

import csv
import json
import os
import re
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution as Metadata
from importlib.metadata import distributions
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit
from urllib.request import url2pathname

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from . import process
from .diagnostics import ContractError, Problem
from .files import exists, is_file, is_folder

_QUESTION = (
    "import json, sys, sysconfig;"
    "print(json.dumps([sys.executable, sys.path, sysconfig.get_config_var('EXT_SUFFIX')]))"
)
_METADATA = ("METADATA", "PKG-INFO", "RECORD", "installed-files.txt", "direct_url.json")


@dataclass(frozen=True)
class Environment:
    """One interpreter: where it looks for modules, and the suffix of its extension modules."""

    python: Path
    search_path: tuple[Path, ...]
    extension_suffix: str

    @staticmethod
    def current() -> Environment:
        """The environment of the running interpreter."""
        return _environment(sys.executable, sys.path, sysconfig.get_config_var("EXT_SUFFIX"))

    @staticmethod
    def of(python: Path) -> Environment:
        """The environment of another interpreter, which is asked for it.

        Raises:
            ResolverSetupError: It cannot be run.
        """
        try:
            finished = process.run([python, "-c", _QUESTION], seconds=60)
            return _environment(*_answer(finished.stdout))
        except (OSError, ValueError) as error:
            raise ResolverSetupError(
                f"{python}: expected a Python interpreter, got {error}; pass the one that the "
                "providers are installed for"
            ) from error


def _answer(output: bytes) -> tuple[str, list[str], str | None]:
    """What an interpreter says to the question. Raises ValueError where it is another program."""
    match json.loads(output):
        case [str(python), [*entries], str() | None as suffix] if all(
            isinstance(entry, str) for entry in entries
        ):
            return python, entries, suffix
    raise ValueError("a program that prints something else")


class ResolverSetupError(Exception):
    """An argument of the resolver itself is wrong, so that nothing could be resolved."""


def _environment(python: str, search_path: list[str], suffix: str | None) -> Environment:
    # An empty entry is the working folder, where nothing is installed.
    entries = dict.fromkeys(Path(entry).absolute() for entry in search_path if entry)
    return Environment(Path(python), tuple(entries), suffix or ".so")


@dataclass(frozen=True)
class Distribution:
    """An installed distribution: what it recorded, relative to the folder that it lies in."""

    name: str
    version: Version
    metadata: Path
    root: Path
    files: frozenset[PurePosixPath]
    editable: tuple[Path, ...] = ()
    """Folders of the sources of an editable installation, whose files count as recorded."""

    @property
    def title(self) -> str:
        """Name and version for messages."""
        return f"{self.name} {self.version}"


def find_distribution(name: str, environment: Environment) -> Distribution:
    """The distribution that Python itself would use: the first on the search path.

    Raises:
        ContractError: It is not installed, is there twice in one folder, or its metadata is broken.
    """
    found = [
        (entry, list(distributions(name=name, path=[str(entry)])))
        for entry in environment.search_path
        if is_folder(entry)
    ]
    found = [(entry, there) for entry, there in found if there]
    if not found:
        raise ContractError(
            Problem(
                "distribution-missing",
                f"the Python distribution `{name}` is not installed",
                expected=f"`{name}` in the environment of {environment.python}",
                got="no metadata in "
                + (", ".join(str(entry) for entry in environment.search_path) or "no folder"),
                help=f"install it (`{environment.python} -m pip install {name}`), or select no "
                "implementation that needs it",
            )
        )
    entry, there = found[0]
    folders = sorted({_metadata_folder(item) for item in there})
    if len(folders) > 1:
        raise ContractError(
            Problem(
                "distribution-ambiguous",
                f"`{name}` is installed more than once in one folder",
                expected="one metadata folder",
                got=", ".join(folder.name for folder in folders) + f" in {entry}",
                help="delete what an unfinished installation left, or install it anew",
            )
        )
    others = [_metadata_folder(item) for _, later in found[1:] for item in later]
    return _read(name, there[0], folders[0], [item for item in others if item != folders[0]])


def _metadata_folder(metadata: Metadata) -> Path:
    # The only place where importlib.metadata keeps it.
    return Path(str(getattr(metadata, "_path", metadata.locate_file("")))).absolute()


def _read(name: str, metadata: Metadata, folder: Path, others: list[Path]) -> Distribution:
    def refuse(message: str, expected: str, got: str, help: str) -> ContractError:
        notes = [
            f"other metadata of that name, later on the search path: {path}" for path in others
        ]
        return ContractError(
            Problem(
                "distribution-metadata",
                message,
                expected=expected,
                got=f"{got} in {folder}",
                notes=tuple(notes),
                help=help,
            )
        )

    again = f"install `{name}` anew"
    for part in _METADATA:
        path = folder / part
        if exists(path) and not is_file(path) and not is_folder(path):
            message = f"the metadata of `{name}` cannot be read"
            raise refuse(message, "files", f"`{part}`, a pipe or a device,", again)
    try:
        fields = metadata.metadata
    except UnicodeDecodeError as error:
        message = f"the metadata of `{name}` cannot be read"
        raise refuse(message, "METADATA in UTF-8", error.reason, again) from error
    text = "none"
    if "Version" in fields:
        text = fields["Version"]
    try:
        version = Version(text)
    except InvalidVersion as error:
        message = f"`{name}` has no valid version"
        raise refuse(message, "a PEP 440 version", f"`{text}`", again) from error
    root = folder.parent
    try:
        record = metadata.read_text("RECORD")
        installed = metadata.read_text("installed-files.txt")
        files = frozenset(
            _recorded(record)
            if record is not None
            else _relative_to_root((installed or "").splitlines(), folder, root)
        )
    except (UnicodeDecodeError, csv.Error) as error:
        message = f"the list of the files of `{name}` cannot be read"
        text = error.reason if isinstance(error, UnicodeDecodeError) else str(error)
        raise refuse(message, "RECORD as pip writes it", text, again) from error
    editable: tuple[Path, ...] = ()
    source = _editable_source(metadata)
    if source is not None:
        if not is_folder(source):
            message = f"the sources of the editable installation of `{name}` are gone"
            raise refuse(message, "a folder", f"{source}, named by direct_url.json", again)
        editable = tuple(_editable_folders(source, root, files))
    if not files and not editable:
        raise refuse(
            f"the metadata of `{name}` lists no files",
            "RECORD, or direct_url.json of an editable installation",
            "neither",
            f"{again} with pip or uv; if this metadata is stale, delete it",
        )
    return Distribution(name, version, folder, root, files, editable)


def _recorded(record: str) -> Iterator[PurePosixPath]:
    for row in csv.reader(record.splitlines()):
        if row and row[0] and "\0" not in row[0]:
            yield PurePosixPath(row[0].replace("\\", "/"))


def _relative_to_root(lines: list[str], folder: Path, root: Path) -> Iterator[PurePosixPath]:
    """What `setup.py install` recorded is relative to the metadata folder."""
    for line in lines:
        path = Path(os.path.normpath(folder / line.strip()))
        if line.strip() and path.is_relative_to(root):
            yield PurePosixPath(path.relative_to(root).as_posix())


def _editable_source(metadata: Metadata) -> Path | None:
    """The folder that direct_url.json names. Nothing else of that file may get into a message: its
    addresses can hold passwords."""
    try:
        document = json.loads(metadata.read_text("direct_url.json") or "null")
        url = urlsplit(document["url"])
        is_editable = document["dir_info"]["editable"] is True
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return Path(url2pathname(url.path)) if is_editable and url.scheme == "file" else None


def _editable_folders(source: Path, root: Path, files: frozenset[PurePosixPath]) -> Iterator[Path]:
    """The folders of the sources that modules are imported from: those that a recorded `.pth` file
    names, then the project itself and its `src/`."""
    folders = []
    for file in sorted(files):
        if file.suffix == ".pth" and len(file.parts) == 1 and is_file(root / file):
            text = (root / file).read_text(encoding="utf-8", errors="replace")
            folders += [Path(line) for line in text.splitlines() if line.startswith("/")]
    inside = [path for path in folders if path.resolve().is_relative_to(source.resolve())]
    for path in dict.fromkeys([*inside, source / "src", source]):
        if is_folder(path):
            yield path


def check_version(distribution: Distribution, specifier: str) -> Problem | None:
    """What is wrong with the installed version. A prerelease counts as the version that it is,
    whether or not the specifier names one: it is installed, so somebody has chosen it."""
    if SpecifierSet(specifier).contains(distribution.version, prereleases=True):
        return None
    return Problem(
        "distribution-version",
        f"another version of `{distribution.name}` is asked for",
        expected=f"`{distribution.name}{specifier}`",
        got=f"{distribution.title}, in {distribution.metadata}",
        help=f'install it (`pip install "{distribution.name}{specifier}"`)',
    )


def other_python(library: Path, environment: Environment) -> str | None:
    """The tag of the Python that an extension module is made for, if it is not this one."""
    match = re.fullmatch(r".+\.((?:cpython|pypy|graalpy)-?\d+[\w-]*)\.so", library.name)
    own = environment.extension_suffix.strip(".").split(".")[0]
    return match[1] if match is not None and match[1] != own else None
