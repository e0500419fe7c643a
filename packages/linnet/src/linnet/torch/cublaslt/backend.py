"""The back end: linear calls without a bias, alone and joined with their siblings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from torch import Tensor

from linnet.backends import (
    Capabilities,
    Context,
    Cost,
    ExecutableMeta,
    Options,
    Region,
    Target,
)
from linnet.backends.linears import PlainLinear, plain_linears, sibling_regions
from linnet.graph import Graph
from linnet.torch.cublaslt.library import Library, load_library
from linnet.torch.cublaslt.products import Products
from linnet.torch.dtypes import torch_dtype

DTYPES = frozenset(("f32", "f16", "bf16"))
#: Results past this size are left alone: some algorithms address them with 32 bits.
MOST_BYTES = 2**31 - 1


class CublasLt:
    """Runs linear calls without a bias on NVIDIA GPUs, summed in f32; f32 stays f32 throughout.

    Calls that read the same input (q, k and v) are offered as one product too, over their weights
    laid side by side. `library` is a loaded cuBLASLt; None loads PyTorch's when it is needed.
    """

    name = "cublaslt"
    version = "1"
    contract = 1

    def __init__(self, library: Library | None = None) -> None:
        self._library = library
        self._made: Products | None = None

    def probe(self, target: Target) -> Capabilities | None:
        """CUDA devices. OSError where PyTorch's cuBLASLt cannot be loaded."""
        if target.kind != "cuda":
            return None
        self.products()
        return Capabilities(DTYPES)

    def match(self, graph: Graph, target: Target) -> Iterator[Region]:
        """Each call, and the calls of one input together."""
        linears = [linear for linear in plain_linears(graph) if _fits(graph, linear)]
        for region, group in sibling_regions(graph, linears):
            if sum(_result_bytes(graph, linear) for linear in group) <= MOST_BYTES:
                yield region
        for linear in linears:
            yield linear.region(graph)

    def compile(self, region: Region, target: Target, options: Options) -> LinearCall:
        """CublasLtError where the library has no algorithm for the sizes."""
        graph = region.graph
        columns = [graph.values[number].shape[-1] for number in region.outputs]
        x = graph.values[region.inputs[0]]
        dtype = torch_dtype(x.dtype)
        rows, inner = prod(x.shape[:-1]), x.shape[-1]
        products = self.products()
        for count in {*columns, sum(columns)}:
            products.check(target.index, dtype, rows, count, inner)
        return LinearCall(products, region.parameters, columns)

    def estimate_cost(self, region: Region, target: Target) -> Cost | None:
        """Nothing is known without running."""
        return None

    def products(self) -> Products:
        """The products of the library; loads it."""
        if self._made is None:
            self._made = Products(self._library or Library(load_library()))
        return self._made


def _fits(graph: Graph, linear: PlainLinear) -> bool:
    """Whether cuBLASLt takes a call at all: one dtype, something to do, not too much."""
    region = linear.region(graph)
    if region.problem is not None or region.inputs != (linear.x,):
        return False
    x, out = graph.values[linear.x], graph.values[linear.result]
    weight = next(p for p in graph.parameters if p.path == linear.path)
    return (
        region.outputs == (linear.result,)
        and {x.dtype, out.dtype, weight.dtype} <= DTYPES
        and len({x.dtype, out.dtype, weight.dtype}) == 1
        and len(x.shape) >= 1
        and min(prod(x.shape), prod(weight.shape)) > 0
        and _result_bytes(graph, linear) <= MOST_BYTES
    )


def _result_bytes(graph: Graph, linear: PlainLinear) -> int:
    out = graph.values[linear.result]
    return prod(out.shape) * torch_dtype(out.dtype).itemsize


class LinearCall:
    """One product, or several of one input as one where their weights can be laid side by side."""

    def __init__(self, products: Products, paths: Sequence[str], columns: Sequence[int]) -> None:
        self._products = products
        self._paths = tuple(paths)
        self._columns = list(columns)
        self._joined: Tensor | None = None
        self.meta = ExecutableMeta()

    def prepare(self, context: Context) -> None:
        """Lays the weights side by side."""
        self._joined = context.join(self._paths) if len(self._paths) > 1 else None

    def execute(
        self, inputs: Sequence[Tensor], outputs: Sequence[Tensor | None], context: Context
    ) -> list[Tensor]:
        """The contract's; results of a joined product are parts of one tensor unless `outputs`
        says where they go.
        """
        x = inputs[0]
        if self._joined is None:
            return [
                self._one(x, context.parameters[path], out)
                for path, out in zip(self._paths, outputs, strict=True)
            ]
        whole = self._one(x, self._joined, None)
        parts = whole.split_with_sizes(self._columns, dim=-1)
        return [
            part if out is None else out.copy_(part)
            for part, out in zip(parts, outputs, strict=True)
        ]

    def _one(self, x: Tensor, weight: Tensor, out: Tensor | None) -> Tensor:
        shape = (*x.shape[:-1], weight.shape[0])
        made = out if out is not None and out.is_contiguous() else x.new_empty(shape)
        self._products.multiply(_rows(x), _dense(weight), made.view(-1, shape[-1]))
        return made if out is None or made is out else out.copy_(made)


def _rows(x: Tensor) -> Tensor:
    """`x` as a matrix whose rows are dense; copies what lies otherwise."""
    return _dense(x.reshape(-1, x.shape[-1]))


def _dense(matrix: Tensor) -> Tensor:
    rows, columns = matrix.shape
    good = matrix.stride(1) == 1 or columns == 1
    return matrix if good and (rows == 1 or matrix.stride(0) >= columns) else matrix.contiguous()
