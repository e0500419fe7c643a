"""FlashInfer as a back end, against a module that computes on the host what it is asked to."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from linnet_helpers.decoder import decoder

from linnet.backends import Capabilities, Target
from linnet.torch import LinnetModule, load
from linnet.torch.flashinfer import FlashInfer
from linnet.torch.flashinfer.backend import page_table, paged
from linnet.torch.planned import Captured

HOPPER = Target("cuda", 0, "H200", (9, 0), torch.__version__)

ATTENTION = """
module demo
use std.nn.attention::{attention_rows}
use std.nn.cache::{write_rows}

pub block Model<B: Dim, H: Dim, K: Dim, D: Dim, T: Float> {
    state keys: Tensor[B, H, K, D; T]
    state values: Tensor[B, H, K, D; T]

    pub entry step(query: Tensor[B, H, 1, D; T], at: Tensor[B; i64]) -> Tensor[B, H, 1, D; T] {
        let seen[b, q, k] = iota(K)[k] <= at[b] + iota(1)[q]
        return attention_rows(query, keys, values, SCALE, seen)
    }
}
"""


class HostFlashInfer:
    """`flashinfer.decode` on the host: reads pages through the table, up to each row's length."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.decode = SimpleNamespace(trtllm_batch_decode_with_kv_cache=self._decode)

    def _decode(self, **given: Any) -> None:
        self.calls.append(given)
        assert given["kv_layout"] == "HND"
        assert given["bmm2_scale"] == 1.0
        assert given["workspace_buffer"].dtype == torch.uint8
        query, tables, out = given["query"], given["block_tables"], given["out"]
        keys, values = given["kv_cache"]
        assert query.is_contiguous()
        assert out.is_contiguous()
        assert tables.dtype == given["seq_lens"].dtype == torch.int32
        assert keys.stride(3) == values.stride(3) == 1
        assert keys.shape[2] in (16, 32, 64)
        for row, length in enumerate(given["seq_lens"].tolist()):
            assert 1 <= length <= given["max_seq_len"]
            k, v = (
                torch.cat([cache[page] for page in tables[row].tolist()], dim=1)[:, :length]
                for cache in (keys, values)
            )
            group = query.shape[1] // k.shape[0]
            k, v = (t.double().repeat_interleave(group, 0) for t in (k, v))
            scores = torch.einsum("hd,hkd->hk", query[row].double(), k) * given["bmm1_scale"]
            mixed = torch.einsum("hk,hkd->hd", scores.softmax(-1), v)
            out[row].copy_(mixed)


class OnHost(FlashInfer):
    """On the CPU, where the module above computes."""

    def __init__(self) -> None:
        self.module = HostFlashInfer()
        super().__init__(self.module)

    def probe(self, target: Target) -> Capabilities | None:
        return super().probe(HOPPER)


@pytest.mark.parametrize(
    "target",
    [Target("cpu"), Target("infini"), Target("cuda", 0, "A100", (8, 0)), Target("cuda")],
    ids=lambda target: f"{target.kind} {target.capability}",
)
def test_devices_before_hopper_are_declined(target: Target) -> None:
    assert FlashInfer(HostFlashInfer()).probe(target) is None


@pytest.mark.parametrize("capability", [(9, 0), (10, 0), (12, 0)])
def test_hopper_and_later_are_taken(capability: tuple[int, int]) -> None:
    assert FlashInfer(HostFlashInfer()).probe(Target("cuda", 0, "", capability)) is not None


def test_without_the_package_the_reason_names_it() -> None:
    with pytest.raises(ImportError, match="flashinfer"):
        FlashInfer().probe(HOPPER)


def test_every_layers_decode_attention_is_taken_and_right_at_any_position() -> None:
    model, backend = decoder("f16", context=48, width=16), OnHost()
    generator = torch.Generator().manual_seed(3)
    for path in model.state_paths():
        state = model.tensor(path)
        state.copy_(torch.randn(state.shape, generator=generator))
    tokens = torch.tensor([[3], [7]])
    plan = model.plan_for("decode", [tokens, torch.tensor([0, 0])], [backend], measure=False)
    assert len(plan.regions) == 2
    context = model.context_for(plan)
    for at in ([0, 47], [15, 16], [31, 2]):
        states = {path: model.tensor(path).clone() for path in model.state_paths()}
        expected = model.run_entry("decode", [tokens, torch.tensor(at)], compile=False)
        for path, content in states.items():
            model.tensor(path).copy_(content)
        (made,) = plan.run([tokens, torch.tensor(at)], context)
        assert torch.allclose(made.float(), expected.float(), rtol=0.02, atol=0.05)
        assert [call["seq_lens"].tolist() for call in backend.module.calls[-2:]] == [
            [n + 1 for n in at]
        ] * 2
    buffers = {call["workspace_buffer"].data_ptr() for call in backend.module.calls}
    assert len(buffers) == 1  # one context, one workspace


