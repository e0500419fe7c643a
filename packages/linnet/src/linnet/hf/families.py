"""How each family's checkpoints name their settings and tensors."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from linnet.hf.settings import Settings


@dataclass(frozen=True)
class Layout:
    """What a family's source takes from a checkpoint. `table` is the name of the token table in
    the weights, `copy` that of a tensor which must equal it, since the model takes the table for
    both; the rest is as in `linnet.models.Checkpoint`.
    """

    generics: Mapping[str, int]
    fixed_inputs: Mapping[str, float]
    positions: int
    table: str
    bindings: Mapping[str, str]
    unused: tuple[str, ...] = ()
    copy: str | None = None


def llama(settings: Settings, names: Collection[str]) -> Layout:
    """`LlamaForCausalLM`: rotary positions without scaling, SiLU, no biases or all optional."""
    settings.must_be("hidden_act", "silu")
    base = _rope_base(settings)
    hidden, heads = settings.size("hidden_size"), settings.size("num_attention_heads")
    layers = settings.size("num_hidden_layers")
    tied = settings.document.get("tie_word_embeddings", False) is True
    table, head = "model.embed_tokens.weight", "lm_head.weight"
    bindings: dict[str, str] = {}
    if tied and head in names and table in names:
        raise settings.error(
            f"tie_word_embeddings is true, but the weights hold both {table} and {head}; remove "
            "one of them, or set it to false"
        )
    if not tied and head not in names:
        raise settings.error(f"tie_word_embeddings is false, but the weights lack {head}")
    if tied and head in names:
        # The one table that there is serves as both.
        table = bindings["model.embed_tokens.weight"] = head
    for layer in range(layers):
        for part in ("gate", "up", "down"):
            path = f"model.layers.{layer}.mlp"
            bindings[f"{path}.{part}.weight"] = f"{path}.{part}_proj.weight"
            if f"{path}.{part}_proj.bias" in names:
                bindings[f"{path}.{part}.bias"] = f"{path}.{part}_proj.bias"
    return Layout(
        generics={
            "Vocab": settings.size("vocab_size"),
            "H": hidden,
            "Inner": settings.size("intermediate_size"),
            "Layers": layers,
            "Heads": heads,
            "KeyHeads": settings.size("num_key_value_heads", heads),
            "D": settings.size("head_dim", hidden // heads),
        },
        fixed_inputs={"base": base, "eps": settings.number("rms_norm_eps", 1e-6)},
        positions=settings.size("max_position_embeddings", 2048),
        table=table,
        bindings=bindings,
        # Older files hold the rotary frequencies, which follow from the base.
        unused=tuple(name for name in names if name.endswith("rotary_emb.inv_freq")),
    )


def _rope_base(settings: Settings) -> float:
    """The base of the rotary frequencies; scaled ones are refused."""
    found: Any = {}
    for name in ("rope_scaling", "rope_parameters"):
        found = settings.document.get(name) or {}
        if not isinstance(found, dict):
            raise settings.error(f"{name} must be an object or null, got {found!r}")
        kind = found.get("rope_type", found.get("type", "default"))
        if kind != "default":
            raise settings.error(f"scales rotary positions by {kind!r}; only 'default' is known")
    if "rope_theta" in found:
        return Settings(settings.path, found).number("rope_theta")
    return settings.number("rope_theta", 10000.0)


def gpt2(settings: Settings, names: Collection[str]) -> Layout:
    """`GPT2LMHeadModel` and `GPT2Model`: the output head is the token table."""
    settings.must_be("activation_function", "gelu_new", "gelu_pytorch_tanh")
    settings.must_be("scale_attn_weights", True)
    settings.must_be("scale_attn_by_inverse_layer_idx", False)
    settings.must_be("tie_word_embeddings", True)
    hidden, heads = settings.size("n_embd"), settings.size("n_head")
    if hidden % heads:
        raise settings.error(f"n_embd {hidden} is no multiple of n_head {heads}")
    prefix = "transformer." if "transformer.wte.weight" in names else ""
    parts = (
        *("ln_1.weight", "ln_1.bias", "ln_2.weight", "ln_2.bias"),
        *(
            f"{product}.{kind}"
            for product in ("attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj")
            for kind in ("weight", "bias")
        ),
    )
    paths = ["wte.weight", "wpe.weight", "ln_f.weight", "ln_f.bias"]
    paths += [f"h.{n}.{part}" for n in range(settings.size("n_layer")) for part in parts]
    # Masks that older files hold, and the head that is the token table once more.
    masks = (".attn.bias", ".attn.masked_bias")
    unused = [name for name in names if name.endswith(masks)]
    head = "lm_head.weight" if prefix and "lm_head.weight" in names else None
    if head is not None:
        unused.append(head)
    return Layout(
        generics={
            "Vocab": settings.size("vocab_size"),
            "Positions": settings.size("n_positions", 1024),
            "Heads": heads,
            "D": hidden // heads,
            "Inner": settings.size("n_inner", 4 * hidden),
            "Layers": settings.size("n_layer"),
        },
        fixed_inputs={"eps": settings.number("layer_norm_epsilon", 1e-5)},
        positions=settings.size("n_positions", 1024),
        table=f"{prefix}wte.weight",
        bindings={path: f"{prefix}{path}" for path in paths} if prefix else {},
        unused=tuple(unused),
        copy=head,
    )


#: Path in `bert.linnet` -> name in a checkpoint, before `.weight` and `.bias`.
BERT_NAMES = {
    "words": "embeddings.word_embeddings",
    "places": "embeddings.position_embeddings",
    "segments": "embeddings.token_type_embeddings",
    "norm": "embeddings.LayerNorm",
}
BERT_LAYER_NAMES = {
    "attention.query": "attention.self.query",
    "attention.key": "attention.self.key",
    "attention.value": "attention.self.value",
    "attention.output": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "intermediate": "intermediate.dense",
    "output": "output.dense",
    "output_norm": "output.LayerNorm",
}


def bert(settings: Settings, names: Collection[str]) -> Layout:
    """`BertModel` and models around it, of which the encoder is taken."""
    settings.must_be("hidden_act", "gelu")
    settings.must_be("position_embedding_type", "absolute")
    hidden, heads = settings.size("hidden_size"), settings.size("num_attention_heads")
    if hidden % heads:
        raise settings.error(f"hidden_size {hidden} is no multiple of {heads} heads")
    layers = settings.size("num_hidden_layers")
    prefix = "bert." if "bert.embeddings.word_embeddings.weight" in names else ""
    bindings = dict(_bert_bindings(prefix, layers))
    used = set(bindings.values())
    beside = (f"{prefix}pooler.", f"{prefix}embeddings.position_ids", "cls.")
    return Layout(
        generics={
            "Vocab": settings.size("vocab_size"),
            "Positions": settings.size("max_position_embeddings"),
            "Segments": settings.size("type_vocab_size"),
            "Heads": heads,
            "D": hidden // heads,
            "Inner": settings.size("intermediate_size"),
            "Layers": layers,
        },
        fixed_inputs={"eps": settings.number("layer_norm_eps", 1e-12)},
        positions=settings.size("max_position_embeddings"),
        table=f"{prefix}embeddings.word_embeddings.weight",
        bindings=bindings,
        # Heads for the tasks of pre-training, and a table of 0, 1, 2, ...
        unused=tuple(n for n in names if n not in used and n.startswith(beside)),
    )


def _bert_bindings(prefix: str, layers: int) -> Iterator[tuple[str, str]]:
    for path, name in BERT_NAMES.items():
        yield f"{path}.weight", f"{prefix}{name}.weight"
    yield "norm.bias", f"{prefix}embeddings.LayerNorm.bias"
    for n in range(layers):
        for path, name in BERT_LAYER_NAMES.items():
            for kind in ("weight", "bias"):
                yield f"layers.{n}.{path}.{kind}", f"{prefix}encoder.layer.{n}.{name}.{kind}"
