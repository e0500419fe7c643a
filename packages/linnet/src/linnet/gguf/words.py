"""The tokenizer and the chat template of a GGUF file."""

from __future__ import annotations

from pathlib import Path
from types import NoneType
from typing import Any

from linnet.gguf.header import GgufError, GgufFile
from linnet.models.checkpoint import Text

#: The kind of a token in `tokenizer.ggml.token_type`: one that text never spells.
CONTROL, USER_DEFINED = 3, 4


def text_of(file: GgufFile) -> Text:
    """The chat template and the tokens that begin and end a text."""
    data = file.metadata
    tokens = _tokens(file)

    def token(name: str) -> int | None:
        number = data.get(f"tokenizer.ggml.{name}_token_id")
        if number is None:
            return None
        if not isinstance(number, int) or not 0 <= number < len(tokens):
            raise GgufError(
                f"{file.path}: tokenizer.ggml.{name}_token_id is {number!r}, outside the "
                f"{len(tokens)} tokens"
            )
        return number

    begin, end, turn = token("bos"), token("eos"), token("eot")
    template = data.get("tokenizer.chat_template")
    if not isinstance(template, (str, NoneType)):
        raise GgufError(f"{file.path}: tokenizer.chat_template is no text but {template!r:.40}")
    return Text(
        chat_template=template,
        begin_token=None if begin is None else tokens[begin],
        end_token=None if end is None else tokens[end],
        end=tuple(dict.fromkeys(n for n in (end, turn) if n is not None)),
    )


def write_tokenizer(file: GgufFile, target: Path, rows: int) -> None:
    """Writes the tokenizer as a `tokenizer.json` of the package `tokenizers`.

    Byte-level BPE (`tokenizer.ggml.model` is `gpt2`) can be written; GgufError for others, and for
    more tokens than the table of tokens has `rows`.
    """
    from tokenizers import AddedToken, Tokenizer, decoders, models, processors

    data = file.metadata
    kind = data.get("tokenizer.ggml.model")
    if kind != "gpt2":
        raise GgufError(
            f"{file.path}: has a tokenizer of the kind {kind!r}; byte-level BPE (`gpt2`) is what "
            "can be converted"
        )
    tokens = _tokens(file)
    if len(tokens) > rows:
        raise GgufError(
            f"{file.path}: has {len(tokens)} tokens, but token_embd.weight has {rows} rows"
        )
    merges = data.get("tokenizer.ggml.merges")
    pairs = []
    for merge in merges if isinstance(merges, list) else ():
        first, space, second = merge.partition(" ") if isinstance(merge, str) else ("", "", "")
        if space:
            pairs.append((first, second))
    if not isinstance(merges, list) or not pairs or len(pairs) != len(merges):
        raise GgufError(f"{file.path}: tokenizer.ggml.merges is no list of pairs of tokens")
    vocabulary = {token: number for number, token in enumerate(tokens)}
    if len(vocabulary) != len(tokens):
        raise GgufError(f"{file.path}: tokenizer.ggml.tokens names a token twice")
    try:
        model = models.BPE(vocab=vocabulary, merges=pairs)
    except Exception as error:  # what `tokenizers` raises
        raise GgufError(f"{file.path}: its tokenizer is inconsistent: {error}") from error
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = _cutter(file)
    tokenizer.decoder = decoders.ByteLevel()
    types = data.get("tokenizer.ggml.token_type", [])
    if not isinstance(types, list):
        raise GgufError(f"{file.path}: tokenizer.ggml.token_type is no list of numbers")
    special = [
        AddedToken(tokens[n], special=t == CONTROL, normalized=False)
        for n, t in enumerate(types[: len(tokens)])
        if t in (CONTROL, USER_DEFINED)
    ]
    tokenizer.add_tokens(special)
    begin = text_of(file).begin_token
    if data.get("tokenizer.ggml.add_bos_token") is True and begin is not None:
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{begin} $A", special_tokens=[(begin, vocabulary[begin])]
        )
    tokenizer.save(str(target), pretty=False)


def _tokens(file: GgufFile) -> list[str]:
    tokens = file.metadata.get("tokenizer.ggml.tokens")
    if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
        raise GgufError(f"{file.path}: has no tokenizer: tokenizer.ggml.tokens is no list of texts")
    return tokens


def _cutter(file: GgufFile) -> Any:
    """How text is cut into the words that are merged."""
    from tokenizers import pre_tokenizers

    name = file.metadata.get("tokenizer.ggml.pre", "gpt-2")
    words = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    if name == "gpt-2":
        return words
    if name == "smollm":
        digits = pre_tokenizers.Digits(individual_digits=True)
        return pre_tokenizers.Sequence([digits, words])
    raise GgufError(
        f"{file.path}: tokenizer.ggml.pre is {name!r}; gpt-2 and smollm can be converted"
    )
