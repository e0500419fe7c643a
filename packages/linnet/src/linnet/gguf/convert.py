"""GGUF files as checkpoints: converted once, kept under `$LINNET_HOME/models`.

A conversion is a folder `<content>-<dtype>` with `model.safetensors` (under Linnet's paths),
`tokenizer.json` and `checkpoint.json`. It appears whole or not at all: it is written beside its
place and renamed. `<content>` is the hash of the file's bytes; `known/` remembers it by the file's
place, size and times, so that a second start does not read the file.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from filelock import FileLock

from linnet.backends.store import home
from linnet.check.types import dtypes_listed, short_dtype
from linnet.gguf.header import GgufError, GgufFile, read_header
from linnet.gguf.llama import LlamaFile, Part, read_llama
from linnet.gguf.words import text_of, write_tokenizer
from linnet.models.checkpoint import Checkpoint, Progress, Text
from linnet.torch.dtypes import torch_dtype

VERSION = 1
FILE_DTYPES = {"f32": "F32", "bf16": "BF16", "f16": "F16"}
CHUNK = 16 * 2**20
UNFINISHED = ".unfinished"


def convert(
    path: str | Path, *, dtype: str = "f32", progress: Progress | None = None
) -> Checkpoint:
    """The model of a GGUF file of the Llama family, dequantised to `dtype`: f32, bf16 or f16,
    or PyTorch's name of one.

    The conversion is made once for a content and dtype, and is safe when several processes ask for
    it. Tied embeddings stay one tensor; rows of rotated heads are put back into the order in which
    `std.nn.rope` turns them. Raises GgufError, before anything is kept, for a file that is damaged
    or whose model `llama.linnet` does not compute; OSError where `$LINNET_HOME` cannot be written.
    """
    path = Path(path)
    given, dtype = dtype, short_dtype(dtype)
    if dtype not in FILE_DTYPES:
        listed = dtypes_listed(FILE_DTYPES)
        raise ValueError(f"gguf.convert: dtype must be one of {listed}, got {given!r}")
    models = home() / "models"
    digest = _digest(path, models / "known")
    folder = models / f"{digest}-{dtype}"
    found = _read(folder)
    if found is not None:
        return found
    models.mkdir(parents=True, exist_ok=True)
    with FileLock(models / f"{folder.name}.lock"):
        found = _read(folder)
        if found is not None:
            return found
        # Whoever holds the lock is the only one to write these; others were killed on the way.
        for left in models.glob(f"{folder.name}.*{UNFINISHED}"):
            shutil.rmtree(left, ignore_errors=True)
        file = read_header(path)
        model = read_llama(file)
        with _folder(folder) as made:
            write_tokenizer(file, made / "tokenizer.json", model.generics["Vocab"])
            _write_weights(file, model.parts, dtype, made / "model.safetensors", progress)
            _write_checkpoint(made, model, dtype, text_of(file))
    found = _read(folder)
    if found is None:
        raise GgufError(f"{folder}: was converted but cannot be read back; remove it and try again")
    return found


def _digest(path: Path, known: Path) -> str:
    """The hash of a file's content, remembered by its place, size and times."""
    status = path.stat()
    place = f"{path.resolve()}|{status.st_size}|{status.st_mtime_ns}|{status.st_ctime_ns}"
    note = known / hashlib.sha256(place.encode()).hexdigest()[:32]
    try:
        digest = note.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        digest = ""
    if len(digest) == 32 and digest.isalnum():
        return digest
    content = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            content.update(chunk)
    digest = content.hexdigest()[:32]
    known.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=known)
    with os.fdopen(descriptor, "w", encoding="ascii") as file_of_note:
        file_of_note.write(digest)
    Path(temporary).replace(note)
    return digest


@contextmanager
def _folder(folder: Path) -> Iterator[Path]:
    """A new folder that takes the place of `folder` when all went well."""
    made = Path(tempfile.mkdtemp(UNFINISHED, f"{folder.name}.", folder.parent))
    try:
        yield made
        made.chmod(0o755)
        if folder.exists():
            shutil.rmtree(folder)
        made.rename(folder)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


def _write_weights(
    file: GgufFile, parts: tuple[Part, ...], dtype: str, target: Path, progress: Progress | None
) -> None:
    """Writes SafeTensors tensor by tensor, so that no more than one is in memory.

    `safetensors.save_file` would need all of them at once.
    """
    width = torch_dtype(dtype).itemsize
    header: dict[str, Any] = {}
    place = 0
    for part in parts:
        size = int(np.prod(part.stored.shape)) * width
        header[part.path] = {
            "dtype": FILE_DTYPES[dtype],
            "shape": list(part.stored.shape),
            "data_offsets": [place, place + size],
        }
        place += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    content = np.memmap(file.path, dtype=np.uint8, mode="r")
    with target.open("wb") as output:
        output.write(len(text).to_bytes(8, "little"))
        output.write(text)
        done = 0
        for part in parts:
            tensor = torch.from_numpy(_values(content, part)).to(torch_dtype(dtype))
            output.write(tensor.view(torch.uint8).numpy().data)
            done += tensor.nbytes
            if progress is not None:
                progress("converting", done, place)


def _values(content: np.ndarray[Any, np.dtype[np.uint8]], part: Part) -> Any:
    """The numbers of a tensor as f32, with the rows of its heads as `std.nn.rope` takes them."""
    from gguf.constants import GGMLQuantizationType
    from gguf.quants import dequantize

    stored = part.stored
    raw = np.asarray(content[stored.start : stored.start + stored.size])
    rows = raw.reshape(*stored.shape[:-1], -1)
    # Contiguous and writable, as PyTorch wants it; for f32 `dequantize` gives a view of the file.
    values = np.array(dequantize(rows, GGMLQuantizationType[stored.element]), dtype=np.float32)
    values = values.reshape(stored.shape)
    if part.heads is None:
        return values
    # Row 2i + j of a head belongs at j * half + i.
    paired = values.reshape(part.heads, -1, 2, stored.shape[-1])
    return np.ascontiguousarray(paired.swapaxes(1, 2)).reshape(stored.shape)


def _write_checkpoint(folder: Path, model: LlamaFile, dtype: str, text: Text) -> None:
    document = {
        "version": VERSION,
        "family": "llama",
        "generics": model.generics,
        "fixed_inputs": model.fixed_inputs,
        "positions": model.positions,
        "dtype": dtype,
        "bytes": (folder / "model.safetensors").stat().st_size,
        "chat_template": text.chat_template,
        "begin_token": text.begin_token,
        "end_token": text.end_token,
        "end": list(text.end),
    }
    (folder / "checkpoint.json").write_text(json.dumps(document, indent=1), encoding="utf-8")


def _read(folder: Path) -> Checkpoint | None:
    """The conversion in `folder`; None where there is none, or a damaged or older one."""
    weights, words = folder / "model.safetensors", folder / "tokenizer.json"
    try:
        document = json.loads((folder / "checkpoint.json").read_text(encoding="utf-8"))
        if document["version"] != VERSION or weights.stat().st_size != document["bytes"]:
            return None
        text = Text(
            words,
            document["chat_template"],
            document["begin_token"],
            document["end_token"],
            tuple(document["end"]),
        )
        return Checkpoint(
            family=document["family"],
            weights=weights,
            generics=document["generics"],
            fixed_inputs=document["fixed_inputs"],
            dtype=document["dtype"],
            positions=document["positions"],
            text=text if words.is_file() else replace(text, tokenizer=None),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
