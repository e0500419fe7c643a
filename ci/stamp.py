"""Tells whether a build is still that of the present sources, compiler and options."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from ci.steps import StepError


def files_of(root: Path, paths: Iterable[str]) -> list[Path]:
    """The files below `paths` that git tracks or does not ignore, sorted, relative to `root`.

    Raises:
        StepError: `root` is no git working tree, or there is no git.
    """
    if shutil.which("git") is None:
        raise StepError("git is needed, to list the sources; install it: apt-get install git")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"]
    done = subprocess.run([*command, *paths], cwd=root, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise StepError(
            f"cannot list the files of {root}: {done.stderr.strip()}; get the sources "
            "by `git clone`"
        )
    names = {name for name in done.stdout.split("\0") if name}
    # A tracked file that was deleted is still listed.
    return sorted(Path(name) for name in names if (root / name).is_file())


def digest(root: Path, paths: Iterable[str], facts: Mapping[str, str]) -> str:
    """A hash of the names and contents of the files below `paths` and of `facts`."""
    whole = hashlib.sha256()
    for name in files_of(root, paths):
        content = hashlib.sha256((root / name).read_bytes()).hexdigest()
        whole.update(f"{name}\0{content}\n".encode())
    whole.update(json.dumps(dict(facts), sort_keys=True).encode())
    return whole.hexdigest()


def contents_of(folders: Iterable[Path], unseen: Collection[str] = ()) -> str:
    """A hash of the names and sizes of the files below `folders`; it tells when some of them have
    been deleted or cut short. Files and folders with a name in `unseen` do not count.
    """
    whole = hashlib.sha256()
    for number, folder in enumerate(folders):
        for parent, names, files in os.walk(folder):
            names[:] = sorted(name for name in names if name not in unseen)
            for name in sorted(file for file in files if file not in unseen):
                path = Path(parent, name)
                size = path.lstat().st_size
                whole.update(f"{number}\0{path.relative_to(folder)}\0{size}\n".encode())
    return whole.hexdigest()


class Stamp:
    """A file beside a build that says what the build was made from."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def matches(self, key: str) -> bool:
        """Whether the build was finished from exactly `key`."""
        # Bytes, since a damaged file need not be text.
        return self.path.is_file() and self.path.read_bytes() == key.encode()

    def clear(self) -> None:
        """Forgets the build; called before it changes, so that a broken one is never reused."""
        self.path.unlink(missing_ok=True)

    def write(self, key: str) -> None:
        """Records that the build is finished."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(key, encoding="utf-8")
