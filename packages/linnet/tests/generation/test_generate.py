"""Generation: what is chosen, how it is streamed, and when it ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tokenizers
import torch
from torch import Tensor

import linnet
from linnet.generation import Sampling, Tokenizer, generate
from linnet.generation.sample import Sampler
from linnet.models import CheckpointError, Text

#: Bytes as byte-level BPE spells them; the number of a token is its place.
BYTES = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
END = len(BYTES)


def words(template: str | None = None) -> Tokenizer:
    """One token for each byte, and `<end>`."""
    library = tokenizers.Tokenizer(
        tokenizers.models.BPE(vocab={c: n for n, c in enumerate(BYTES)}, merges=[])
    )
    library.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = tokenizers.decoders.ByteLevel()
    library.add_special_tokens(["<end>"])
    return Tokenizer(library, Text(chat_template=template, end=(END,)))


class Script:
    """A model that writes what it was told, whatever it reads; then `<end>`."""

    def __init__(self, answer: str, context: int = 64) -> None:
        self.program = SimpleNamespace(
            name="Script", entries=("prefill", "decode"), generics={"Context": context}
        )
        self.device = torch.device("cpu")
        self.answer = [*words().encode(answer), END]
        self.calls: list[tuple[str, list[int], int | None]] = []

    def run_entry(self, name: str, inputs: Any) -> Tensor:
        tokens, positions = inputs[0], inputs[1] if len(inputs) > 1 else None
        assert tokens.dtype == torch.int64
        at = None if positions is None else int(positions)
        self.calls.append((name, tokens[0].tolist(), at))
        logits = torch.zeros(1, END + 1)
        logits[0, self.answer[len(self.calls) - 1]] = 9.0
        return logits


def test_a_prompt_is_read_and_each_token_is_decoded_at_its_position() -> None:
    model, tokenizer = Script("abc"), words()
    found = generate(model, tokenizer, "Hi")
    assert (found.text, found.finish) == ("abc", "end")
    prompt, answer = tokenizer.encode("Hi"), tokenizer.encode("abc")
    assert model.calls == [
        ("prefill", prompt, None),
        *(("decode", [token], 2 + n) for n, token in enumerate(answer)),
    ]
    assert found.prompt_tokens == prompt
    assert found.tokens == [*answer, END]
    assert found.tokens_per_second is not None


def test_a_model_that_writes_no_text_is_refused() -> None:
    model = Script("abc")
    model.program = SimpleNamespace(name="Bert", entries=("forward", "embed"), generics={"H": 8})
    with pytest.raises(ValueError, match="Bert is no model that writes text") as error:
        generate(model, words(), "Hi")
    assert str(error.value) == (
        "generate: Bert is no model that writes text as llama.linnet and gpt2.linnet are: it lacks "
        "the entry prefill, the entry decode, the generic Context (its entries: forward, embed)"
    )
    assert not model.calls


def test_linnet_generate_is_the_function() -> None:
    assert linnet.generate is generate
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = linnet.nothing


def test_characters_of_several_tokens_come_whole() -> None:
    pieces = list(generate(Script("é→𝄞x"), words(), "p"))
    assert pieces == ["é", "→", "𝄞", "x"]


@pytest.mark.parametrize(
    ("stop", "text"),
    [(["cd"], "ab"), (["bcx", "bcd"], "a"), (["a"], ""), (["zz"], "abcde"), (["e", "d"], "abc")],
)
def test_text_ends_before_the_first_stop_text(stop: Sequence[str], text: str) -> None:
    found = generate(Script("abcde"), words(), "p", stop=stop)
    pieces = list(found)
    assert "".join(pieces) == text
    assert found.finish == ("end" if stop == ["zz"] else "stop")
    # Nothing that may be the beginning of a stop text was given before it was certain.
    assert all(not piece.endswith("z") for piece in pieces)


def test_what_began_like_a_stop_text_is_given_when_it_is_none() -> None:
    assert list(generate(Script("abcabx"), words(), "p", stop=["abx"])) == ["abc"]
    assert list(generate(Script("ab"), words(), "p", stop=["abc"])) == ["ab"]


def test_generation_ends_after_max_tokens_and_where_the_cache_is_full() -> None:
    found = generate(Script("abcdef"), words(), "p", max_tokens=3)
    assert (found.text, found.finish, len(found.tokens)) == ("abc", "length", 3)
    model = Script("abcdef", context=4)
    found = generate(model, words(), "pq")
    assert (found.text, found.finish) == ("abc", "context")
    assert [at for _, _, at in model.calls] == [None, 2, 3]  # nothing past the last position


def test_bad_arguments_are_refused_before_anything_runs() -> None:
    model = Script("a", context=4)
    cases: list[tuple[str, Mapping[str, Any], str]] = [
        ("12345", {}, "the prompt has 5 tokens, but the model was loaded for 4"),
        ("", {}, "the prompt has no tokens"),
        ("p", {"max_tokens": 0}, "max_tokens must be 1 or more, got 0"),
        ("p", {"stop": [""]}, "a stop text must not be empty"),
        ("p", {"temperature": -1.0}, "temperature must be a number from 0 on, got -1.0"),
        ("p", {"temperature": float("nan")}, "temperature must be a number from 0 on, got nan"),
        ("p", {"top_k": 0}, "top_k must be 1 or more, got 0"),
        ("p", {"top_p": 0.0}, "top_p must be above 0 and at most 1, got 0.0"),
    ]
    for prompt, options, message in cases:
        with pytest.raises(ValueError) as caught:
            generate(model, words(), prompt, **options)
        assert message in str(caught.value)
    assert model.calls == []


def test_decode_can_be_replaced() -> None:
    model, seen = Script("abc"), []

    def decode(tokens: Tensor, positions: Tensor) -> Tensor:
        seen.append((tokens.tolist(), positions.tolist()))
        return model.run_entry("decode", [tokens, positions])

    assert generate(model, words(), "p", decode=decode).text == "abc"
    assert [position for _, position in seen] == [[1], [2], [3]]


# --- choosing ---


def draws(logits: Sequence[float], count: int = 4000, **options: Any) -> Tensor:
    sampler = Sampler(Sampling(seed=3, **options))
    chosen = torch.tensor([sampler.choose(torch.tensor(logits)) for _ in range(count)])
    return torch.bincount(chosen, minlength=len(logits)) / count


def test_greedy_takes_the_first_of_equal_logits() -> None:
    assert Sampler(Sampling()).choose(torch.tensor([0.0, 2.0, 2.0])) == 1


def test_tokens_are_drawn_by_their_shares() -> None:
    logits = torch.tensor([1.0, 0.0, 2.0, -1.0])
    found = draws(logits.tolist(), temperature=0.7)
    torch.testing.assert_close(found, torch.softmax(logits / 0.7, 0), rtol=0, atol=0.03)


def test_top_k_and_top_p_leave_only_the_most_probable() -> None:
    share = torch.tensor([0.1, 0.5, 0.15, 0.25])
    logits = share.log().tolist()
    found = draws(logits, temperature=1.0, top_k=2)
    torch.testing.assert_close(found, torch.tensor([0, 0.667, 0, 0.333]), rtol=0, atol=0.03)
    found = draws(logits, temperature=1.0, top_p=0.8)  # 0.5 + 0.25 < 0.8, so three
    torch.testing.assert_close(found, torch.tensor([0, 0.5, 0.15, 0.25]) / 0.9, rtol=0, atol=0.03)
    assert draws(logits, 50, temperature=1.0, top_p=0.2)[1] == 1


def test_equal_seeds_draw_equal_tokens() -> None:
    logits = torch.randn(50)
    for seed in (1, 2):
        one, other = (Sampler(Sampling(1.0, seed=seed)) for _ in range(2))
        assert [one.choose(logits) for _ in range(20)] == [other.choose(logits) for _ in range(20)]


def test_logits_that_are_nan_are_an_error() -> None:
    with pytest.raises(ValueError, match="logits that are NaN"):
        Sampler(Sampling()).choose(torch.tensor([0.0, float("nan")]))


# --- chat templates ---


def test_messages_go_through_the_template() -> None:
    template = (
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
        "{% if add_generation_prompt %}<reply>{% endif %}"
    )
    tokenizer, model = words(template), Script("ok")
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    assert generate(model, tokenizer, messages).text == "ok"
    assert model.calls[0][1] == tokenizer.encode("<system>s<user>u<reply>")


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (None, "has no chat template"),
        ("{{ raise_exception('only users') }}", "refuses the messages: only users"),
        ("{{ ''.__class__.__mro__ }}", "is unsafe"),
        ("{% if %}", "refuses the messages"),
    ],
)
def test_a_template_that_fails_or_tries_to_escape_is_an_error(
    template: str | None, message: str
) -> None:
    with pytest.raises(CheckpointError) as caught:
        words(template).chat([{"role": "user", "content": "u"}])
    assert message in str(caught.value)


def test_a_folder_says_what_ends_a_text(tmp_path: Path) -> None:
    words().tokenizer.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": {"content": "<end>"}}')
    assert Tokenizer.read(tmp_path).text.end == (END,)
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": [3, 4]}')
    assert Tokenizer.read(tmp_path / "tokenizer.json").text.end == (3, 4)
    padding = words().tokenizer
    padding.enable_padding(length=9)
    padding.enable_truncation(2)
    padding.save(str(tmp_path / "tokenizer.json"))
    assert len(Tokenizer.read(tmp_path).encode("abc")) == 3
    (tmp_path / "chat_template.jinja").write_text("t")
    assert Tokenizer.read(tmp_path).chat([]) == "t"
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(CheckpointError, match="is no tokenizer"):
        Tokenizer.read(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(CheckpointError, match=r"has no tokenizer\.json"):
        Tokenizer.read(tmp_path)
