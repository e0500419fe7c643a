"""Generating text: a prompt is read, then one token after another is chosen and appended."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias

import torch
from torch import Tensor

from linnet.generation.sample import Sampler, Sampling
from linnet.generation.tokenizer import Message, Tokenizer


class TokenModel(Protocol):
    """A model with the entries of `linnet/models/llama.linnet`, of one row."""

    @property
    def program(self) -> Any:
        """Its program, with the names of its `entries`, and the cache's size as the generic
        `Context`.
        """
        ...

    @property
    def device(self) -> torch.device:
        """Where its inputs must be."""
        ...

    def run_entry(self, name: str, inputs: Any) -> Any:
        """Runs `prefill(tokens: i64[1, S])` or `decode(tokens: i64[1, 1], positions: i64[1])`;
        both give logits of shape [1, V].
        """
        ...


#: `decode` of a model by other means, such as a captured plan: tokens [1, 1] and positions [1] to
#: logits [1, V].
Decode: TypeAlias = Callable[[Tensor, Tensor], Tensor]


def generate(
    model: TokenModel,
    tokenizer: Tokenizer,
    prompt: str | Sequence[Message],
    *,
    max_tokens: int = 256,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int | None = None,
    stop: Sequence[str] = (),
    decode: Decode | None = None,
) -> Generation:
    """Generates text after `prompt`: a text, or messages for the model's chat template.

    The result gives pieces of text as they come when iterated, and the whole as `.text`. It ends
    after `max_tokens` tokens, at a token that the model ends texts with, before the first of the
    `stop` texts, or when the cache is full; `.finish` says which. `temperature`, `top_k`, `top_p`
    and `seed` are those of `Sampling`; by default the most probable token is taken. `decode`
    replaces the model's entry of that name.

    Raises ValueError, before anything runs, for a prompt that is empty or longer than the cache,
    and for a model of another kind.
    """
    sampling = Sampling(temperature, top_k, top_p, seed)
    program = model.program
    missing = [f"the entry {name}" for name in ("prefill", "decode") if name not in program.entries]
    if "Context" not in program.generics:
        missing.append("the generic Context")
    if missing:
        raise ValueError(
            f"generate: {program.name} is no model that writes text as llama.linnet and "
            f"gpt2.linnet are: it lacks {', '.join(missing)} "
            f"(its entries: {', '.join(program.entries)})"
        )
    text = prompt if isinstance(prompt, str) else tokenizer.chat(prompt)
    tokens = tokenizer.encode(text)
    capacity = int(program.generics["Context"])
    if not tokens:
        raise ValueError("generate: the prompt has no tokens")
    if len(tokens) > capacity:
        raise ValueError(
            f"generate: the prompt has {len(tokens)} tokens, but the model was loaded for "
            f"{capacity}; load it with a larger context"
        )
    if max_tokens < 1:
        raise ValueError(f"generate: max_tokens must be 1 or more, got {max_tokens}")
    if any(not text for text in stop):
        raise ValueError("generate: a stop text must not be empty")
    return Generation(model, tokenizer, tokens, capacity, max_tokens, sampling, tuple(stop), decode)


class Generation:
    """Text that is being generated; iterate it once for its pieces.

    `prompt_tokens` and `tokens` are what was read and chosen. `finish` is None until the end, then
    `end` (the model ended the text), `stop`, `length` or `context`. `prompt_seconds` is the time
    from the start to the first token, `seconds` that of all tokens after it.
    """

    def __init__(
        self,
        model: TokenModel,
        tokenizer: Tokenizer,
        prompt_tokens: list[int],
        capacity: int,
        max_tokens: int,
        sampling: Sampling,
        stop: tuple[str, ...],
        decode: Decode | None,
    ) -> None:
        self.prompt_tokens = prompt_tokens
        self.tokens: list[int] = []
        self.finish: str | None = None
        self.prompt_seconds = 0.0
        self.seconds = 0.0
        self._model = model
        self._tokenizer = tokenizer
        self._capacity = capacity
        self._max_tokens = max_tokens
        self._sampler = Sampler(sampling)
        self._stop = stop
        self._decode = decode
        self._text = ""
        self._pieces = self._run()

    def __iter__(self) -> Iterator[str]:
        return self._pieces

    @property
    def text(self) -> str:
        """The whole text; runs to the end."""
        for _ in self._pieces:
            pass
        return self._text

    @property
    def tokens_per_second(self) -> float | None:
        """Tokens after the first by the seconds that they took; None if there are none."""
        count = len(self.tokens) - 1
        return count / self.seconds if count > 0 and self.seconds > 0 else None

    def _run(self) -> Iterator[str]:
        stream = self._tokenizer.stream()
        held = ""
        for token in self._numbers():
            if token in self._tokenizer.text.end:
                self.finish = "end"
                break
            held += stream.add(token)
            cut = min((at for text in self._stop if (at := held.find(text)) >= 0), default=-1)
            if cut >= 0:
                self.finish = "stop"
                held = held[:cut]
                break
            ready = len(held) - self._waiting(held)
            if ready:
                yield self._give(held[:ready])
                held = held[ready:]
        if held:
            yield self._give(held)

    def _give(self, piece: str) -> str:
        self._text += piece
        return piece

    def _waiting(self, text: str) -> int:
        """How many characters at the end of `text` may be the beginning of a stop text."""
        longest = max((len(stop) for stop in self._stop), default=0) - 1
        for count in range(min(longest, len(text)), 0, -1):
            if any(stop.startswith(text[-count:]) for stop in self._stop):
                return count
        return 0

    def _numbers(self) -> Iterator[int]:
        """The chosen tokens; sets `finish` where it is not the text that ends it."""
        device = self._model.device
        start = time.perf_counter()
        with torch.no_grad():
            prompt = torch.tensor([self.prompt_tokens], device=device)
            logits = self._model.run_entry("prefill", [prompt])
            position = len(self.prompt_tokens)
            while True:
                token = self._sampler.choose(logits[0])
                self.tokens.append(token)
                now = time.perf_counter()
                if len(self.tokens) == 1:
                    self.prompt_seconds, start = now - start, now
                self.seconds = now - start
                if len(self.tokens) == self._max_tokens:
                    self.finish = "length"
                elif position == self._capacity:
                    self.finish = "context"
                yield token
                if self.finish is not None:
                    return
                tokens = torch.tensor([[token]], device=device)
                logits = self._step(tokens, torch.tensor([position], device=device))
                position += 1

    def _step(self, tokens: Tensor, positions: Tensor) -> Tensor:
        if self._decode is not None:
            return self._decode(tokens, positions)
        logits: Tensor = self._model.run_entry("decode", [tokens, positions])
        return logits
