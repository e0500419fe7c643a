from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

import infini.ops  # noqa: E402  # after the skip above

DTYPES = [torch.float32, torch.bfloat16, torch.float16]
INDICES = [torch.int32, torch.int64]


def caches(dtype: Any, layout: str, pages: int = 3, size: int = 4) -> Any:
    """Random caches `[Pages, P, H, D]` of 2 heads, 8 and 6 elements, and the operator's views."""
    plain = [torch.randn(pages, size, 2, width).to(dtype) for width in (8, 6)]
    if layout == "flash":
        return plain, plain
    keys = plain[0].reshape(pages, size, 2, 2, 4).permute(0, 2, 3, 1, 4).contiguous()
    values = plain[1].permute(0, 2, 3, 1).contiguous()
    return [keys.permute(0, 3, 1, 2, 4).flatten(3), values.permute(0, 3, 1, 2)], [keys, values]


def function(layout: str) -> Any:
    return infini.ops.reshape_and_cache_flash if layout == "flash" else infini.ops.reshape_and_cache


def content(given: Any, layout: str) -> Any:
    """What the operator's caches hold, as `[Pages, P, H, D]`."""
    if layout == "flash":
        return given
    return [given[0].permute(0, 3, 1, 2, 4).flatten(3), given[1].permute(0, 3, 1, 2)]


