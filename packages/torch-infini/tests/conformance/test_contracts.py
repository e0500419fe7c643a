"""Device, stream and event contracts that hold on every accelerator.

They compare stable state transitions, not values of one piece of hardware.
"""

from __future__ import annotations

import threading

import pytest
import torch

from .conftest import Accelerator


def test_devices_are_counted_and_one_is_current(accelerator: Accelerator) -> None:
    module = accelerator.module
    assert module.is_available() is True
    assert module.device_count() >= 1
    assert module.current_device() in range(module.device_count())
    module.set_device(module.current_device())
    module.set_device(f"{accelerator.name}:{module.current_device()}")
    module.synchronize()
    module.synchronize(module.current_device())


def test_default_stream_is_current_in_a_new_thread(accelerator: Accelerator) -> None:
    module = accelerator.module
    seen = []
    with module.stream(module.Stream()):
        thread = threading.Thread(
            target=lambda: seen.append(module.current_stream() == module.default_stream())
        )
        thread.start()
        thread.join()
    assert seen == [True]


def test_stream_becomes_current_and_is_restored(accelerator: Accelerator) -> None:
    module = accelerator.module
    before = module.current_stream()
    stream = module.Stream()
    with module.stream(stream):
        assert module.current_stream() == stream
    assert module.current_stream() == before
    module.set_stream(stream)
    assert module.current_stream() == stream
    module.set_stream(before)
    with pytest.raises(ZeroDivisionError), module.stream(stream):
        1 / 0  # noqa: B018  # the error is the point
    assert module.current_stream() == before


def test_stream_is_done_after_synchronize(accelerator: Accelerator) -> None:
    module = accelerator.module
    stream = module.Stream()
    with module.stream(stream):
        x = accelerator.zeros(1 << 12) + 1
    stream.synchronize()
    assert stream.query() is True
    assert x.cpu().sum() == 1 << 12


def test_event_states(accelerator: Accelerator) -> None:
    module = accelerator.module
    event = module.Event()
    assert event.query() is True  # nothing recorded yet
    event.record()
    event.synchronize()
    assert event.query() is True
    event.record(module.Stream())
    event.synchronize()
    assert event.query() is True


def test_record_event_returns_the_event(accelerator: Accelerator) -> None:
    module = accelerator.module
    stream = module.Stream()
    event = module.Event()
    assert stream.record_event(event) is event
    assert isinstance(stream.record_event(), module.Event)


def test_elapsed_time_is_not_negative_in_order(accelerator: Accelerator) -> None:
    module = accelerator.module
    start, end = (module.Event(enable_timing=True) for _ in range(2))
    start.record()
    accelerator.zeros(1 << 16) + 1
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) >= 0


def test_elapsed_time_needs_timing(accelerator: Accelerator) -> None:
    module = accelerator.module
    start, end = module.Event(), module.Event()
    start.record()
    end.record()
    module.synchronize()
    with pytest.raises((RuntimeError, ValueError)):
        start.elapsed_time(end)


@pytest.mark.parametrize("way", ["wait_stream", "wait_event", "event.wait"])
def test_consumer_waits_for_producer(accelerator: Accelerator, way: str) -> None:
    module = accelerator.module
    producer, consumer = module.Stream(), module.Stream()
    with module.stream(producer):
        x = accelerator.zeros(256)
        for _ in range(20):
            x += 1
    if way == "wait_stream":
        consumer.wait_stream(producer)
    elif way == "wait_event":
        consumer.wait_event(producer.record_event())
    else:
        event = module.Event()
        event.record(producer)
        event.wait(consumer)
    with module.stream(consumer):
        y = x + 1
        assert y.cpu().tolist() == [21] * 256
    x.record_stream(consumer)


def test_pinned_round_trip(accelerator: Accelerator) -> None:
    module = accelerator.module
    source = torch.arange(1000, dtype=torch.int32).pin_memory()
    target = torch.empty(1000, dtype=torch.int32).pin_memory()
    x = source.to(accelerator.name, non_blocking=True)
    target.copy_(x, non_blocking=True)
    module.current_stream().synchronize()
    assert torch.equal(source, target)


def test_memory_of_dropped_tensors_is_counted_back(accelerator: Accelerator) -> None:
    module = accelerator.module
    before = module.memory_allocated()
    x = accelerator.zeros(1 << 16)
    assert module.memory_allocated() >= before + x.numel() * x.element_size()
    del x
    assert module.memory_allocated() == before


def test_seeds_are_kept(accelerator: Accelerator) -> None:
    module = accelerator.module
    state = module.get_rng_state()
    module.manual_seed(99)
    assert module.initial_seed() == 99
    module.set_rng_state(state)
    assert torch.equal(module.get_rng_state(), state)
