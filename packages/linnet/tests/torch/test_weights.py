"""Weights: every problem is listed before anything is copied, and files are mapped, not read."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from linnet.torch import GraphProgram, WeightsError, load, load_program
from linnet.torch.weights import Declared, match_weights, read_headers

BLOCK = """module demo
use std.nn.linear::{Linear}

pub block Model<H: Dim, T: Float = f32> {
    param gain: Tensor[H; T]
    param shift: Tensor[H; T]? = none
    sub head: Linear<H, H, T>? = none
    sub units: [Linear<H, H, T>; 2]

    pub entry forward<B: Dim>(x: Tensor[B, H; T]) -> Tensor[B, H; T] {
        var y = x * gain
        static for unit in units {
            y = unit.forward(y)
        }
        let moved = match shift {
            some(s) => y + s
            none => y
        }
        return match head {
            some(h) => h.forward(moved)
            none => moved
        }
    }
}
"""


def weights(**more: Tensor) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(0)
    paths = {"gain": (4,), "units.0.weight": (4, 4), "units.1.weight": (4, 4)}
    made = {path: torch.randn(shape, generator=generator) for path, shape in paths.items()}
    return {**made, **more}


def load_block(given: Any, **options: Any) -> Any:
    return load(BLOCK, generics={"H": 4}, weights=given, **options)


def expected(given: dict[str, Tensor], x: Tensor) -> Tensor:
    y = x * given["gain"]
    for n in range(2):
        y = y @ given[f"units.{n}.weight"].T
        y = y + given.get(f"units.{n}.bias", torch.zeros(4))
    y = y + given.get("shift", torch.zeros(4))
    return y @ given["head.weight"].T if "head.weight" in given else y


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"shift": torch.ones(4)},
        {"head.weight": torch.eye(4) * 2},
        {"units.1.bias": torch.ones(4)},
    ],
    ids=["none", "parameter", "child", "parameter-of-one"],
)
@pytest.mark.parametrize("compile", [None, False])
def test_what_is_optional_may_be_absent(more: dict[str, Tensor], compile: bool | None) -> None:
    given = weights(**more)
    x = torch.randn(3, 4)
    model = load_block(given, compile=compile)
    assert torch.allclose(model(x), expected(given, x), rtol=1e-5, atol=1e-5)
    assert (model.get_submodule("head") is not None) if "head.weight" in more else True


def test_every_problem_is_listed_in_one_error() -> None:
    given = weights(extra=torch.ones(1), shift=torch.ones(5), gain=torch.ones(4).double())
    del given["units.1.weight"]
    with pytest.raises(WeightsError) as caught:
        load_block(given)
    assert str(caught.value).splitlines() == [
        "weights do not fit the model, 4 problems:",
        "  dtype: gain: expected f32[4], got f64[4]; cast_dtype=True converts",
        "  shape: shift: expected f32[4], got f32[5]",
        "  missing: units.1.weight, f32[4, 4]",
        "  unexpected: extra",
    ]


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        (
            {"gain": torch.ones(2).to_sparse()},
            "gain: expected a dense tensor, got a tensor of layo",
        ),
        ({"gain": torch.ones(2, device="meta")}, "gain: expected a dense tensor, got a meta tens"),
        ({"gain": None}, "gain: expected a tensor, got NoneType"),
        ([1], "expected the path of a file or folder, or tensors by name, got list"),
    ],
    ids=["sparse", "meta", "none", "list"],
)
def test_what_is_no_set_of_dense_tensors_is_refused(weights: Any, text: str) -> None:
    with pytest.raises(WeightsError, match=text):
        read_headers(weights)


def test_unexpected_tensors_are_allowed_where_not_strict() -> None:
    given = weights(extra=torch.ones(1))
    x = torch.randn(2, 4)
    assert torch.allclose(load_block(given, strict=False)(x), expected(given, x), atol=1e-5)


def test_a_child_that_lacks_a_required_weight_is_absent_and_the_rest_of_it_unexpected() -> None:
    with pytest.raises(WeightsError, match=r"1 problem:\n  unexpected: head.bias"):
        load_block(weights(**{"head.bias": torch.ones(4)}))


def test_other_floating_dtypes_are_converted_on_request_only() -> None:
    given = {path: tensor.to(torch.float64) for path, tensor in weights().items()}
    with pytest.raises(WeightsError, match="cast_dtype=True converts"):
        load_block(given)
    model = load_block(given, cast_dtype=True)
    assert model.tensor("gain").dtype == torch.float32
    with pytest.raises(WeightsError, match=r"expected f32\[4\], got i64\[4\]$"):
        load_block({**given, "gain": torch.ones(4, dtype=torch.int64)}, cast_dtype=True)


def test_bindings_rename() -> None:
    given = weights()
    renamed = {("scale" if path == "gain" else path): t for path, t in given.items()}
    model = load_block(renamed, bindings={"gain": "scale"})
    assert torch.equal(model.tensor("gain"), given["gain"])
    with pytest.raises(WeightsError) as caught:
        load_block(renamed, bindings={"gain": "other", "nothing": "scale"})
    assert "missing: gain (as 'other'), f32[4]" in str(caught.value)
    assert "bindings: the model has no nothing" in str(caught.value)


def test_two_paths_may_share_one_stored_tensor() -> None:
    given = weights()
    del given["units.1.weight"]
    model = load_block(given, bindings={"units.1.weight": "units.0.weight"})
    x = torch.randn(2, 4)
    both = {**given, "units.1.weight": given["units.0.weight"]}
    assert torch.allclose(model(x), expected(both, x), rtol=1e-5, atol=1e-5)


def stored(folder: Path, parts: int, given: dict[str, Tensor]) -> Path:
    """An index with its files, or one file."""
    if parts == 1:
        save_file(given, folder / "model.safetensors")
        return folder / "model.safetensors"
    places = {}
    for n in range(parts):
        own = {p: t for k, (p, t) in enumerate(given.items()) if k % parts == n}
        save_file(own, folder / f"part{n}.safetensors")
        places.update(dict.fromkeys(own, f"part{n}.safetensors"))
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": places}))
    return index


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("by_folder", [False, True])
def test_files_folders_and_indices_load(tmp_path: Path, parts: int, by_folder: bool) -> None:
    given = weights()
    path = stored(tmp_path, parts, given)
    model = load_block(tmp_path if by_folder else str(path))
    for name, tensor in given.items():
        assert torch.equal(model.tensor(name), tensor)


def test_a_folder_without_an_index_gives_all_its_files(tmp_path: Path) -> None:
    stored(tmp_path, 2, weights()).unlink()
    assert torch.equal(load_block(tmp_path).tensor("gain"), weights()["gain"])


def test_weights_in_a_file_are_mapped_and_not_written(tmp_path: Path) -> None:
    path = stored(tmp_path, 1, weights())
    before = path.read_bytes()
    model = load_block(path)
    maps = Path("/proc/self/maps").read_text()
    assert str(path) in maps
    with torch.no_grad():
        model.get_parameter("gain").zero_()
    assert path.read_bytes() == before


LOADING = """
import resource, sys
from linnet.torch import load
source, generics, weights, dtype = sys.argv[1], {"H": 1024, "L": 16}, sys.argv[2], sys.argv[3]
import torch
x = torch.ones(1, 1024, dtype=getattr(torch, dtype))
load(source, generics={**generics, "L": 0, "T": "f32"}).forward(x.float())

