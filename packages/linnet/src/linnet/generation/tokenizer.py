"""Text to tokens and back, and messages to the text that a chat model was trained on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linnet.models.checkpoint import Checkpoint, CheckpointError, Text

if TYPE_CHECKING:
    import tokenizers

#: `{"role": "user", "content": "..."}`
Message = Mapping[str, str]


class Tokenizer:
    """A tokenizer of the package `tokenizers` with what its model says about text."""

    def __init__(self, tokenizer: tokenizers.Tokenizer, text: Text) -> None:
        self.tokenizer = tokenizer
        self.text = text

    @staticmethod
    def read(source: Checkpoint | Text | str | Path) -> Tokenizer:
        """The tokenizer of a checkpoint, or of a `tokenizer.json` or its folder, whose
        `tokenizer_config.json` is read if it is there. CheckpointError where there is none.
        """
        from tokenizers import Tokenizer as Library

        if isinstance(source, Checkpoint):
            where, text = source.weights, source.text
        elif isinstance(source, Text):
            where, text = source.tokenizer or Path(), source
        else:
            where = Path(source)
            text = read_text(where if where.is_dir() else where.parent)
            if where.is_file():
                text = Text(where, text.chat_template, text.begin_token, text.end_token, text.end)
        if text.tokenizer is None or not text.tokenizer.is_file():
            raise CheckpointError(
                f"{where}: has no tokenizer.json, so it cannot read or write text"
            )
        try:
            found = Library.from_file(str(text.tokenizer))
        except Exception as error:  # what `tokenizers` raises
            raise CheckpointError(f"{text.tokenizer}: is no tokenizer: {error}") from error
        # A file may say to pad and cut every text to one length, which is not for us to do.
        found.no_padding()
        found.no_truncation()
        ends = list(text.end)
        if not ends and text.end_token is not None:
            number = found.token_to_id(text.end_token)
            ends = [] if number is None else [number]
        text = Text(
            text.tokenizer, text.chat_template, text.begin_token, text.end_token, tuple(ends)
        )
        return Tokenizer(found, text)

    def encode(self, text: str) -> list[int]:
        """The tokens of a text; special tokens in it are taken as such."""
        numbers: list[int] = self.tokenizer.encode(text).ids
        return numbers

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens, without special ones."""
        text: str = self.tokenizer.decode(list(tokens), skip_special_tokens=True)
        return text

    def stream(self) -> TextStream:
        """Turns tokens that come one by one into text."""
        return TextStream(self.tokenizer)

    def chat(self, messages: Sequence[Message], *, reply: bool = True) -> str:
        """The text of a conversation by the model's template; with `reply`, up to where its
        answer begins. The template runs in a sandbox. CheckpointError where there is none, or it
        refuses the messages.
        """
        from jinja2 import TemplateError
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        template = self.text.chat_template
        if template is None:
            raise CheckpointError(
                f"{self.text.tokenizer}: has no chat template; give the prompt as text"
            )

        def raise_exception(reason: str) -> None:
            raise TemplateError(reason)

        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        environment.globals["raise_exception"] = raise_exception
        try:
            return environment.from_string(template).render(
                messages=[dict(message) for message in messages],
                add_generation_prompt=reply,
                bos_token=self.text.begin_token or "",
                eos_token=self.text.end_token or "",
            )
        except (TemplateError, TypeError, KeyError) as error:
            raise CheckpointError(f"the chat template refuses the messages: {error}") from error


class TextStream:
    """Text of tokens as they come: a piece is given once no later token can change it."""

    def __init__(self, tokenizer: tokenizers.Tokenizer) -> None:
        from tokenizers.decoders import DecodeStream

        self._tokenizer = tokenizer
        self._stream = DecodeStream(skip_special_tokens=True)

    def add(self, token: int) -> str:
        """The text that is certain now; empty in the middle of a character."""
        return self._stream.step(self._tokenizer, token) or ""


def read_text(folder: Path) -> Text:
    """What the files of a Hugging Face folder say about text."""
    settings = _json(folder / "tokenizer_config.json")
    template = settings.get("chat_template")
    separate = folder / "chat_template.jinja"
    if separate.is_file():
        template = separate.read_text(encoding="utf-8")
    ends = _json(folder / "generation_config.json").get(
        "eos_token_id", _json(folder / "config.json").get("eos_token_id")
    )
    listed = ends if isinstance(ends, list) else [ends]
    words = folder / "tokenizer.json"
    return Text(
        tokenizer=words if words.is_file() else None,
        chat_template=template if isinstance(template, str) else None,
        begin_token=_token(settings.get("bos_token")),
        end_token=_token(settings.get("eos_token")),
        end=tuple(n for n in listed if isinstance(n, int)),
    )


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise CheckpointError(f"{path}: is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise CheckpointError(f"{path}: expected a JSON object, got {type(document).__name__}")
    return document


def _token(value: Any) -> str | None:
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) else None
