"""Pattern -> the one path of a distribution that it means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fnmatch import translate
from pathlib import Path, PurePosixPath

from .diagnostics import ContractError, Problem
from .environment import Distribution
from .files import exists, is_file, is_folder

_MAGIC = re.compile(r"[*?[]")
_GREATEST_NUMBER = 100_000
_SHOWN = 12


def find_library(distribution: Distribution, pattern: str) -> Path:
    """The recorded file that `pattern` matches, if it is exactly one.

    Raises:
        ContractError: None matches, several do, or the one leads out of the distribution.
    """
    matches = {path: distribution.root / path for path in _match(distribution.files, pattern)}
    for folder in distribution.editable:
        for path in _search(folder, pattern):
            if is_file(folder / path):
                matches.setdefault(path, folder / path)
    chosen = _only(distribution, pattern, matches, "file")
    if not is_file(chosen):
        kind = "a folder" if is_folder(chosen) else "no such file"
        raise ContractError(
            Problem(
                "glob-missing-file",
                f"`{distribution.name}` recorded `{chosen.name}`, which is not there as a file",
                expected=f"the file {chosen}",
                got=kind,
                help=f"install `{distribution.name}` anew",
            )
        )
    return _inside(distribution, chosen)


def find_include(distribution: Distribution, pattern: str) -> Path:
    """The folder that `pattern` matches and that recorded files lie in, if it is exactly one.

    Raises:
        ContractError: None matches, several do, or the one leads out of the distribution.
    """
    folders = {parent for path in distribution.files for parent in path.parents if parent.parts}
    matches = {path: distribution.root / path for path in _match(folders, pattern)}
    for folder in distribution.editable:
        for path in _search(folder, pattern):
            if is_folder(folder / path) and any((folder / path).iterdir()):
                matches.setdefault(path, folder / path)
    chosen = _only(distribution, pattern, matches, "folder")
    if not is_folder(chosen):
        raise ContractError(
            Problem(
                "glob-missing-file",
                f"`{distribution.name}` recorded files in `{chosen.name}`, which is no folder",
                expected=f"the folder {chosen}",
                got="a file" if exists(chosen) else "no such folder",
                help=f"install `{distribution.name}` anew",
            )
        )
    return _inside(distribution, chosen)


def _match(paths: Iterable[PurePosixPath], pattern: str) -> list[PurePosixPath]:
    """The paths that the pattern matches; `*` stays within one component."""
    parts = [re.compile(translate(part)) for part in pattern.split("/")]
    return sorted(
        path
        for path in paths
        if len(path.parts) == len(parts)
        and ".." not in path.parts
        and not path.is_absolute()
        and all(part.match(name) for part, name in zip(parts, path.parts, strict=True))
    )


def _search(folder: Path, pattern: str) -> Iterator[PurePosixPath]:
    """The paths under `folder` that the pattern matches, found by listing only what it names."""
    found = [PurePosixPath()]
    for part in pattern.split("/"):
        expression = re.compile(translate(part)) if _MAGIC.search(part) else None
        following = []
        for path in found:
            if expression is None:
                if exists(folder / path / part):
                    following.append(path / part)
            elif is_folder(folder / path):
                names = sorted(item.name for item in (folder / path).iterdir())
                following += [path / name for name in names if expression.match(name)]
        found = following[:_GREATEST_NUMBER]
    yield from found


def _only(
    distribution: Distribution, pattern: str, matches: dict[PurePosixPath, Path], kind: str
) -> Path:
    if len(matches) == 1:
        return next(iter(matches.values()))
    where = distribution.metadata
    if not matches:
        close = _similar(distribution, pattern, kind)
        raise ContractError(
            Problem(
                "glob-no-match",
                f"`{pattern}` matches nothing that `{distribution.name}` installed",
                expected=f"exactly one {kind}",
                got=f"none among the files of {distribution.title}, from {where}",
                notes=(f"it has {', '.join(close)}",) if close else (),
                help="correct the pattern; it begins at the folder that holds the metadata",
            )
        )
    names = sorted(matches)
    listed = "\n".join(f"{path}" for path in names[:_SHOWN])
    more = len(names) - _SHOWN
    raise ContractError(
        Problem(
            "glob-ambiguous",
            f"`{pattern}` matches {len(names)} paths of `{distribution.name}`",
            expected=f"exactly one {kind}",
            got=listed + (f"\nand {more} more" if more > 0 else ""),
            help=f"write a narrower pattern, for example `{narrower(pattern, names)}`",
        )
    )


def narrower(pattern: str, matches: list[PurePosixPath]) -> str:
    """A pattern like `pattern` that matches exactly one of `matches`."""
    attempts = [
        f"{pattern[:position]}.{pattern[position:]}"
        for position, sign in enumerate(pattern)
        if sign == "*"
    ]
    for path in matches:
        name = pattern.rpartition("/")[2]
        attempts.append((path.parent / name).as_posix())
    for attempt in attempts:
        if len(_match(matches, attempt)) == 1:
            return attempt
    return min(matches, key=lambda path: (len(path.as_posix()), path.as_posix())).as_posix()


def _similar(distribution: Distribution, pattern: str, kind: str) -> list[str]:
    """A few paths of the distribution that may have been meant."""
    if kind == "folder":
        paths = {path for file in distribution.files for path in file.parents if path.parts}
        paths = {path for path in paths if path.name == "include"}
    else:
        paths = {path for path in distribution.files if ".so" in path.name}
    stem = _MAGIC.split(pattern.rpartition("/")[2])[0].lower()
    return sorted(
        (f"`{path}`" for path in paths), key=lambda text: (stem not in text.lower(), text)
    )[:5]


def _inside(distribution: Distribution, path: Path) -> Path:
    """The path without links, which has to lie where the distribution lies."""
    real = path.resolve()
    if any(
        real.is_relative_to(root.resolve()) for root in (distribution.root, *distribution.editable)
    ):
        return real
    raise ContractError(
        Problem(
            "glob-escape",
            f"`{path.name}` of `{distribution.name}` is a link that leads out of the distribution",
            expected=f"a path in {distribution.root}",
            got=str(real),
            help="install it with copies instead of links (`uv pip install --link-mode copy`)",
        )
    )
