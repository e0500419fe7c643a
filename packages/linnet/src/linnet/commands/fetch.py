"""`linnet fetch` and `linnet update`: git dependencies through the local git client.

Fetched packages are files to read; nothing of them is run. Hooks are off, links are not followed.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from linnet.check.packages import (
    LOCK,
    MANIFEST,
    GitSource,
    ManifestError,
    Package,
    lock_key,
    read_lock,
    read_manifest,
)
from linnet.commands.console import CommandError, fail, say
from linnet.commands.format import replace_file

Key = tuple[str, str, str]


def add_fetch(commands: Any) -> None:
    """Adds both commands."""
    fetch = commands.add_parser("fetch", help="get git dependencies as the lock file pins them")
    fetch.set_defaults(run=run_fetch, update=False)
    update = commands.add_parser("update", help="pin git dependencies to what is newest now")
    update.set_defaults(run=run_fetch, update=True)
    for command in (fetch, update):
        command.add_argument("folder", nargs="?", default=".", help="the package's folder")


def run_fetch(options: argparse.Namespace) -> int:
    """Fetches, then writes the lock file; 2 if a manifest, git or the network fails."""
    root = Path(options.folder)
    try:
        package = read_manifest(root)
        old = {} if options.update else read_lock(root)
        pinned: dict[Key, str] = {}
        fetch_all(package, old, pinned, set())
        write_lock(root, pinned)
    except (ManifestError, CommandError) as error:
        return fail(str(error))
    except FileNotFoundError:
        return fail(f"there is no {MANIFEST} in {root}")
    for (url, wanted, reference), commit in pinned.items():
        say(f"{url} {wanted} {reference} at {commit[:12]}")
    return 0


def fetch_all(
    package: Package, old: dict[Key, str], pinned: dict[Key, str], seen: set[Path]
) -> None:
    """Fetches what a package needs and, in turn, what that needs."""
    for source in package.dependencies.values():
        if isinstance(source, GitSource):
            commit = pinned.get(lock_key(source)) or fetch_one(source, old.get(lock_key(source)))
            pinned[lock_key(source)] = commit
            folder = source.snapshot(commit)
        else:
            folder = source
        if folder not in seen and (folder / MANIFEST).is_file():
            seen.add(folder)
            fetch_all(read_manifest(folder), old, pinned, seen)


def fetch_one(source: GitSource, commit: str | None) -> str:
    """Makes the snapshot of a source; gives its commit. A pinned one on disk needs no network."""
    if commit is not None and source.snapshot(commit).is_dir():
        return commit
    repository = source.store / "repository"
    if os.environ.get("LINNET_OFFLINE") == "1":
        raise CommandError(f"{source.url} is not fetched, and LINNET_OFFLINE=1 forbids to fetch it")
    if repository.is_dir():
        git("-C", str(repository), "fetch", "--quiet", "--prune", "--tags", "origin")
    else:
        repository.parent.mkdir(parents=True, exist_ok=True)
        git("clone", "--quiet", "--mirror", "--", source.url, str(repository))
    names = {"tag": f"refs/tags/{source.reference}", "branch": f"refs/heads/{source.reference}"}
    name = commit or names.get(source.wanted, source.reference)
    found = git("-C", str(repository), "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    commit = found.decode().strip()
    unpack(git("-C", str(repository), "archive", "--format=tar", commit), source, commit)
    return commit


def unpack(archive: bytes, source: GitSource, commit: str) -> None:
    """Writes the plain files of an archive to the snapshot, whole or not at all."""
    target = source.store / "snapshots" / commit
    if target.is_dir():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=target.parent))
    try:
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            for member in files.getmembers():
                parts = Path(member.name).parts
                content = files.extractfile(member) if member.isfile() else None
                if content is None or ".." in parts or Path(member.name).is_absolute():
                    continue
                path = temporary / member.name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content.read())
        temporary.rename(target)
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        # Another process may have made it meanwhile.
        if not target.is_dir():
            raise CommandError(f"cannot write {target}: {error.strerror}") from error


def git(*arguments: str) -> bytes:
    """Runs git without hooks and prompts; CommandError with its words if it fails."""
    command = ["git", "-c", f"core.hooksPath={os.devnull}", "-c", "protocol.ext.allow=never"]
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(
            [*command, *arguments], capture_output=True, check=False, env=environment
        )
    except FileNotFoundError as error:
        raise CommandError("git is not installed; install it to fetch dependencies") from error
    if done.returncode != 0:
        words = done.stderr.decode(errors="replace").strip() or "no such reference"
        raise CommandError(f"git {' '.join(arguments)}: {words}")
    return done.stdout


def write_lock(root: Path, pinned: dict[Key, str]) -> None:
    """Writes the lock file, if there is anything to pin."""
    path = root / LOCK
    if not pinned and not path.exists():
        return
    lines = ["# Written by `linnet fetch` and `linnet update`.", ""]
    for (url, wanted, reference), commit in sorted(pinned.items()):
        entry = {"url": url, "wanted": wanted, "reference": reference, "commit": commit}
        # JSON's strings are TOML's basic strings.
        lines += ["[[git]]", *(f"{key} = {json.dumps(value)}" for key, value in entry.items()), ""]
    if not path.exists():
        path.touch()
    replace_file(path, "\n".join(lines))
