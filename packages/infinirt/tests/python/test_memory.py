"""Memory: round trips at awkward sizes; whatever is not an allocation or a buffer is refused."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
import pytest

import infini.rt as rt

Kind = rt.MemcpyKind


@pytest.mark.parametrize("size", [1, 3, 2**20 + 1])
def test_round_trip(backend: str, size: int) -> None:
    data = os.urandom(size)
    back = bytearray(size)
    first, second = rt.malloc(size + 1), rt.malloc(size + 1)
    rt.memcpy(first + 1, data, size, Kind.HOST_TO_DEVICE)
    rt.memcpy(second + 1, first + 1, size, Kind.DEVICE_TO_DEVICE)
    rt.memcpy(back, second + 1, size, Kind.DEVICE_TO_HOST)
    assert bytes(back) == data
    rt.free(first)
    rt.free(second)


def test_no_bytes_are_fine_everywhere(backend: str) -> None:
    assert rt.malloc(0) == rt.malloc_host(0) == rt.malloc_async(0) == 0
    rt.free(0)
    rt.free_host(0)
    rt.free_async(0)
    for kind in Kind:
        rt.memcpy(0, 0, 0, kind)
        rt.memcpy_async(0, 0, 0, kind)
    rt.memset(0, 1, 0)
    rt.memset_async(0, 1, 0)
    rt.device_synchronize()


def test_pinned_copies_on_a_stream(backend: str) -> None:
    stream = rt.stream_create()
    pinned, device = rt.malloc_host(64), rt.malloc_async(64, stream)
    rt.memset_async(device, 0xAB, 64, stream)
    rt.memcpy_async(pinned, device, 64, Kind.DEVICE_TO_HOST, stream)
    rt.stream_synchronize(stream)
    back = bytearray(64)
    rt.memcpy(back, pinned, 64, Kind.HOST_TO_HOST)
    assert bytes(back) == b"\xab" * 64
    rt.free_async(device, stream)
    rt.free_host(pinned)
    rt.stream_destroy(stream)


def test_bad_arguments_are_named(backend: str) -> None:
    device = rt.malloc(16)
    back = bytearray(16)
    rt.memset(device, 1, 16)
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: rt.malloc(-1), "Malloc: size -1 is not a number from 0"),
        (lambda: rt.malloc(2**64), "Malloc: size 18446744073709551616"),
        (lambda: rt.malloc(2**63), "exceeds 2\\^63 - 1"),
        (lambda: rt.memcpy(0, back, 1, Kind.HOST_TO_DEVICE), "target is null"),
        (lambda: rt.memcpy(device, 0, 1, Kind.HOST_TO_DEVICE), "source is null"),
        (lambda: rt.memcpy(device, b"123", 4, Kind.HOST_TO_DEVICE), "source has 3 bytes, but 4"),
        (
            lambda: rt.memcpy(b"1234", device, 4, Kind.DEVICE_TO_HOST),
            "target is a bytes; expected .* writable",
        ),
        (
            lambda: rt.memcpy(device, "text", 4, Kind.HOST_TO_DEVICE),
            "source is a str; expected an address",
        ),
        (lambda: rt.memcpy(device, back, -4, Kind.HOST_TO_DEVICE), "Memcpy: size -4"),
        (lambda: rt.memcpy(device, np.uint64(8), 4, Kind.HOST_TO_DEVICE), r"pass int\(...\)"),
        (lambda: rt.memcpy(device, np.zeros((4, 4))[:, 1], 4, Kind.HOST_TO_DEVICE), "contiguous"),
        (lambda: rt.memset(device, 2**40, 0), "value 1099511627776 is not a number from"),
        (lambda: rt.malloc(10**5000), "Malloc: size with more digits than Python prints"),
        (lambda: rt.memset(0, 1, 1), "data is null"),
        (lambda: rt.free(device + 1), "not a live allocation"),
        (lambda: rt.free_host(device), "not a live allocation"),
        (lambda: rt.free(-1), "address -1"),
    ]
    for call, text in cases:
        with pytest.raises(ValueError, match=text):
            call()
    rt.memcpy(back, device, 16, Kind.DEVICE_TO_HOST)
    assert bytes(back) == b"\x01" * 16
    rt.free(device)
    with pytest.raises(ValueError, match="freed before"):
        rt.free(device)


def test_too_much_memory_is_a_memory_error(backend: str) -> None:
    for allocate in (rt.malloc, rt.malloc_host, rt.malloc_async):
        with pytest.raises(MemoryError, match=f"on {backend}:0: could not allocate {2**60} bytes"):
            allocate(2**60)
    rt.free(rt.malloc(64))


def test_task_pointer(backend: str) -> None:
    data = rt.malloc(100)
    device = rt.Device(f"{backend}:0")
    assert (rt.task_pointer(device, data, 100) == data) == (backend == "cpu")
    with pytest.raises(ValueError, match="data is null"):
        rt.task_pointer(device, 0, 1)
    rt.free(data)


def test_kinds_are_checked_on_sim(sim: None) -> None:
    device = rt.malloc(16)
    host = bytearray(16)
    with pytest.raises(ValueError, match="says host memory, but the address is device memory"):
        rt.memcpy(host, device, 16, Kind.HOST_TO_HOST)
    with pytest.raises(ValueError, match="not device memory of sim"):
        rt.memcpy(host, host, 16, Kind.HOST_TO_DEVICE)
    with pytest.raises(ValueError, match="not inside one live allocation"):
        rt.memset(device, 0, 17)
    rt.free(device)
    with pytest.raises(ValueError, match="freed"):
        rt.memset(device, 0, 16)
