"""Measures the attention and sampling operators of the installed InfiniOps on the CPU.

    python benchmarks/attention.py [--threads N] [--rounds N] [--output results.json]

Decode reads several caches in turn, as the layers of a model do, so that no call finds its keys in
the processor's cache; a plain sum of the same bytes, timed in the same rounds, is the bandwidth it
is compared with. Prefill and rotation are compared with torch, in turn as well. A time is the
least of many rounds.
"""

from __future__ import annotations

import torch
from timing import Call, Results, add_ratio, least_seconds, options_of, write_results

import infini.ops

COLD_BYTES = 160_000_000
"""Bytes of caches that decode reads in turn; more than a processor's cache holds."""


def decode(results: Results, dtype: torch.dtype, heads_first: bool, rounds: int) -> str:
    """One query of 32 heads over 4096 keys of 8 heads of 128 elements."""
    heads, key_heads, keys, size = 32, 8, 4096, 128
    shape = (2, 1, key_heads, keys, size) if heads_first else (2, 1, keys, key_heads, size)
    count = 2 * key_heads * keys * size * dtype.itemsize
    caches = [torch.randn(shape).to(dtype) for _ in range(max(2, COLD_BYTES // count))]
    query = torch.randn(1, heads, 1, size).to(dtype)
    out = torch.empty_like(query)
    rows = query.transpose(1, 2)

    def ours(cache: torch.Tensor) -> Call:
        if heads_first:
            return lambda: infini.ops.scaled_dot_product_attention(query, *cache, out=out)
        return lambda: infini.ops.flash_attn_with_kvcache(rows, *cache, out=out.transpose(1, 2))

    sums = [cache.view(torch.int64).flatten().sum for cache in caches]
    attended, summed = least_seconds([[ours(cache) for cache in caches], sums], rounds)
    layout = "[B, H, S, D]" if heads_first else "[B, S, H, D]"
    case = f"decode, 4096 keys, {layout}"
    share = add_ratio(
        results, f"{case}, {name(dtype)}", attended, summed, "a plain sum of the keys"
    )
    return (
        f"| {case} | {name(dtype)} | {attended * 1e6:.0f} us | "
        f"{count / attended / 1e9:.1f} GB/s of {count / summed / 1e9:.1f} read | {share:.2f} |"
    )


def prefill(results: Results, dtype: torch.dtype, tokens: int, causal: bool, rounds: int) -> str:
    """Attention of `tokens` queries to as many keys; 4 heads of 128 elements."""
    query, key, value = (torch.randn(1, 4, tokens, 128).to(dtype) for _ in range(3))
    out = torch.empty_like(query)
    ours, peer = least_seconds(
        [
            [
                lambda: infini.ops.scaled_dot_product_attention(
                    query, key, value, is_causal=causal, out=out
                )
            ],
            [
                lambda: torch.nn.functional.scaled_dot_product_attention(
                    query, key, value, is_causal=causal
                )
            ],
        ],
        rounds,
    )
    case = f"prefill, {tokens} tokens, {'causal' if causal else 'full'}"
    return against_torch(results, case, dtype, ours, peer)


def rotation(results: Results, dtype: torch.dtype, tokens: int, rounds: int) -> str:
    """Rotation of 32 heads of 128 elements, compared with its formula in torch."""
    heads = torch.randn(tokens, 32, 128).to(dtype)
    positions = torch.arange(tokens)
    table = torch.randn(tokens, 128).to(dtype)
    cos, sin = (part.repeat(1, 2)[:, None] for part in table.chunk(2, -1))
    out = torch.empty_like(heads)

    def composed() -> torch.Tensor:
        turned = torch.cat([-heads[..., 64:], heads[..., :64]], -1)
        return heads * cos + turned * sin

    ours, peer = least_seconds(
        [[lambda: infini.ops.rotary_embedding(heads, positions, table, out=out)], [composed]],
        rounds,
    )
    case = f"rotary_embedding, {tokens} token{'s' if tokens > 1 else ''}"
    return against_torch(results, case, dtype, ours, peer)


def sampling(results: Results, rows: int, rounds: int) -> str:
    """Drawing with top k and top p from 32000 logits, compared with topk and multinomial."""
    logits = torch.randn(rows, 32_000) * 3

    def composed() -> torch.Tensor:
        top, order = logits.topk(50, -1)
        shares = torch.softmax(top, -1)
        shares = shares.masked_fill(shares.cumsum(-1) - shares > 0.9, 0.0)
        return order.gather(-1, torch.multinomial(shares, 1))

    ours, peer = least_seconds(
        [
            [lambda: infini.ops.top_k_top_p_sampling_from_logits(logits, top_k=50, top_p=0.9)],
            [composed],
        ],
        rounds,
    )
    case = f"sampling, {rows} row{'s' if rows > 1 else ''} of 32000"
    return against_torch(results, case, torch.float32, ours, peer)


def against_torch(results: Results, case: str, dtype: torch.dtype, ours: float, peer: float) -> str:
    """The row of a case that torch computes too."""
    ratio = add_ratio(results, f"{case}, {name(dtype)}", ours, peer, "torch")
    times = [f"{seconds * 1e6:.{1 if seconds < 1e-4 else 0}f} us" for seconds in (ours, peer)]
    return f"| {case} | {name(dtype)} | {times[0]} | torch {times[1]} | {ratio:.2f} |"


def name(dtype: torch.dtype) -> str:
    """The dtype without torch's prefix."""
    return str(dtype).removeprefix("torch.")


def main() -> None:
    options = options_of(__doc__)
    torch.manual_seed(1)
    print(f"{options.threads} threads\n")
    print("| case | dtype | time | against | ratio |")
    print("|---|---|---|---|---|")
    results: Results = {}
    dtypes = (torch.float32, torch.bfloat16)
    for dtype in dtypes:
        for heads_first in (True, False):
            print(decode(results, dtype, heads_first, options.rounds), flush=True)
    for tokens in (512, 2048):
        for dtype in dtypes:
            for causal in (True, False):
                print(prefill(results, dtype, tokens, causal, options.rounds), flush=True)
    for tokens in (1, 512):
        for dtype in dtypes:
            print(rotation(results, dtype, tokens, 10 * options.rounds), flush=True)
    for rows in (1, 16):
        print(sampling(results, rows, options.rounds), flush=True)
    write_results(options.output, results)


if __name__ == "__main__":
    main()