@pytest.mark.smoke
@pytest.mark.parametrize("layout", ["flash", "split"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("index", INDICES, ids=str)
def test_tokens_go_to_their_slots(layout: str, dtype: Any, index: Any, seed: int) -> None:
    torch.manual_seed(seed)
    plain, given = caches(dtype, layout)
    expected = [cache.clone() for cache in plain]
    tokens = [torch.randn(5, 2, width).to(dtype) for width in (8, 6)]
    slots = torch.randperm(12)[:5].to(index)
    slots[2] = -1
    for t, slot in enumerate(slots.tolist()):
        for cache, token in zip(expected, tokens, strict=True):
            if slot >= 0:
                cache[slot // 4, slot % 4] = token[t]
    assert function(layout)(*tokens, *given, slots) is None
    for cache, right in zip(content(given, layout), expected, strict=True):
        assert torch.equal(cache, right)


@pytest.mark.parametrize("layout", ["flash", "split"])
def test_strided_tokens_are_read_where_they_are(layout: str, seed: int) -> None:
    torch.manual_seed(seed)
    qkv = torch.randn(5, 40)
    tokens = [qkv[:, 2:34:2].unflatten(1, (2, 8)), qkv.flip(0)[:, 20:32].unflatten(1, (2, 6))]
    results = []
    for variant in (tokens, [token.contiguous() for token in tokens]):
        torch.manual_seed(seed)
        _, given = caches(torch.float32, layout)
        function(layout)(*variant, *given, torch.tensor([0, 11, 4, 7, 5]))
        results.append(given)
    assert torch.equal(results[0][0], results[1][0])
    assert torch.equal(results[0][1], results[1][1])


@pytest.mark.parametrize("layout", ["flash", "split"])
@pytest.mark.parametrize("index", INDICES, ids=str)
@pytest.mark.parametrize(
    ("slots", "message"),
    [
        ([0, 12], "`slot_mapping` is 12 at element 1; expected -1 to 11"),
        ([-2, 0], "`slot_mapping` is -2 at element 0; expected -1 to 11"),
        ([3, 2**31 - 1], f"`slot_mapping` is {2**31 - 1} at element 1; expected -1 to 11"),
        ([-(2**31), 3], f"`slot_mapping` is {-(2**31)} at element 0; expected -1 to 11"),
        ([7, 7], "`slot_mapping` names slot 7 for two tokens"),
    ],
)
def test_bad_slots_are_refused_before_anything_is_written(
    layout: str, slots: Any, message: str, index: Any
) -> None:
    _, given = caches(torch.float32, layout)
    before = [cache.clone() for cache in given]
    tokens = [torch.ones(2, 2, width) for width in (8, 6)]
    with pytest.raises(ValueError) as error:
        function(layout)(*tokens, *given, torch.tensor(slots, dtype=index))
    assert message in str(error.value)
    assert torch.equal(given[0], before[0])
    assert torch.equal(given[1], before[1])


@pytest.mark.parametrize("layout", ["flash", "split"])
@pytest.mark.parametrize("slot", [2**40, 2**32, -(2**63), 2**63 - 1])
def test_a_slot_of_64_bits_is_read_whole(layout: str, slot: int) -> None:
    _, given = caches(torch.float32, layout)
    tokens = [torch.ones(1, 2, width) for width in (8, 6)]
    with pytest.raises(ValueError, match=f"`slot_mapping` is {slot} at element 0"):
        function(layout)(*tokens, *given, torch.tensor([slot]))


def test_bad_arguments_are_named() -> None:
    _, given = caches(torch.float32, "split")
    tokens = [torch.ones(2, 2, width) for width in (8, 6)]
    slots = torch.tensor([0, 1])
    with pytest.raises(ValueError, match="keys of 2 times 4 elements, but `key` has 6"):
        infini.ops.reshape_and_cache(tokens[0][..., :6], tokens[1], *given, slots)
    with pytest.raises(ValueError, match="`value_cache` has shape"):
        infini.ops.reshape_and_cache(tokens[0], tokens[1][..., :5], *given, slots)
    with pytest.raises(TypeError, match="`key_cache` has dtype float32"):
        infini.ops.reshape_and_cache(*(t.half() for t in tokens), *given, slots)
    with pytest.raises(TypeError, match="`slot_mapping` has dtype float32"):
        infini.ops.reshape_and_cache(*tokens, *given, slots.float())
    with pytest.raises(ValueError, match="`slot_mapping` has shape"):
        infini.ops.reshape_and_cache(*tokens, *given, slots[:1])


@pytest.mark.parametrize("layout", ["flash", "split"])
def test_no_tokens_and_no_pages_are_fine(layout: str) -> None:
    tokens = [torch.ones(0, 2, width) for width in (8, 6)]
    _, given = caches(torch.float32, layout)
    function(layout)(*tokens, *given, torch.zeros(0, dtype=torch.int64))
    _, none = caches(torch.float32, layout, pages=0)
    padding = [torch.ones(2, 2, width) for width in (8, 6)]
    function(layout)(*padding, *none, torch.tensor([-1, -1]))
    with pytest.raises(ValueError, match="expected -1 to -1"):
        function(layout)(*padding, *none, torch.tensor([0, -1]))


SIZES = {"pages": 3, "page": 4, "heads": 2, "key": 8, "value": 6}


@pytest.mark.parametrize("layout", ["flash", "split"])
@pytest.mark.parametrize("empty", [*SIZES, "split", "nothing"])
def test_each_size_may_be_zero(layout: str, empty: str, seed: int) -> None:
    """What is there is written, for one token where there is a place for it and else for none."""
    torch.manual_seed(seed)
    pages, page, heads, key, value = (0 if name == empty else SIZES[name] for name in SIZES)
    parts = (0, 4) if empty == "split" else (key // 4, 4)
    key = parts[0] * 4 if layout == "split" else key
    tokens = [1 + torch.rand(1, heads, width) for width in (key, value)]  # nothing that is 0
    shapes = [(pages, page, heads, key), (pages, page, heads, value)]
    if layout == "split":
        shapes = [(pages, heads, parts[0], page, parts[1]), (pages, heads, value, page)]
    given = [torch.zeros(shape) for shape in shapes]
    slot = 1 if pages * page > 0 else -1
    function(layout)(*tokens, *given, torch.tensor([slot]))
    for cache, token in zip(content(given, layout), tokens, strict=True):
        assert cache.count_nonzero() == (token.numel() if slot == 1 else 0)
        if slot == 1:
            assert torch.equal(cache[0, 1], token[0])
    with pytest.raises(ValueError, match=f"expected -1 to {pages * page - 1}"):
        function(layout)(*tokens, *given, torch.tensor([pages * page]))
