"""Small GGUF files, written by the package `gguf`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

#: Sizes of the small model: by `llama.linnet`'s names.
SIZES = {"Vocab": 98, "H": 32, "Inner": 64, "Layers": 2, "Heads": 4, "KeyHeads": 2, "D": 8}
SPECIAL = ("<|begin|>", "<|end|>")


def byte_tokens() -> list[str]:
    """Two special tokens, then letters as byte-level BPE spells them; `Ġ` is a space."""
    letters = [chr(n) for n in range(ord("!"), ord("~") + 1)]
    return [*SPECIAL, "Ġ", *letters, "ab"]


def llama_tensors(seed: int = 0, own_head: bool = False) -> dict[str, Any]:
    """Random weights by GGUF's names, in the order of axes that NumPy has."""
    random = np.random.default_rng(seed)
    hidden, inner, queries = SIZES["H"], SIZES["Inner"], SIZES["Heads"] * SIZES["D"]
    keys = SIZES["KeyHeads"] * SIZES["D"]
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (SIZES["Vocab"], hidden),
        "output_norm.weight": (hidden,),
    }
    if own_head:
        shapes["output.weight"] = (SIZES["Vocab"], hidden)
    for n in range(SIZES["Layers"]):
        shapes |= {
            f"blk.{n}.attn_norm.weight": (hidden,),
            f"blk.{n}.attn_q.weight": (queries, hidden),
            f"blk.{n}.attn_k.weight": (keys, hidden),
            f"blk.{n}.attn_v.weight": (keys, hidden),
            f"blk.{n}.attn_output.weight": (hidden, queries),
            f"blk.{n}.ffn_norm.weight": (hidden,),
            f"blk.{n}.ffn_gate.weight": (inner, hidden),
            f"blk.{n}.ffn_up.weight": (inner, hidden),
            f"blk.{n}.ffn_down.weight": (hidden, inner),
        }
    return {k: random.normal(size=s, scale=0.3).astype(np.float32) for k, s in shapes.items()}


def write_llama(
    path: Path,
    tensors: dict[str, Any] | None = None,
    kind: str = "F32",
    changes: dict[str, Any] | None = None,
) -> Path:
    """A model of the architecture `llama` whose matrices are quantised to `kind`. `changes`
    replaces metadata after the prefix `llama.`; None leaves an entry out.
    """
    from gguf import GGMLQuantizationType, GGUFWriter
    from gguf.quants import quantize

    settings: dict[str, Any] = {
        "context_length": 128,
        "embedding_length": SIZES["H"],
        "block_count": SIZES["Layers"],
        "feed_forward_length": SIZES["Inner"],
        "attention.head_count": SIZES["Heads"],
        "attention.head_count_kv": SIZES["KeyHeads"],
        "attention.layer_norm_rms_epsilon": 1e-5,
        "rope.freq_base": 5000.0,
        "rope.dimension_count": SIZES["D"],
        **(changes or {}),
    }
    writer = GGUFWriter(path, "llama")
    for name, value in settings.items():
        if isinstance(value, str):
            writer.add_string(f"llama.{name}", value)
        elif isinstance(value, float):
            writer.add_float32(f"llama.{name}", value)
        elif value is not None:
            writer.add_uint32(f"llama.{name}", value)
    tokens = byte_tokens()
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([3 if token in SPECIAL else 1 for token in tokens])
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    writer.add_chat_template("{% for m in messages %}{{ m['content'] }}{% endfor %}")
    element = GGMLQuantizationType[kind]
    for name, tensor in (llama_tensors() if tensors is None else tensors).items():
        if tensor.ndim == 2 and kind != "F32":
            writer.add_tensor(name, quantize(tensor, element), raw_dtype=element)
        else:
            writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