@pytest.mark.parametrize("captured", [False, True])
def test_a_full_cache_is_refused_before_it_is_written(captured: bool) -> None:
    model, backend = decoder("f16", context=16, width=16), OnHost()
    tokens = torch.tensor([[3], [7]])
    plan = model.plan_for("decode", [tokens, torch.tensor([0, 0])], [backend], measure=False)
    assert len(plan.regions) == 2
    context = model.context_for(plan)
    step: Any = Captured(plan, context) if captured else lambda given: plan.run(given, context)
    for at in (13, 14, 15):
        step([tokens, torch.tensor([at, at])])
    before = {path: model.tensor(path).clone() for path in model.state_paths()}
    for wrong in (16, -1, 2**32):
        with pytest.raises(IndexError, match=f"positions.*got {wrong}"):
            step([tokens, torch.tensor([3, wrong])])
    assert all(torch.equal(model.tensor(path), kept) for path, kept in before.items())


def attention(
    scale: str = "0.25", dtype: str = "f16", keys: int = 32, **sizes: int
) -> LinnetModule:
    generics: dict[str, Any] = {"B": 3, "H": 2, "K": keys, "D": 16, "T": dtype, **sizes}
    return load(ATTENTION.replace("SCALE", scale), generics=generics)


def test_a_row_that_sees_no_key_gives_zeros_and_the_callers_outputs_are_written() -> None:
    model, backend = attention(), OnHost()
    for path in model.state_paths():
        model.tensor(path).copy_(torch.randn(3, 2, 32, 16))
    model.tensor("values")[:, :, 20:] = torch.nan  # unused
    query, at = torch.randn(3, 2, 1, 16).half(), torch.tensor([-1, 0, 19])
    plan = model.plan_for("step", [query, at], [backend], measure=False)
    (item,) = plan.regions
    context = model.context_for(plan)
    (made,) = plan.run([query, at], context)
    model.tensor("values").nan_to_num_()
    expected = model.run_entry("step", [query, at], compile=False)
    assert not made[0].any()
    assert torch.allclose(made.float(), expected.float(), rtol=1e-2, atol=1e-2)
    mask = (torch.arange(32) <= at[:, None])[:, None]
    out = torch.full_like(made, torch.nan)
    given = {"query": query, "mask": mask}
    places = item.executable._decode.tensors  # type: ignore[attr-defined]  # the order of inputs
    ordered = sorted((place, given[name]) for name, place in places.items() if name in given)
    (written,) = item.executable.execute([t for _, t in ordered], [out], context)
    assert written is out
    assert torch.allclose(out.float(), expected.float(), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize(
    ("model", "entry"),
    [
        (attention(dtype="f32"), "step"),
        (attention(keys=40), "step"),
        (attention(D=24), "step"),
        (attention(D=512), "step"),
        (attention(K=0), "step"),
    ],
    ids=["f32", "no whole pages", "head width", "wide heads", "no keys"],
)
def test_what_it_does_not_compute_is_not_offered(model: LinnetModule, entry: str) -> None:
    sizes = next(model.buffers()).shape
    given = [torch.zeros(*sizes[:2], 1, sizes[3], dtype=next(model.buffers()).dtype)]
    graph = model.graph_for(entry, [*given, torch.zeros(3, dtype=torch.int64)])
    assert list(OnHost().match(graph, HOPPER)) == []


def test_a_prompt_is_not_offered() -> None:
    graph = decoder("f16", context=48, width=16).graph_for(
        "prefill", [torch.zeros(2, 5, dtype=torch.int64)]
    )
    assert list(OnHost().match(graph, HOPPER)) == []


@pytest.mark.parametrize("page", [16, 32, 64])
def test_pages_are_the_cache_in_place(page: int) -> None:
    cache = torch.randn(3, 2, 128, 16)[1:]
    pages, table = paged(cache, page), page_table(cache.shape, page, cache.device)
    assert pages.data_ptr() == cache.data_ptr()
    for row in range(2):
        found = torch.cat([pages[n] for n in table[row].tolist()], dim=1)
        assert torch.equal(found, cache[row])
    # The last page ends where the cache ends, and none reaches past it.
    reach = sum((n - 1) * stride for n, stride in zip(pages.shape, pages.stride(), strict=True))
    assert reach + 1 == cache.numel()
