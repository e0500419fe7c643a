"""A folder with `config.json` and SafeTensors files as a checkpoint.

Nothing is copied: the family's source is bound to the tensors under the names that they have.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linnet.hf.families import Layout, bert, gpt2, llama
from linnet.hf.settings import Settings
from linnet.models.checkpoint import Checkpoint, CheckpointError

if TYPE_CHECKING:
    from linnet.torch.weights import Stored

FAMILIES: dict[str, Callable[[Settings, Collection[str]], Layout]] = {
    "bert": bert,
    "gpt2": gpt2,
    "llama": llama,
}


def _equal(one: Stored, other: Stored) -> bool:
    """Whether two tensors of the weights hold the same numbers."""
    import torch

    from linnet.torch.weights import read_tensors

    if (one.shape, one.dtype) != (other.shape, other.dtype):
        return False
    pair = {"one": one, "other": other}
    found = read_tensors(pair, dict.fromkeys(pair, one.dtype), torch.device("cpu"))
    return torch.equal(found["one"], found["other"])


def convert(path: str | Path) -> Checkpoint:
    """The checkpoint in a folder of Hugging Face's layout, or beside a `config.json`.

    Models of the types `llama`, `gpt2` and `bert` are known. CheckpointError for other types, for
    settings that the family's source does not compute, and for weights whose names do not fit.
    """
    from linnet.generation.tokenizer import read_text
    from linnet.torch.weights import read_headers

    path = Path(path)
    folder = path if path.is_dir() else path.parent
    config = folder / "config.json"
    try:
        document: Any = json.loads(config.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError(f"{folder}: has no config.json") from None
    except ValueError as error:
        raise CheckpointError(f"{config}: is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise CheckpointError(f"{config}: expected a JSON object, got {type(document).__name__}")
    settings = Settings(config, document)
    kind = document.get("model_type")
    if not isinstance(kind, str) or kind not in FAMILIES:
        raise CheckpointError(
            f"{config}: model_type is {kind!r}; known are {', '.join(sorted(FAMILIES))}"
        )
    stored = read_headers(folder)
    layout = FAMILIES[kind](settings, stored.keys())
    table = stored.get(layout.table)
    if table is None:
        raise CheckpointError(f"{folder}: the weights lack {layout.table!r}")
    if layout.copy is not None and not _equal(table, stored[layout.copy]):
        raise CheckpointError(
            f"{folder}: the weights hold {layout.copy!r}, which differs from {layout.table!r}, but "
            f"a {kind} of Linnet takes the latter for both; remove the former if it is not needed"
        )
    return Checkpoint(
        family=kind,
        weights=folder,
        generics=layout.generics,
        fixed_inputs=layout.fixed_inputs,
        dtype=table.dtype,
        positions=layout.positions,
        bindings=layout.bindings,
        unused=layout.unused,
        text=read_text(folder),
    )
