"""Headers of GGUF files: good ones are read as the package `gguf` reads them, bad ones refused."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from pathlib import Path

import gguf
import pytest
from linnet_helpers.gguf_files import write_llama

from linnet.gguf import GgufError, read_header
from linnet.gguf.header import ELEMENT_TYPES


def text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def entry(key: str, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def tensor(name: str, shape: Sequence[int], element: int = 0, offset: int = 0) -> bytes:
    axes = struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
    return text(name) + axes + struct.pack("<IQ", element, offset)


def document(
    entries: Sequence[bytes] = (),
    tensors: Sequence[bytes] = (),
    data: bytes = b"",
    counts: tuple[int, int] | None = None,
) -> bytes:
    tensor_count, entry_count = counts or (len(tensors), len(entries))
    head = b"GGUF" + struct.pack("<IQQ", 3, tensor_count, entry_count)
    body = head + b"".join(entries) + b"".join(tensors)
    return body + b"\0" * (-len(body) % 32) + data


def refused(tmp_path: Path, content: bytes) -> str:
    path = tmp_path / "bad.gguf"
    path.write_bytes(content)
    with pytest.raises(GgufError) as caught:
        read_header(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


def test_the_table_of_element_types_is_that_of_the_format() -> None:
    for number, (name, block, size) in ELEMENT_TYPES.items():
        kind = gguf.GGMLQuantizationType(number)
        assert (kind.name, gguf.GGML_QUANT_SIZES[kind]) == (name, (block, size))


def test_metadata_and_tensors_are_those_that_the_package_reads(tmp_path: Path) -> None:
    path = write_llama(tmp_path / "m.gguf", kind="Q4_1")
    found, reader = read_header(path), gguf.GGUFReader(path)
    wanted = {k: f.contents() for k, f in reader.fields.items() if not k.startswith("GGUF.")}
    assert found.metadata == wanted
    assert [*found.tensors] == [t.name for t in reader.tensors]
    for other in reader.tensors:
        one = found.tensors[other.name]
        assert one.shape == tuple(reversed(other.shape.tolist()))
        assert (one.element, one.start, one.size) == (
            other.tensor_type.name,
            other.data_offset,
            other.n_bytes,
        )


def test_a_file_cut_off_anywhere_is_refused(tmp_path: Path) -> None:
    path = write_llama(tmp_path / "m.gguf")
    content = path.read_bytes()
    # `data` is the last tensor's; cuts before its end lose something.
    end = max(t.start + t.size for t in read_header(path).tensors.values())
    cuts = {*range(0, 2000, 7), *range(2000, end, 997), end - 1}
    for cut in cuts:
        refused(tmp_path, content[:cut])


def test_damaged_bytes_give_an_error_or_a_header_and_nothing_else(tmp_path: Path) -> None:
    content = write_llama(tmp_path / "m.gguf").read_bytes()
    path = tmp_path / "damaged.gguf"
    chance = random.Random(11)
    for _ in range(300):
        damaged = bytearray(content)
        for _ in range(chance.randint(1, 4)):
            damaged[chance.randrange(4, 3000)] = chance.choice((0, 1, 127, 128, 255))
        path.write_bytes(damaged)
        try:
            read_header(path)
        except GgufError as error:
            assert str(path) in str(error)  # noqa: PT017 - both outcomes are right


def test_counts_and_lengths_past_the_file_are_refused_at_once(tmp_path: Path) -> None:
    huge = 2**60
    assert "metadata of" in refused(tmp_path, document(counts=(0, huge)))
    assert "a table of" in refused(tmp_path, document(counts=(huge, 0)))
    length = struct.pack("<Q", huge)
    message = refused(tmp_path, document([length, bytes(8)], counts=(0, 1)))
    assert message.startswith(f"a metadata key at byte 32 takes at least {huge} bytes")
    assert "truncated or damaged" in message
    for inner in (0, 8, 9):
        array = entry("a", 9, struct.pack("<IQ", inner, huge))
        assert "metadata 'a' at byte" in refused(tmp_path, document([array]))


def test_arrays_nest_to_a_bound(tmp_path: Path) -> None:
    value = struct.pack("<IQ", 9, 1) * 10 + struct.pack("<IQB", 0, 1, 7)
    assert "nests arrays deeper than 4" in refused(tmp_path, document([entry("a", 9, value)]))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty, not a GGUF file"),
        (b"PK\3\4" + b"\0" * 60, "is not a GGUF file: it does not start with GGUF"),
        (b"GGUF" + struct.pack("<IQQ", 9, 0, 0), "has GGUF version 9; versions 2 and 3 can be"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "is in big-endian order"),
        (document([entry("a", 4, b"\1\0\0\0")] * 2), "has the metadata 'a' twice"),
        (document([entry("a", 13, b"\0" * 8)]), "has the value type 13, which GGUF does not have"),
        (document([text("a") + struct.pack("<IQ", 8, 2) + b"\xff\xfe"]), "is not UTF-8"),
        (
            document([entry("general.alignment", 4, struct.pack("<I", 24))]),
            "general.alignment must be a power of two, got 24",
        ),
        (document([], [tensor("t", [1] * 5)]), "has 5 axes; GGUF has at most 4"),
        (document([], [tensor("t", [4], 99)]), "has the element type 99; known are F32"),
        (document([], [tensor("t", [33], 2)], b"\0" * 99), "Q4_0 needs a multiple of 32"),
        (document([], [tensor("t", [4])] * 2, b"\0" * 99), "has the tensor 't' twice"),
        (document([], [tensor("t", [2**40, 2**40])]), "past the file's end"),
        (document([], [tensor("t", [4], 0, 2**63)]), "past the file's end"),
    ],
)
def test_what_contradicts_the_format_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    assert message in refused(tmp_path, content)
