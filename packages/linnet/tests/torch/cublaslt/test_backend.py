"""cuBLASLt as a back end, against a library that computes on the host what it is asked to."""

from __future__ import annotations

import ctypes

import pytest
import torch
from linnet_helpers.fake_cublaslt import FakeFunctions, FakeLibrary
from linnet_helpers.runtime import inputs, model_of
from torch import Tensor, nn

from linnet.backends import Capabilities, Target
from linnet.backends.testing import GraphBuilder, two_layer_graph
from linnet.graph import Graph
from linnet.torch.cublaslt import CublasLt
from linnet.torch.cublaslt.library import CublasLtError, Library, Matrix, load_library
from linnet.torch.cublaslt.products import Products

CUDA = Target("cuda", 0, "H200", (9, 0), torch.__version__)


class OnHost(CublasLt):
    """On the CPU, where the fake library computes."""

    def __init__(self, functions: FakeFunctions | None = None) -> None:
        self.fake = FakeLibrary(functions)
        super().__init__(self.fake)

    def probe(self, target: Target) -> Capabilities | None:
        return super().probe(CUDA)


def test_other_devices_are_declined() -> None:
    assert CublasLt().probe(Target("cpu")) is None
    assert CublasLt().probe(Target("infini")) is None


@pytest.mark.skipif(torch.version.cuda is not None, reason="this PyTorch has a cuBLASLt")
def test_a_cuda_target_without_cublaslt_is_refused_with_the_reason() -> None:
    with pytest.raises(OSError, match="built without CUDA"):
        CublasLt().probe(CUDA)


