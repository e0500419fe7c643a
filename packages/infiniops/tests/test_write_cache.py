from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from devices import (  # type: ignore[import-not-found]  # noqa: E402  # tests/support
    fetched,
    moved,
)

import infini.ops  # noqa: E402  # after the skip above

DTYPES = [torch.float32, torch.bfloat16, torch.float16, torch.int8, torch.bool, torch.complex128]
INDICES = [torch.int32, torch.int64]


def some(shape: Any, dtype: Any) -> Any:
    return torch.randn(shape, dtype=torch.float64).mul(9).to(dtype)


def written(cache: Any, values: Any, starts: Any) -> Any:
    expected = cache.clone()
    for row, start in enumerate(starts):
        expected[row, :, start : start + values.shape[2]] = values[row]
    return expected


@pytest.mark.smoke
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("added", [1, 3, 8])
def test_each_row_is_written_at_its_position(dtype: Any, added: int, seed: int) -> None:
    torch.manual_seed(seed)
    cache, values = some((3, 2, 8, 5), dtype), some((3, 2, added, 5), dtype)
    for index in INDICES:
        starts = torch.randint(0, 8 - added + 1, (3,), dtype=index)
        expected = written(cache, values, starts.tolist())
        before = cache.clone()
        made = infini.ops.write_cache(cache, values, starts)
        assert torch.equal(cache, before)
        assert torch.equal(made, expected)
        in_place = cache.clone()
        assert infini.ops.write_cache(in_place, values, starts, out=in_place) is in_place
        assert torch.equal(in_place, expected)


def test_one_position_serves_all_rows_and_the_offset_is_added(seed: int) -> None:
    torch.manual_seed(seed)
    cache, values = torch.randn(3, 2, 8, 5), torch.randn(3, 2, 2, 5)
    assert torch.equal(infini.ops.write_cache(cache, values), written(cache, values, [0] * 3))
    assert torch.equal(
        infini.ops.write_cache(cache, values, torch.tensor(4), offset=1),
        written(cache, values, [5] * 3),
    )
    assert torch.equal(
        infini.ops.write_cache(cache, values, torch.tensor([0, -2, 4]), offset=2),
        written(cache, values, [2, 0, 6]),
    )


def test_strided_caches_and_values_are_written_in_place(seed: int) -> None:
    torch.manual_seed(seed)
    cache = torch.randn(3, 8, 2, 10).transpose(1, 2)[..., ::2]
    values = torch.randn(5, 3, 2, 3).permute(1, 2, 3, 0)
    starts = torch.randint(0, 12, (3,)).fmod(6)[:]
    spaced = torch.stack([starts, starts + 99], 1)[:, 0]
    expected = written(cache, values, starts.tolist())
    infini.ops.write_cache(cache, values, spaced, out=cache)
    assert torch.equal(cache, expected)


@pytest.mark.parametrize(
    ("index", "position"),
    [
        *((index, one) for index in INDICES for one in (7, 8, -1, 2**31 - 1, -(2**31))),
        (torch.int64, 2**40),
        (torch.int64, 2**63 - 1),
        (torch.int64, -(2**63)),
    ],
)
def test_positions_outside_the_cache_are_refused(index: Any, position: int) -> None:
    cache, values = torch.randn(3, 2, 8, 5), torch.randn(3, 2, 2, 5)
    before = cache.clone()
    starts = torch.tensor([0, position, 2], dtype=index)
    with pytest.raises(ValueError) as error:
        infini.ops.write_cache(cache, values, starts, out=cache)
    assert str(error.value) == (
        f"write_cache: `positions` is {position} at element 1; expected 0 to 6 (where the new "
        "entries fit in the cache, less `offset`)"
    )
    assert torch.equal(cache, before)
    infini.ops.write_cache(cache, values, torch.tensor([6, 6, 6]), out=cache)


def test_bad_arguments_are_named() -> None:
    cache, values = torch.randn(3, 2, 8, 5), torch.randn(3, 2, 9, 5)
    with pytest.raises(ValueError, match="`values` has 9 entries for a row from position 0, but"):
        infini.ops.write_cache(cache, values)
    with pytest.raises(ValueError, match="has 2 entries for a row from position 7, but"):
        infini.ops.write_cache(cache, values[:, :, :2], offset=7)
    with pytest.raises(ValueError, match="expected one number, or 3, one for each row"):
        infini.ops.write_cache(cache, values[:, :, :2], torch.tensor([1, 2]))
    with pytest.raises(ValueError, match="`values` has shape"):
        infini.ops.write_cache(cache, values[:2])
    with pytest.raises(TypeError, match="`values` has dtype float64"):
        infini.ops.write_cache(cache, values.double())
    with pytest.raises(TypeError, match="`positions` has dtype float32"):
        infini.ops.write_cache(cache, values[:, :, :1], torch.ones(3))
    with pytest.raises(ValueError, match="share memory"):
        infini.ops.write_cache(cache, cache[:, :, :2], out=cache)


@pytest.mark.parametrize("shape", [(0, 2, 8, 5), (3, 0, 8, 5), (3, 2, 0, 5), (3, 2, 8, 0)])
def test_empty_caches_stay_empty(shape: Any) -> None:
    values = torch.ones(*shape[:2], min(1, shape[2]), shape[3])
    assert infini.ops.write_cache(torch.ones(shape), values).shape == shape


def test_no_new_entries_leave_the_cache_as_it_is() -> None:
    cache = torch.randn(3, 2, 8, 5)
    made = infini.ops.write_cache(cache, cache[:, :, :0], torch.tensor([0, 8, 3]))
    assert torch.equal(made, cache)


def test_a_position_outside_reaches_the_stream_on_sim(devices: list[str], rt: Any) -> None:
    if "sim" not in devices:
        pytest.skip("this build has no sim device")
    given = {
        "cache": torch.ones(2, 1, 4, 3),
        "values": torch.full((2, 1, 1, 3), 7.0),
        "positions": torch.tensor([1, 4]),
    }
    there = {name: moved(tensor, "sim:0") for name, tensor in given.items()}
    rt.select_backend("sim")
    try:
        infini.ops.write_cache(**there, out=there["cache"])
        with pytest.raises(ValueError, match="`positions` is 4 at element 1; expected 0 to 3"):
            rt.device_synchronize()
    finally:
        rt.select_backend("cpu")
    assert torch.equal(fetched(there["cache"]), given["cache"])