def anonymous():
    fields = dict(line.split(":") for line in open("/proc/self/status") if ":" in line)
    return int(fields["RssAnon"].split()[0]) * 1024

before, held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, anonymous()
model = load(
    source,
    generics={**generics, "T": {"float32": "f32", "bfloat16": "bf16"}[dtype]},
    weights=weights,
    cast_dtype=True,
)
model.forward(x)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print((peak - before) * 1024, anonymous() - held)
"""

TOWER = """module tower
use std.nn.linear::{Linear}

pub block Tower<H: Dim, L: Dim, T: Float> {
    sub layers: [Linear<H, H, T>; L]

    pub entry forward<B: Dim>(x: Tensor[B, H; T]) -> Tensor[B, H; T] {
        var y = x
        static for layer in layers {
            y = layer.forward(y)
        }
        return y
    }
}
"""


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_loading_takes_the_memory_of_one_copy(tmp_path: Path, dtype: str) -> None:
    """64 MiB of f32 weights: mapped, they take their size; converted, that of the result."""
    (tmp_path / "tower.linnet").write_text(TOWER)
    save_file(
        {f"layers.{n}.weight": torch.randn(1024, 1024) for n in range(16)},
        tmp_path / "tower.safetensors",
    )
    given = [str(tmp_path / name) for name in ("tower.linnet", "tower.safetensors")]
    done = subprocess.run(
        [sys.executable, "-c", LOADING, *given, dtype], capture_output=True, text=True, check=True
    )
    peak, anonymous = map(int, done.stdout.split())
    stored = 16 * 2**22
    slack = 12 * 2**20
    if dtype == "float32":
        assert peak < stored + slack
        assert anonymous < slack
    else:
        # Pages of the file come and go; what the process holds itself is the converted copy.
        assert anonymous < stored / 2 + slack


def header(document: Any, body: bytes = b"") -> bytes:
    text = json.dumps(document).encode()
    return struct.pack("<Q", len(text)) + text + body


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00" * 4,
        struct.pack("<Q", 2**62) + b"{}",
        header({"gain": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}, b"\0" * 8),
        header({"gain": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 16]}}, b"\0" * 16),
        header({"gain": {"dtype": "F32", "shape": [4], "data_offsets": [-4, 12]}}, b"\0" * 16),
        struct.pack("<Q", 5) + b"{not ",
        header([1, 2]),
        header({"gain": {"dtype": "F32", "shape": [-4], "data_offsets": [0, 16]}}, b"\0" * 16),
        header({"gain": {"dtype": "F33", "shape": [4], "data_offsets": [0, 16]}}, b"\0" * 16),
        header({"gain": {"dtype": "F32", "shape": [2**62, 4], "data_offsets": [0, 0]}}),
        header(
            {
                name: {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}
                for name in ("gain", "twin")
            },
            b"\0" * 16,
        ),
        header({"gain": {"dtype": "F32", "shape": [4], "data_offsets": [16, 32]}}, b"\0" * 32),
        header({"gain": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}, b"\0" * 99),
        struct.pack("<Q", 2**20) + b"[" * 2**20,
        struct.pack("<Q", 8) + b"\xff\xfe{}    ",
    ],
    ids=[
        "empty",
        "short",
        "huge-header",
        "truncated",
        "too-large",
        "negative",
        "not-json",
        "list",
        "negative-shape",
        "unknown-dtype",
        "overflow",
        "overlap",
        "hole",
        "rest",
        "deep",
        "not-utf8",
    ],
)
def test_a_broken_file_is_a_clear_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    with pytest.raises(WeightsError, match=r"model\.safetensors: is no readable SafeTensors file"):
        load_block(path)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("{", "cannot be read as an index"),
        ("[]", "has no `weight_map`"),
        ('{"weight_map": {"gain": 1}}', "has no `weight_map`"),
        ('{"weight_map": {"gain": "../secret.safetensors"}}', "which is not beside it"),
        ('{"weight_map": {"gain": "/etc/passwd"}}', "which is not beside it"),
        ('{"weight_map": {"gain": "gone.safetensors"}}', "is no readable SafeTensors file"),
        ('{"weight_map": {"gone": "part0.safetensors"}}', "names the tensor 'gone'"),
    ],
)
def test_a_broken_index_is_a_clear_error(tmp_path: Path, content: str, text: str) -> None:
    stored(tmp_path, 2, weights()).write_text(content)
    with pytest.raises(WeightsError, match=text):
        load_block(tmp_path)


def test_a_tensor_in_two_files_of_a_folder_is_an_error(tmp_path: Path) -> None:
    save_file(weights(), tmp_path / "a.safetensors")
    save_file(weights(), tmp_path / "b.safetensors")
    with pytest.raises(WeightsError, match=r"b\.safetensors: holds the tensor 'gain'"):
        load_block(tmp_path)


def test_missing_places_say_so(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="there is no such file or folder"):
        load_block(tmp_path / "gone.safetensors")
    with pytest.raises(WeightsError, match=r"has neither model\.safetensors\.index\.json nor"):
        load_block(tmp_path)


def test_headers_alone_are_read_for_the_comparison(tmp_path: Path) -> None:
    save_file({"w": torch.ones(2, 3, dtype=torch.bfloat16)}, tmp_path / "w.safetensors")
    (offer,) = read_headers(tmp_path).values()
    assert (offer.name, offer.shape, offer.dtype) == ("w", (2, 3), "bf16")
    assert offer.tensor is None


def test_states_need_no_weights() -> None:
    declared = [Declared("cache", "state", (2,), "f32")]
    assert match_weights(declared, {}, bindings={}, strict=True, cast_dtype=False) == {}


def test_generics_that_break_the_block_are_refused_at_load() -> None:
    source = BLOCK.replace(
        "T: Float = f32> {\n    param gain", "T: Float = f32>\nwhere H % 3 == 0 {\n    param gain"
    )
    with pytest.raises(ValueError, match=r"block Model needs \(H % 3\) == 0, which H = 4 breaks"):
        load(source, generics={"H": 4}, weights=weights())


def test_unknown_numerics_are_refused() -> None:
    with pytest.raises(ValueError, match="numerics must be one of exact, equivalent, fast"):
        load_program(GraphProgram.__new__(GraphProgram), numerics="sloppy")


def test_an_unknown_device_is_told_those_that_there_are() -> None:
    source = "module m\npub entry run(x: Tensor[2; f32]) -> Tensor[2; f32] { return x }\n"
    here = torch.accelerator.current_accelerator(check_available=True)
    known = "cpu" if here is None else f"cpu, {here.type}"
    with pytest.raises(ValueError, match=f"no device 'nonsense' here; there are: {known} "):
        load(source, device="nonsense")


@pytest.mark.parametrize("device", ["cuda:99", "xpu:99"])
def test_a_device_that_cannot_be_used_is_named(device: str) -> None:
    source = "module m\npub entry run(x: Tensor[2; f32]) -> Tensor[2; f32] { return x }\n"
    with pytest.raises(ValueError, match=f"load: device '{device}' cannot be used: "):
        load(source, device=device)
