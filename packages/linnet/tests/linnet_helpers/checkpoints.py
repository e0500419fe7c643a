"""Small random checkpoints in Hugging Face's layout, and the models that transformers makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

VOCABULARY = 61


def save(folder: Path, family: str, seed: int = 0, **changes: Any) -> Any:
    """Saves a random model of a family to `folder`; gives transformers' model in float64."""
    import transformers

    small = {"vocab_size": VOCABULARY, **changes}
    torch.manual_seed(seed)
    model: Any
    if family == "llama":
        settings = {
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": 64,
            "rms_norm_eps": 1e-5,
            "bos_token_id": 0,
            "eos_token_id": 1,
        }
        model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**{**settings, **small}))
    elif family == "gpt2":
        settings = {"n_positions": 64, "n_embd": 32, "n_layer": 2, "n_head": 4}
        ends = {"bos_token_id": 0, "eos_token_id": 1}
        config = transformers.GPT2Config(**{**settings, **ends, **small})
        model = transformers.GPT2LMHeadModel(config)
    else:
        settings = {
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "max_position_embeddings": 64,
        }
        model = transformers.BertModel(transformers.BertConfig(**{**settings, **small}))
    with torch.no_grad():
        for parameter in model.parameters():  # transformers' own start makes every layer tiny
            parameter.copy_(torch.randn_like(parameter) * 0.2 + (parameter.dim() == 1) * 0.5)
    model.eval().save_pretrained(folder)
    return model.double()
