"""Operators without a generated sweep on a device that is not the current one."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from attention import (  # type: ignore[import-not-found]  # noqa: E402  # tests/support
    starts,
    vllm_cache,
)
from devices import (  # type: ignore[import-not-found]  # noqa: E402  # tests/support
    bits,
    fetched,
    moved,
)
from sweep import (  # type: ignore[import-not-found]  # noqa: E402  # tests/support
    load_sweeps,
)

import infini.ops  # noqa: E402  # after the skip above


def randn(*shape: int) -> Any:
    return torch.randn(shape)


def ints(*numbers: int, dtype: Any = torch.int64) -> Any:
    return torch.tensor(numbers, dtype=dtype)


def pages() -> dict[str, Any]:
    """A cache of three pages in vLLM's layout."""
    keys = vllm_cache(randn(3, 4, 2, 8), 4, 4)
    return {"key_cache": keys, "value_cache": randn(3, 2, 6, 4)}


CALLS: dict[str, Callable[[], dict[str, Any]]] = {
    "apply_rotary_pos_emb": lambda: {
        "input": randn(2, 3, 5, 8),
        "cos": randn(5, 8),
        "sin": randn(5, 8),
    },
    "embedding": lambda: {"input": ints(4, 0, 4), "weight": randn(5, 9)},
    "flash_attn_varlen_func": lambda: {
        "q": randn(3, 4, 8),
        "k": randn(6, 2, 8),
        "v": randn(6, 2, 8),
        "cu_seqlens_q": starts([1, 2]),
        "cu_seqlens_k": starts([2, 4]),
        "causal": True,
    },
    "flash_attn_with_kvcache": lambda: {
        "q": randn(2, 3, 4, 8),
        "k_cache": randn(2, 9, 2, 8),
        "v_cache": randn(2, 9, 2, 8),
        "k": randn(2, 3, 2, 8),
        "v": randn(2, 3, 2, 8),
        "cache_seqlens": ints(0, 6),
        "causal": True,
    },
    "fused_add_rms_norm": lambda: {
        "input": randn(3, 33),
        "residual": randn(3, 33),
        "weight": randn(33),
    },
    "linear_int4": lambda: {
        "input": randn(3, 64),
        "weight": torch.randint(0, 256, (5, 2, 16), dtype=torch.uint8),
        "scale": randn(5, 2),
    },
    "linear_int8": lambda: {
        "input": randn(3, 64),
        "weight": torch.randint(-128, 128, (5, 64), dtype=torch.int8),
        "scale": randn(5),
    },
    "paged_attention": lambda: {
        "query": randn(2, 4, 8),
        **pages(),
        "block_tables": torch.tensor([[2, 0], [1, 2]], dtype=torch.int32),
        "seq_lens": ints(7, 1),
    },
    "reshape_and_cache": lambda: {
        "key": randn(2, 2, 8),
        "value": randn(2, 2, 6),
        **pages(),
        "slot_mapping": ints(11, 2),
    },
    "reshape_and_cache_flash": lambda: {
        "key": randn(2, 2, 8),
        "value": randn(2, 2, 6),
        "key_cache": randn(3, 4, 2, 8),
        "value_cache": randn(3, 4, 2, 6),
        "slot_mapping": ints(11, 2),
    },
    "rotary_embedding": lambda: {
        "input": randn(4, 3, 8),
        "positions": ints(0, 6, 2, 2),
        "cos_sin_cache": randn(7, 8),
    },
    "scaled_dot_product_attention": lambda: {
        "query": randn(2, 4, 3, 8),
        "key": randn(2, 2, 5, 8),
        "value": randn(2, 2, 5, 8),
        "attn_mask": torch.tensor([True, True, False, True, True]),
    },
    "top_k_top_p_sampling_from_logits": lambda: {
        "logits": randn(6, 50),
        "top_k_rows": ints(0, 1, 2, 3, 4, 5),
        "seed": 3,
    },
    "write_cache": lambda: {
        "cache": randn(2, 2, 8, 5),
        "values": randn(2, 2, 3, 5),
        "positions": ints(0, 5),
    },
}
"""Arguments of one call of each operator that has no sweep."""

BUILT = [name for name in CALLS if name in infini.ops.operators()]


def test_every_operator_without_a_sweep_is_here() -> None:
    without = {sweep.operator for sweep in load_sweeps() if not sweep.shapes}
    assert without == set(BUILT)


def parts(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else () if value is None else (value,)


@pytest.mark.parametrize("name", BUILT)
def test_the_device_of_the_tensors_is_used_and_the_current_one_kept(
    name: str, devices: list[str], rt: Any, seed: int
) -> None:
    """Results, and what is written in place, have the bits that the CPU gives."""
    torch.manual_seed(seed)
    function = getattr(infini.ops, name)
    given = CALLS[name]()
    tensors = {key: value for key, value in given.items() if isinstance(value, torch.Tensor)}
    others = {key: value for key, value in given.items() if key not in tensors}
    current = (rt.selected_backend(), rt.get_device())
    for device in (f"{one}:1" for one in devices if one != "cpu"):
        here = {key: value.clone() for key, value in tensors.items()}
        there = {key: moved(value, device) for key, value in tensors.items()}
        expected = parts(function(**here, **others))
        made = parts(function(**there, **others))
        assert (rt.selected_backend(), rt.get_device()) == current
        for one, wanted in zip(made, expected, strict=True):
            assert one.device == device
            assert bits(fetched(one)) == bits(wanted)
        for key, value in here.items():
            assert bits(fetched(there[key])) == bits(value), key
        for key in itertools.islice(tensors, 1, None):
            with pytest.raises(ValueError, match=f"`{key}` is on cpu:0, but the call is for"):
                function(**{**there, key: tensors[key]}, **others)
            assert (rt.selected_backend(), rt.get_device()) == current
