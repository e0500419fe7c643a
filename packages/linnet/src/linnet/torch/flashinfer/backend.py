"""The back end: attention of one query a row over the first keys of a cache."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any
from weakref import WeakKeyDictionary

import torch
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
from linnet.graph import Call, Graph, fold
from linnet.torch.flashinfer.prefix import is_prefix_mask

CALLEES = tuple(
    f"std.nn.attention::{name}"
    for name in ("attention", "attention_rows", "grouped_attention", "grouped_attention_rows")
)
DTYPES = frozenset(("f16", "bf16"))
#: Major compute capabilities that its decode kernels exist for: Hopper and the Blackwells.
PROCESSORS = (9, 10, 12)
#: Positions that lie together: the largest that divides the cache's length is used.
PAGE_SIZES = (64, 32, 16)
#: What FlashInfer's documentation asks for; its kernels expect zeros at first use.
WORKSPACE = 128 * 2**20


class FlashInfer:
    """Runs attention with one query a row and a prefix mask on NVIDIA GPUs, Hopper and later.

    The cache is read where it lies: a row of it is taken for pages that follow each other.
    `library` is the module `flashinfer`; None imports it when it is needed.
    """

    name = "flashinfer"
    contract = 1

    def __init__(self, library: Any = None) -> None:
        self._library = library
        #: Each context's scratch memory: what runs in one context runs one after another.
        self._workspaces: WeakKeyDictionary[Context, Tensor] = WeakKeyDictionary()

    @property
    def version(self) -> str:
        """That of this module, with the release of FlashInfer that is installed."""
        try:
            return f"1+{metadata.version('flashinfer-python')}"
        except metadata.PackageNotFoundError:
            return "1"

    def library(self) -> Any:
        """The module. ImportError where it is not installed."""
        if self._library is None:
            self._library = importlib.import_module("flashinfer")
        return self._library

    def probe(self, target: Target) -> Capabilities | None:
        """CUDA devices from Hopper on. ImportError there without the package flashinfer-python."""
        if target.kind != "cuda" or target.capability[:1] not in {(n,) for n in PROCESSORS}:
            return None
        self.library()
        return Capabilities()

    def match(self, graph: Graph, target: Target) -> Iterator[Region]:
        """The attention calls that its decode kernels compute."""
        for callee in CALLEES:
            for call in graph.semantic_calls(callee):
                found = _decode(graph, call)
                if found is not None:
                    yield found.region

    def compile(self, region: Region, target: Target, options: Options) -> DecodeCall:
        """ValueError for a region that `match` does not offer."""
        graph = region.graph
        found = None if region.call is None else _decode(graph, graph.calls[region.call])
        if found is None or found.region.steps != region.steps:
            raise ValueError("flashinfer: the region is no decode attention with a prefix mask")
        return DecodeCall(self, found)

    def estimate_cost(self, region: Region, target: Target) -> Cost | None:
        """Nothing is known without running."""
        return None

    def workspace(self, context: Context, device: torch.device) -> Tensor:
        """The scratch memory of a context, made at first use."""
        found = self._workspaces.get(context)
        if found is None:
            found = torch.zeros(WORKSPACE, dtype=torch.uint8, device=device)
            self._workspaces[context] = found
        return found


@dataclass(frozen=True)
class Decode:
    """A decode attention: where its tensors come from (a place among the inputs, or a path), the
    scale of its scores, and the positions in a page of the cache.
    """

    region: Region
    tensors: Mapping[str, int | str]
    scale: float
    page: int


def _decode(graph: Graph, call: Call) -> Decode | None:
    """How FlashInfer computes a call, or None where it does not."""
    numbers = {name: call.argument(name) for name in ("query", "key", "value", "mask", "scale")}
    if not all(isinstance(number, int) for number in numbers.values()):
        return None
    query, key, value, mask, scale = (int(str(numbers[name])) for name in numbers)
    shape, dtype = graph.values[query].shape, graph.values[query].dtype
    length = graph.values[key].shape[2]
    page = next((size for size in PAGE_SIZES if length % size == 0), None)
    factor = fold(graph, scale)
    if (
        factor is None
        or page is None
        or 0 in graph.values[key].shape
        or shape[2] != 1
        or dtype not in DTYPES
        or shape[3] % 16 != 0
        or shape[3] > 256
        or not is_prefix_mask(graph, mask)
    ):
        return None
    region = Region.of(graph, call.start, call.stop, call.index)
    if region.problem is not None or region.outputs != call.results:
        return None
    places: dict[str, int | str] = {}
    for name, number in (("query", query), ("key", key), ("value", value), ("mask", mask)):
        if number in region.inputs:
            places[name] = region.inputs.index(number)
        elif number in graph.paths:
            places[name] = graph.paths[number]
        else:
            return None
    return Decode(region, places, float(factor), page)


class DecodeCall:
    """One decode attention. Lengths are counted from the mask, so a graph replays any of them."""

    def __init__(self, backend: FlashInfer, decode: Decode) -> None:
        self._backend = backend
        self._decode = decode
        graph = decode.region.graph
        self._out = graph.values[decode.region.outputs[0]].shape
        self._pages: Tensor | None = None
        self._zero: Tensor | None = None
        self.meta = ExecutableMeta(decode.region.states_read, holds=WORKSPACE)

    def prepare(self, context: Context) -> None:
        """Nothing depends on weights."""

    def execute(
        self, inputs: Sequence[Tensor], outputs: Sequence[Tensor | None], context: Context
    ) -> list[Tensor]:
        """The contract's. A row that sees no key gives zeros, as in the source."""
        tensors = {
            name: inputs[place] if isinstance(place, int) else context.parameters[place]
            for name, place in self._decode.tensors.items()
        }
        query, mask = tensors["query"], tensors["mask"]
        key, value = tensors["key"].contiguous(), tensors["value"].contiguous()
        batch, heads, _, width = query.shape
        if self._pages is None or self._zero is None:
            self._pages = page_table(key.shape, self._decode.page, query.device)
            self._zero = torch.zeros((), dtype=query.dtype, device=query.device)
        seen = mask.reshape(-1, mask.shape[-1]).expand(batch, -1)
        lengths = seen.sum(dim=1, dtype=torch.int32).clamp_(min=1)
        made = query.new_empty((batch, heads, width))
        self._backend.library().decode.trtllm_batch_decode_with_kv_cache(
            query=query.reshape(batch, heads, width),
            kv_cache=(paged(key, self._decode.page), paged(value, self._decode.page)),
            workspace_buffer=self._backend.workspace(context, query.device),
            block_tables=self._pages,
            seq_lens=lengths,
            max_seq_len=key.shape[2],
            bmm1_scale=self._decode.scale,
            bmm2_scale=1.0,
            kv_layout="HND",
            out=made,
        )
        alive = seen[:, :1].reshape(batch, 1, 1, 1)
        whole = made.reshape(self._out)
        if outputs[0] is None:
            return [torch.where(alive, whole, self._zero)]
        torch.where(alive, whole, self._zero, out=outputs[0])
        return [outputs[0]]


def paged(cache: Tensor, page: int) -> Tensor:
    """A contiguous cache [B, H, S, D] as pages [n, H, page, D] in the same memory. Page p starts at
    position p * page of the memory's rows of D; `page_table` tells which ones a row of the cache
    consists of.
    """
    batch, heads, length, width = cache.shape
    count = ((batch - 1) * heads + 1) * (length // page)
    return cache.as_strided((count, heads, page, width), (page * width, length * width, width, 1))


def page_table(shape: Sequence[int], page: int, device: torch.device) -> Tensor:
    """i32 [B, pages of a row]: the pages of each row of a cache of `shape` [B, H, S, D]."""
    batch, heads, length, _ = shape
    pages = length // page
    first = torch.arange(batch, dtype=torch.int32, device=device) * (heads * pages)
    return first[:, None] + torch.arange(pages, dtype=torch.int32, device=device)
