"""Conversions of GGUF files: their numbers, their layout, and that they happen once and whole."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from linnet_helpers.gguf_files import SIZES, SPECIAL, byte_tokens, llama_tensors, write_llama
from safetensors.torch import load_file

from linnet import gguf
from linnet.gguf import GgufError, read_header
from linnet.gguf.llama import read_llama
from linnet.gguf.words import text_of, write_tokenizer


def paired(rows: Any, heads: int) -> Any:
    """Rows of heads as GGUF keeps them: row i and row i + half next to each other."""
    return rows.reshape(heads, 2, -1, rows.shape[-1]).swapaxes(1, 2).reshape(rows.shape)


def halves(block: bytes, at: int, count: int = 1) -> Any:
    return np.frombuffer(block, np.float16, count, at).astype(np.float64)


def plain_q4_0(block: bytes) -> list[float]:
    (scale,) = halves(block, 0)
    return [scale * ((b & 15) - 8) for b in block[2:]] + [scale * ((b >> 4) - 8) for b in block[2:]]


def plain_q4_1(block: bytes) -> list[float]:
    scale, least = halves(block, 0, 2)
    low = [scale * (b & 15) + least for b in block[4:]]
    return low + [scale * (b >> 4) + least for b in block[4:]]


def plain_q8_0(block: bytes) -> list[float]:
    (scale,) = halves(block, 0)
    return [scale * b for b in np.frombuffer(block, np.int8, 32, 2).tolist()]


def plain_q4_k(block: bytes) -> list[float]:
    scale, least = halves(block, 0, 2)
    packed, digits = block[4:16], block[16:]
    found: list[float] = []
    for part in range(8):
        if part < 4:
            s, m = packed[part] & 63, packed[part + 4] & 63
        else:
            s = (packed[part + 4] & 15) | (packed[part - 4] >> 6 << 4)
            m = (packed[part + 4] >> 4) | (packed[part] >> 6 << 4)
        row = digits[part // 2 * 32 : part // 2 * 32 + 32]
        found += [scale * s * (b >> 4 if part % 2 else b & 15) - least * m for b in row]
    return found


def plain_q6_k(block: bytes) -> list[float]:
    low, high = block[:128], block[128:192]
    scales = np.frombuffer(block, np.int8, 16, 192).tolist()
    (scale,) = halves(block, 208)
    found = []
    for n in range(256):
        half, rest = divmod(n, 128)
        quarter, column = divmod(rest, 32)
        byte = low[half * 64 + quarter % 2 * 32 + column]
        digit = byte >> 4 if quarter >= 2 else byte & 15
        digit |= (high[half * 32 + column] >> 2 * quarter & 3) << 4
        found.append(scale * scales[n // 16] * (digit - 32))
    return found


PLAIN = {
    "Q4_0": (18, plain_q4_0),
    "Q4_1": (20, plain_q4_1),
    "Q8_0": (34, plain_q8_0),
    "Q4_K": (144, plain_q4_k),
    "Q6_K": (210, plain_q6_k),
}


@pytest.mark.parametrize("kind", PLAIN)
def test_blocks_of_few_bits_give_the_numbers_of_the_format(kind: str) -> None:
    from linnet.gguf.convert import _values
    from linnet.gguf.header import StoredTensor
    from linnet.gguf.llama import Part

    size, plain = PLAIN[kind]
    random = np.random.default_rng(5)
    blocks = random.integers(0, 256, (6, size), dtype=np.uint8)
    scale_at = {"Q6_K": (208,), "Q4_1": (0, 2), "Q4_K": (0, 2)}.get(kind, (0,))
    for at in scale_at:  # random bits could make the scales infinite
        chosen = random.uniform(0.01, 2, 6).astype(np.float16)
        blocks[:, at : at + 2] = chosen.view(np.uint8).reshape(6, 2)
    wanted = np.array([plain(bytes(block)) for block in blocks])
    stored = StoredTensor("t", wanted.shape, kind, 0, blocks.size)
    found = _values(blocks.ravel(), Part("t", stored))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", ["F32", "F16", "BF16", "Q8_0", "Q4_1"])
def test_a_file_is_converted_to_linnet_paths_and_head_order(tmp_path: Path, kind: str) -> None:
    tensors = llama_tensors()
    path = write_llama(tmp_path / "m.gguf", tensors, kind)
    found = gguf.convert(path)
    assert (found.family, found.dtype, found.positions) == ("llama", "f32", 128)
    assert found.generics == SIZES
    assert found.fixed_inputs == {"base": 5000.0, "eps": pytest.approx(1e-5)}
    weights = load_file(found.weights)
    assert len(weights) == len(tensors)
    step = {"F32": 0.0, "F16": 1e-3, "BF16": 8e-3, "Q8_0": 1e-2, "Q4_1": 0.12}[kind]
    query = tensors["blk.1.attn_q.weight"]
    stored = weights["model.layers.1.self_attn.q_proj.weight"].numpy()
    np.testing.assert_allclose(paired(stored, SIZES["Heads"]), query, rtol=step, atol=step)
    plain = weights["model.layers.0.mlp.down.weight"].numpy()
    np.testing.assert_allclose(plain, tensors["blk.0.ffn_down.weight"], rtol=step, atol=step)


def test_the_dtype_of_a_conversion_is_chosen(tmp_path: Path) -> None:
    path = write_llama(tmp_path / "m.gguf")
    wide, narrow = gguf.convert(path), gguf.convert(path, dtype="bf16")
    assert wide.weights != narrow.weights
    one, other = load_file(wide.weights), load_file(narrow.weights)
    for name, tensor in one.items():
        assert torch.equal(tensor.bfloat16(), other[name])
    assert gguf.convert(path, dtype="bfloat16").weights == narrow.weights
    listed = r"one of f32 \(float32\), bf16 \(bfloat16\), f16 \(float16\), got 'int8'"
    with pytest.raises(ValueError, match=listed):
        gguf.convert(path, dtype="int8")


def test_equal_contents_are_converted_once(tmp_path: Path, linnet_home: Path) -> None:
    path = write_llama(tmp_path / "m.gguf")
    first = gguf.convert(path)
    before = first.weights.stat()
    copy = tmp_path / "copy.gguf"
    copy.write_bytes(path.read_bytes())
    second = gguf.convert(copy)
    assert second == first
    assert second.weights.stat().st_ino == before.st_ino
    write_llama(path, llama_tensors(seed=1))
    assert gguf.convert(path).weights != first.weights
    kept = [p for p in (linnet_home / "models").iterdir() if p.is_dir() and p.name != "known"]
    assert len(kept) == 2


def test_a_second_start_does_not_read_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_llama(tmp_path / "m.gguf")
    first = gguf.convert(path)
    opened = Path.open

    def refuse(self: Path, *args: Any, **kwargs: Any) -> Any:
        assert self != path, "the file was opened again"
        return opened(self, *args, **kwargs)

    monkeypatch.setattr(Path, "open", refuse)
    assert gguf.convert(path) == first


def test_a_damaged_conversion_is_made_again(tmp_path: Path) -> None:
    path = write_llama(tmp_path / "m.gguf")
    weights = gguf.convert(path).weights
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-8])
    assert gguf.convert(path).weights.read_bytes() == whole
    (weights.parent / "checkpoint.json").write_text("{")
    assert gguf.convert(path).weights.read_bytes() == whole


def test_processes_at_once_make_one_conversion(tmp_path: Path, linnet_home: Path) -> None:
    path = write_llama(tmp_path / "m.gguf")
    code = f"from linnet import gguf; print(gguf.convert({str(path)!r}).weights.stat().st_ino)"
    running = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(3)
    ]
    found = [process.communicate(timeout=120)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0]
    assert len(set(found)) == 1
    names = [p.name for p in (linnet_home / "models").iterdir()]
    assert len([n for n in names if not n.endswith(".lock")]) == 2  # it, and `known`


def test_a_conversion_that_is_killed_is_made_again_and_leaves_nothing(
    tmp_path: Path, linnet_home: Path
) -> None:
    path = write_llama(tmp_path / "m.gguf")
    code = (
        "import os, signal\nfrom linnet import gguf\n"
        f"gguf.convert({str(path)!r}, progress=lambda *_: os.kill(os.getpid(), signal.SIGKILL))"
    )
    killed = subprocess.run([sys.executable, "-c", code], check=False)
    assert killed.returncode == -signal.SIGKILL
    left = [p.name for p in (linnet_home / "models").iterdir()]
    assert any(name.endswith(".unfinished") for name in left)
    assert len(load_file(gguf.convert(path).weights)) == len(llama_tensors())
    left = [p.name for p in (linnet_home / "models").iterdir()]
    assert not any(name.endswith(".unfinished") for name in left)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rope.scaling.type": "yarn"}, "llama.rope.scaling.type is 'yarn'; only 'none'"),
        ({"expert_count": 8}, "llama.expert_count is 8; only 0 is understood"),
        ({"attention.head_count": 5}, "do not fit one another"),
        ({"rope.dimension_count": 4}, "rotates 4 of the 8 axes of a head"),
        ({"block_count": 3}, "lacks the tensor 'blk.2.attn_norm.weight'"),
        ({"block_count": 2**31 - 1}, "says 2147483647 layers but holds"),
        ({"block_count": 1}, "tensors that llama.linnet does not know, first 'blk.1."),
        ({"feed_forward_length": 32}, "the settings say [32, 32]"),
        ({"context_length": None}, "llama.context_length must be a positive number, got None"),
        ({"attention.layer_norm_rms_epsilon": float("nan")}, "must be a positive number, got nan"),
    ],
)
def test_a_model_that_does_not_fit_is_refused_and_leaves_nothing(
    tmp_path: Path, linnet_home: Path, changes: dict[str, Any], message: str
) -> None:
    path = write_llama(tmp_path / "m.gguf", changes=changes)
    with pytest.raises(GgufError) as caught:
        gguf.convert(path)
    assert message in str(caught.value)
    kept = [p.name for p in (linnet_home / "models").iterdir()]
    assert [n for n in kept if not n.endswith(".lock")] == ["known"]


def test_another_architecture_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    content = write_llama(path).read_bytes()
    path.write_bytes(content.replace(b"\x05\0\0\0\0\0\0\0llama", b"\x05\0\0\0\0\0\0\0mamba", 1))
    with pytest.raises(GgufError, match="has the architecture 'mamba'"):
        gguf.convert(path)


def test_a_home_that_cannot_be_written_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_llama(tmp_path / "m.gguf")
    monkeypatch.setenv("LINNET_HOME", str(path))
    with pytest.raises(OSError, match=r"m\.gguf"):
        gguf.convert(path)


def test_the_tokenizer_spells_and_marks_special_tokens(tmp_path: Path) -> None:
    from linnet.generation import Tokenizer

    found = gguf.convert(write_llama(tmp_path / "m.gguf"))
    tokenizer = Tokenizer.read(found)
    tokens = byte_tokens()
    numbers = tokenizer.encode("<|begin|>AB ab<|end|>")
    assert [tokens[n] for n in numbers] == [SPECIAL[0], "A", "B", "Ġ", "ab", SPECIAL[1]]
    assert tokenizer.decode(numbers) == "AB ab"
    assert tokenizer.text.end == (1,)
    assert tokenizer.chat([{"role": "user", "content": "hello"}]) == "hello"


def test_progress_counts_the_bytes_of_the_conversion(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    found = gguf.convert(
        write_llama(tmp_path / "m.gguf"), progress=lambda *report: seen.append(report)
    )
    total = sum(tensor.nbytes for tensor in load_file(found.weights).values())
    assert seen[-1] == ("converting", total, total)
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)


ODD: tuple[Any, ...] = (
    *(None, 0, -1, 2**63, 1.5, float("nan"), True, "", "x", [], [1], ["a"], ["a", "a"], [[1]]),
    *([1.5] * 3, ["a b c"], [" "], ["a  b"], ["a b", "q z"], ["\0"]),
)


def test_metadata_of_any_kind_is_taken_or_named(tmp_path: Path) -> None:
    """Each entry missing, of another kind, or with odd contents."""
    file = read_header(write_llama(tmp_path / "m.gguf"))
    added = ("tokenizer.ggml.add_bos_token", "tokenizer.ggml.eot_token_id")
    refused, messages = set(), []
    for key in (*file.metadata, *added, "llama.attention.key_length", "llama.vocab_size"):
        for odd in ODD:
            metadata = {k: v for k, v in file.metadata.items() if k != key}
            changed = replace(file, metadata=metadata if odd is None else {**metadata, key: odd})
            try:
                rows = read_llama(changed).generics["Vocab"]
                text_of(changed)
                write_tokenizer(changed, tmp_path / "tokenizer.json", rows)
            except GgufError as error:
                refused.add(key)
                messages.append(str(error))
    expected = ("merges", "tokens", "token_type", "bos_token_id", "model", "pre")
    assert refused >= {f"tokenizer.ggml.{name}" for name in expected}
    assert "tokenizer.chat_template" in refused
    assert all(str(file.path) in message for message in messages)


def test_more_tokens_than_the_table_has_rows_are_refused(tmp_path: Path) -> None:
    file = read_header(write_llama(tmp_path / "m.gguf"))
    rows = read_llama(file).generics["Vocab"]
    with pytest.raises(GgufError, match=rf"has {rows} tokens, but token_embd\.weight has"):
        write_tokenizer(file, tmp_path / "tokenizer.json", rows - 1)