SIZES = [(1, 7, 8), (33, 1, 33), (8, 33, 1), (7, 257, 33), (3, 33, 257), (1, 8, 4097), (2, 4097, 7)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("offset", [0, 1, 8])
def test_a_product_equals_the_product_in_f64(dtype: torch.dtype, offset: int) -> None:
    products = Products(FakeLibrary(FakeFunctions(scratch=64)))
    for rows, columns, inner in SIZES:
        x, weight = shifted((rows, inner), dtype, offset), shifted((columns, inner), dtype, offset)
        out = shifted((rows, columns), dtype, offset).fill_(torch.nan)
        products.multiply(x, weight, out)
        assert torch.equal(out, (x.double() @ weight.double().T).to(dtype))


def shifted(shape: tuple[int, int], dtype: torch.dtype, offset: int) -> Tensor:
    """A random matrix that starts `offset` elements after an aligned address."""
    flat = torch.randn(shape[0] * shape[1] + offset).to(dtype)
    return flat[offset:].view(shape)


def test_an_algorithm_is_asked_for_once_for_each_size_and_alignment() -> None:
    fake = FakeFunctions()
    products = Products(FakeLibrary(fake))
    x, weight, out = torch.randn(4, 64), torch.randn(16, 64), torch.empty(4, 16)
    for _ in range(3):
        products.multiply(x, weight, out)
    assert fake.calls.count("cublasLtMatmulAlgoGetHeuristic") == 1
    assert fake.calls.count("cublasLtMatmulDescCreate") == 1
    assert fake.calls.count("cublasLtMatmul") == 3
    products.multiply(shifted((4, 64), torch.float32, 1), weight, out)
    assert fake.calls.count("cublasLtMatmulAlgoGetHeuristic") == 2
    assert fake.preferences[1].alignments[6] == 4


def test_sums_are_never_rounded_to_the_result_on_the_way_and_scratch_is_bounded() -> None:
    fake = FakeFunctions()
    Products(FakeLibrary(fake), workspace=0).check(0, torch.bfloat16, 1, 2, 3)
    (asked,) = fake.preferences
    assert asked.reductions == 3
    assert asked.workspace == 0
    assert set(asked.alignments.values()) == {2}
    with pytest.raises(CublasLtError, match=r"GetHeuristic failed: status 15, not supported"):
        Products(FakeLibrary(FakeFunctions(scratch=1)), workspace=0).check(
            0, torch.bfloat16, 1, 2, 3
        )


def three_siblings(dtype: str = "f32", bias: bool = False) -> Graph:
    builder = GraphBuilder()
    x = builder.input("x", (2, 3, 8), dtype)
    made = []
    for name, width in (("q", 12), ("k", 5), ("v", 5)):
        weight = builder.parameter(f"{name}.weight", (width, 8), dtype)
        extra = builder.parameter(f"{name}.bias", (width,), dtype) if bias else None
        made.append(builder.linear(x, weight, extra))
    return builder.graph(tuple(made))


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_siblings_of_unequal_widths_are_one_product(dtype: str) -> None:
    graph = three_siblings(dtype)
    model, backend = model_of(graph), OnHost()
    x = torch.randn(2, 3, 8).to(torch.float32 if dtype == "f32" else torch.bfloat16)
    plan = model.plan_for("forward", [x], [backend], measure=False)
    (item,) = plan.regions
    assert len(item.region.steps) == 3
    made = plan.run([x], model.context_for(plan))
    expected = model.run_entry("forward", [x], compile=False)
    for one, other in zip(made, expected, strict=True):
        assert torch.allclose(one, other, rtol=1e-2 if dtype == "bf16" else 1e-5, atol=1e-5)
    assert backend.fake.fake.calls.count("cublasLtMatmul") == 1


def test_siblings_that_cannot_be_joined_are_products_of_their_own() -> None:
    model, backend = model_of(three_siblings()), OnHost()
    tied = nn.Parameter(torch.randn(5, 8), requires_grad=False)
    model.get_submodule("k")._parameters["weight"] = tied
    model.get_submodule("v")._parameters["weight"] = tied
    x = torch.randn(2, 3, 8)
    plan = model.plan_for("forward", [x], [backend], measure=False)
    made = plan.run([x], model.context_for(plan))
    assert backend.fake.fake.calls.count("cublasLtMatmul") == 3
    assert torch.equal(made[1], made[2])
    for one, other in zip(made, model.run_entry("forward", [x], compile=False), strict=True):
        assert torch.allclose(one, other, rtol=1e-5, atol=1e-5)


def test_it_conforms_on_a_model_and_writes_to_the_outputs_it_is_given() -> None:
    model, backend = model_of(two_layer_graph(joined=True)), OnHost()
    findings = model.conform("forward", inputs(), backend, tolerance=1e-3, stress=True)
    assert findings
    assert all(finding.passed for finding in findings), findings
    plan = model.plan_for("forward", inputs(), [backend], measure=False)
    context = model.context_for(plan)
    for item in plan.regions:
        x = torch.randn(plan.graph.values[item.inputs[0]].shape)
        shapes = [plan.graph.values[number].shape for number in item.outputs]
        outputs = [torch.full(shape, torch.nan) for shape in shapes]
        plain = item.executable.execute([x], [None] * len(outputs), context)
        made = item.executable.execute([x], outputs, context)
        assert all(a is b for a, b in zip(made, outputs, strict=True))
        assert all(torch.equal(a, b) for a, b in zip(made, plain, strict=True))


def test_strided_inputs_and_weights_are_right() -> None:
    model, backend = model_of(three_siblings()), OnHost()
    x = torch.randn(3, 2, 8).transpose(0, 1)
    weight = torch.randn(8, 5).T  # its rows are not dense
    model.get_submodule("k")._parameters["weight"] = nn.Parameter(weight, requires_grad=False)
    plan = model.plan_for("forward", [x], [backend], measure=False)
    made = plan.run([x], model.context_for(plan))
    for one, other in zip(made, model.run_entry("forward", [x], compile=False), strict=True):
        assert torch.allclose(one, other, rtol=1e-5, atol=1e-5)


def no_size(rows: int) -> Graph:
    builder = GraphBuilder()
    x = builder.input("x", (rows, 8))
    return builder.graph(builder.linear(x, builder.parameter("weight", (4, 8))))


def computed_weight() -> Graph:
    builder = GraphBuilder()
    x, weight = builder.input("x", (3, 8)), builder.parameter("weight", (4, 8))
    return builder.graph(builder.linear(x, builder.step("neg", weight)))


def past_two_gibibytes() -> Graph:
    builder = GraphBuilder()
    x = builder.input("x", (2**16, 8), "f16")
    return builder.graph(builder.linear(x, builder.parameter("weight", (2**14, 8), "f16")))


@pytest.mark.parametrize(
    "graph",
    [
        three_siblings(bias=True),
        three_siblings("f64"),
        no_size(0),
        computed_weight(),
        past_two_gibibytes(),
    ],
    ids=["bias", "f64", "no rows", "computed weight", "past 2 GiB"],
)
def test_what_it_does_not_compute_is_not_offered(graph: Graph) -> None:
    assert list(OnHost().match(graph, CUDA)) == []


def test_sizes_without_an_algorithm_are_refused_and_the_others_run() -> None:
    backend = OnHost(FakeFunctions(refuses=lambda rows, columns, inner: columns == 12))
    model = model_of(three_siblings())
    x = torch.randn(2, 3, 8)
    plan = model.plan_for("forward", [x], [backend], measure=False)
    assert len(plan.regions) == 2
    reasons = [r.reason for r in plan.refusals if r.region is not None]
    assert any("GetHeuristic failed: status 15, not supported" in reason for reason in reasons)
    made = plan.run([x], model.context_for(plan))
    for one, other in zip(made, model.run_entry("forward", [x], compile=False), strict=True):
        assert torch.allclose(one, other, rtol=1e-5, atol=1e-5)


def test_a_product_that_fails_is_named() -> None:
    products = Products(FakeLibrary())
    x, weight, out = torch.randn(4, 64), torch.randn(16, 64), torch.empty(4, 16)
    products.multiply(x, weight, out)
    (product,) = products._known.values()
    with pytest.raises(CublasLtError, match="cublasLtMatmul failed: status 13, execution failed"):
        product.run(x.data_ptr() + 4, weight.data_ptr(), out.data_ptr(), 0)


@pytest.mark.skipif(torch.version.cuda is None, reason="needs the cuBLASLt of a CUDA PyTorch")
def test_a_matrix_has_the_sizes_it_was_made_with_in_the_library_too() -> None:
    library = Library(load_library())
    matrix = Matrix(library, torch.bfloat16, 11, 22, 33)
    for attribute, size, expected in ((0, 4, 14), (2, 8, 11), (3, 8, 22), (4, 8, 33)):
        value, written = ctypes.c_uint64(), ctypes.c_size_t()
        library.call(
            "cublasLtMatrixLayoutGetAttribute",
            matrix.handle,
            attribute,
            ctypes.byref(value),
            ctypes.c_size_t(size),
            ctypes.byref(written),
        )
        assert value.value == expected
