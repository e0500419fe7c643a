"""GGUF's names and layouts for models of the Llama family."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from linnet.gguf.header import GgufError, GgufFile, StoredTensor

#: GGUF's name of a tensor of layer N, after `blk.N.` -> the path after `model.layers.N.`.
LAYER_PATHS = {
    "attn_norm.weight": "input_layernorm.weight",
    "attn_q.weight": "self_attn.q_proj.weight",
    "attn_k.weight": "self_attn.k_proj.weight",
    "attn_v.weight": "self_attn.v_proj.weight",
    "attn_output.weight": "self_attn.o_proj.weight",
    "ffn_norm.weight": "post_attention_layernorm.weight",
    "ffn_gate.weight": "mlp.gate.weight",
    "ffn_up.weight": "mlp.up.weight",
    "ffn_down.weight": "mlp.down.weight",
}
PATHS = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
}
OPTIONAL_PATHS = {"output.weight": "lm_head.weight"}
#: Settings that would change what is computed -> the only value that is understood.
PLAIN = {"rope.scaling.type": "none", "expert_count": 0}


@dataclass(frozen=True)
class Part:
    """A tensor of the file as a parameter. `heads`, where not None, is the number of heads whose
    rows the file keeps in pairs of neighbours.
    """

    path: str
    stored: StoredTensor
    heads: int | None = None


@dataclass(frozen=True)
class LlamaFile:
    """A file's model: sizes by the names of `llama.linnet`, numbers of its inputs, parameters."""

    generics: dict[str, int]
    fixed_inputs: dict[str, float]
    positions: int
    parts: tuple[Part, ...]


def read_llama(file: GgufFile) -> LlamaFile:
    """What a GGUF file of the architecture `llama` holds.

    GgufError for another architecture, for settings that `llama.linnet` does not compute, and for
    tensors that are missing, unknown or of another shape than the settings say.
    """
    architecture = file.metadata.get("general.architecture")
    if architecture != "llama":
        raise GgufError(
            f"{file.path}: has the architecture {architecture!r}; `llama` is the one that can be "
            "converted"
        )
    for name, plain in PLAIN.items():
        got = file.metadata.get(f"llama.{name}", plain)
        if got != plain:
            raise GgufError(f"{file.path}: llama.{name} is {got!r}; only {plain!r} is understood")
    vocabulary = _tensor(file, "token_embd.weight").shape[0]
    layers = _size(file, "block_count")
    hidden = _size(file, "embedding_length")
    heads = _size(file, "attention.head_count")
    key_heads = _size(file, "attention.head_count_kv", heads)
    if heads % key_heads or (hidden % heads and "llama.attention.key_length" not in file.metadata):
        raise GgufError(
            f"{file.path}: {heads} heads, {key_heads} key heads and the width {hidden} do not fit "
            "one another"
        )
    width = _size(file, "attention.key_length", hidden // heads)
    turned = _size(file, "rope.dimension_count", width)
    if turned != width or width % 2:
        raise GgufError(
            f"{file.path}: rotates {turned} of the {width} axes of a head; all of an even number "
            "is what can be converted"
        )
    generics = {
        "Vocab": vocabulary,
        "H": hidden,
        "Inner": _size(file, "feed_forward_length"),
        "Layers": layers,
        "Heads": heads,
        "KeyHeads": key_heads,
        "D": width,
    }
    fixed = {
        "base": _number(file, "rope.freq_base", 10000.0),
        "eps": _number(file, "attention.layer_norm_rms_epsilon"),
    }
    return LlamaFile(generics, fixed, _size(file, "context_length"), _parts(file, generics))


def _parts(file: GgufFile, sizes: dict[str, int]) -> tuple[Part, ...]:
    if sizes["Layers"] > len(file.tensors):
        raise GgufError(
            f"{file.path}: says {sizes['Layers']} layers but holds {len(file.tensors)} tensors"
        )
    names = {**PATHS, **{k: v for k, v in OPTIONAL_PATHS.items() if k in file.tensors}}
    for layer in range(sizes["Layers"]):
        for name, path in LAYER_PATHS.items():
            names[f"blk.{layer}.{name}"] = f"model.layers.{layer}.{path}"
    unknown = sorted(set(file.tensors) - set(names))
    if unknown:
        raise GgufError(
            f"{file.path}: has {len(unknown)} tensors that llama.linnet does not know, first "
            f"{unknown[0]!r}"
        )
    shapes = _shapes(sizes)
    parts = []
    for name, path in names.items():
        stored = _tensor(file, name)
        kind = name.split(".")[-2]
        if stored.shape != shapes[kind]:
            raise GgufError(
                f"{file.path}: tensor {name!r} has the shape {list(stored.shape)}; the settings "
                f"say {list(shapes[kind])}"
            )
        heads = {"attn_q": sizes["Heads"], "attn_k": sizes["KeyHeads"]}.get(kind)
        parts.append(Part(path, stored, heads))
    return tuple(parts)


def _shapes(sizes: dict[str, int]) -> dict[str, tuple[int, ...]]:
    hidden, inner = sizes["H"], sizes["Inner"]
    queries, keys = sizes["Heads"] * sizes["D"], sizes["KeyHeads"] * sizes["D"]
    table = (sizes["Vocab"], hidden)
    return {
        "token_embd": table,
        "output": table,
        "output_norm": (hidden,),
        "attn_norm": (hidden,),
        "ffn_norm": (hidden,),
        "attn_q": (queries, hidden),
        "attn_k": (keys, hidden),
        "attn_v": (keys, hidden),
        "attn_output": (hidden, queries),
        "ffn_gate": (inner, hidden),
        "ffn_up": (inner, hidden),
        "ffn_down": (hidden, inner),
    }


def _tensor(file: GgufFile, name: str) -> StoredTensor:
    if name not in file.tensors:
        raise GgufError(f"{file.path}: lacks the tensor {name!r}")
    stored = file.tensors[name]
    if not stored.shape:
        raise GgufError(f"{file.path}: tensor {name!r} has no axes")
    return stored


def _size(file: GgufFile, name: str, default: int | None = None) -> int:
    value: Any = file.metadata.get(f"llama.{name}", default)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 2**31:
        raise GgufError(f"{file.path}: llama.{name} must be a positive number, got {value!r}")
    return value


def _number(file: GgufFile, name: str, default: float | None = None) -> float:
    value: Any = file.metadata.get(f"llama.{name}", default)
    if not isinstance(value, float) or not math.isfinite(value) or value <= 0:
        raise GgufError(f"{file.path}: llama.{name} must be a positive number, got {value!r}")
    return value
