"""Resolution -> the files of the output folder. No other module of the package writes files."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from .diagnostics import ContractError, Problem, as_json
from .resolution import Resolution, document, resolved_document

MANIFEST = "manifest.cmake"
RESOLVED = "resolved.json"
DIAGNOSTICS = "diagnostics.json"


def write(resolution: Resolution, output: Path) -> None:
    """Writes the diagnostics, and the manifest if everything was proved; else deletes an old one.

    A file whose content is the same already is not touched. Each is replaced in one step.

    Raises:
        ContractError: The folder or a file cannot be written.
    """
    try:
        output.mkdir(parents=True, exist_ok=True)
        if not resolution.ok:
            (output / MANIFEST).unlink(missing_ok=True)
            (output / RESOLVED).unlink(missing_ok=True)
        _replace(output / DIAGNOSTICS, as_json(document(resolution)))
        if resolution.ok:
            _replace(output / RESOLVED, resolved_document(resolution))
            # Last, so that what CMake includes is never newer than what goes with it.
            _replace(output / MANIFEST, cmake(resolution))
    except OSError as error:
        raise ContractError(
            Problem(
                "output",
                "the manifest cannot be written",
                output.as_posix(),
                expected="a folder that can be written",
                got=f"{error.strerror}: {error.filename}",
                help="pass a folder of the build tree",
            )
        ) from error


def _replace(path: Path, text: str) -> None:
    data = text.encode("utf-8", "surrogateescape")
    with contextlib.suppress(FileNotFoundError):
        if not path.is_symlink() and path.read_bytes() == data:
            return
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        # mkstemp keeps others out; what a build generates may be read.
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def cmake(resolution: Resolution) -> str:
    """The text of `manifest.cmake`: one list for each thing that the build does."""
    items = resolution.implementations
    libraries = resolution.libraries
    retained = [item for item in libraries if item.library.id in resolution.retained]
    includes = [item.include for item in libraries if item.include is not None]
    inputs = [path for item in items for path in (item.file, item.header)]
    inputs += [item.library.file for item in libraries]
    # The folder of the metadata too: an installer may give a library an old time, but a folder
    # that it makes anew is new.
    inputs += [path for item in libraries for path in (item.path, item.distribution.metadata)]
    providers = [
        f"{item.distribution.title} {item.library.id} {item.facts.size} {item.facts.build_id}"
        for item in libraries
    ]
    if resolution.torch is not None:
        inputs.append(resolution.torch.metadata)
        providers.append(resolution.torch.title)
    variables: list[tuple[str, str, Iterable[object]]] = [
        ("MANIFEST_SCHEMA", "The form of this file.", [resolution.SCHEMA]),
        ("TRANSPORTS", "Transports in use.", sorted({item.transport for item in items})),
        (
            "IMPLEMENTATIONS",
            "<transport>/<device>/<operator>/<implementation>.",
            [item.id for item in items],
        ),
        ("SLOTS", "The slot of each implementation.", [item.slot.number for item in items]),
        ("HEADERS", "The header of each.", [item.header for item in items]),
        ("SOURCES", "The source of each.", [item.source for item in items]),
        ("INCLUDE_DIRECTORIES", "Headers of the libraries.", includes),
        ("LIBRARIES", "Every library, before those that it needs.", [i.path for i in libraries]),
        (
            "RETAINED_LIBRARIES",
            "Those to link with --no-as-needed, each for itself.",
            [item.path for item in retained],
        ),
        (
            "UNNAMED_LIBRARIES",
            "Those without a SONAME: link them with -L<folder> -l:<file>.",
            [item.path for item in libraries if item.facts.soname is None],
        ),
        ("RPATH", "Folders for the run path.", [item.path.parent for item in libraries]),
        ("INPUTS", "A change of one of these needs a new configuration.", inputs),
        ("PROVIDERS", "Where this differs, sources are compiled anew.", providers),
    ]
    lines = [f"# Written by linked-resolver {resolution.version}; changes are lost."]
    for name, comment, values in variables:
        lines.append(f"# {comment}")
        texts = [str(value) for value in values]
        if name != "SLOTS":  # which stand beside IMPLEMENTATIONS, one for each
            texts = list(dict.fromkeys(texts))
        quoted = "".join(f"\n  {_quote(text)}" for text in texts)
        lines.append(f"set(INFINI_LINKED_{name}{quoted})")
    return "\n".join(lines) + "\n"


def _quote(text: str) -> str:
    """A CMake argument that stands for `text` and nothing else."""
    for sign in '\\"$;':
        text = text.replace(sign, f"\\{sign}")
    return f'"{text}"'
