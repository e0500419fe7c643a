"""Streams and their order."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

if TYPE_CHECKING:
    from gate import Gate


def test_default_stream_is_current_at_first() -> None:
    default = torch.infini.default_stream()
    assert torch.infini.current_stream() == default
    assert default.stream_id == 0
    assert default.device == torch.device("infini:0")
    assert torch.accelerator.current_stream() == default
    assert isinstance(torch.infini.current_stream(), torch.infini.Stream)


def test_streams_come_from_a_pool_of_32() -> None:
    streams = [torch.infini.Stream() for _ in range(33)]
    assert len({stream.stream_id for stream in streams}) == 32
    assert streams[32] == streams[0]
    assert streams[0] != streams[1]
    assert torch.infini.default_stream() not in streams


def test_stream_context_restores_also_after_an_error() -> None:
    a, b = torch.infini.Stream(), torch.infini.Stream()
    default = torch.infini.default_stream()
    with torch.infini.stream(a):
        assert torch.infini.current_stream() == a
        with torch.infini.stream(b), torch.infini.stream(None):
            assert torch.infini.current_stream() == b
        assert torch.infini.current_stream() == a
    with pytest.raises(KeyError), torch.infini.stream(a):
        raise KeyError
    assert torch.infini.current_stream() == default


def test_streams_work_as_torch_streams() -> None:
    stream = torch.Stream(device="infini")
    with stream:
        assert torch.infini.current_stream() == stream
        assert torch.accelerator.current_stream() == stream
    assert torch.infini.current_stream() == torch.infini.default_stream()
    torch.infini.set_stream(stream)
    assert torch.infini.current_stream() == stream
    torch.infini.set_stream(torch.infini.default_stream())


def test_query_and_synchronize() -> None:
    stream = torch.infini.Stream()
    assert stream.query()
    with torch.infini.stream(stream):
        torch.ones(4, device="infini")
    stream.synchronize()
    assert stream.query()


def test_high_priority_is_cut_to_what_the_backend_has() -> None:
    stream = torch.infini.Stream(priority=-100)
    assert stream.priority <= torch.infini.Stream().priority
    assert stream.stream_id > 32


def test_stream_names_its_device_and_id() -> None:
    stream = torch.infini.Stream()
    assert repr(stream) == f"<torch.infini.Stream device=infini:0 id={stream.stream_id}>"


def test_native_handle_is_refused_where_there_is_none() -> None:
    with pytest.raises(NotImplementedError, match="has no native stream handles"):
        torch.infini.Stream().native_handle  # noqa: B018  # the access raises


@pytest.mark.usefixtures("two_devices")
def test_stream_of_another_device_makes_it_current() -> None:
    stream = torch.infini.Stream("infini:1")
    assert stream.device == torch.device("infini:1")
    with torch.infini.stream(stream):
        assert torch.infini.current_device() == 1
        assert torch.infini.current_stream() == stream
        assert torch.infini.current_stream(0) == torch.infini.default_stream(0)
        assert torch.empty(1, device="infini").device.index == 1
    assert torch.infini.current_device() == 0
    assert torch.infini.current_stream(1) == torch.infini.default_stream(1)


def test_work_on_a_stream_is_in_order() -> None:
    x = torch.zeros(1000, dtype=torch.int32, device="infini")
    for _ in range(100):
        x += 1
    assert x.tolist() == [100] * 1000


def test_wait_stream_orders_two_streams() -> None:
    producer, consumer = torch.infini.Stream(), torch.infini.Stream()
    for _ in range(20):
        with torch.infini.stream(producer):
            x = torch.zeros(64, dtype=torch.int32, device="infini")
            for _ in range(5):
                x += 1
        consumer.wait_stream(producer)
        with torch.infini.stream(consumer):
            y = x + x
            assert y.tolist() == [10] * 64
        x.record_stream(consumer)


def test_wait_event_orders_two_streams() -> None:
    producer, consumer = torch.infini.Stream(), torch.infini.Stream()
    with torch.infini.stream(producer):
        x = torch.zeros(64, dtype=torch.int32, device="infini")
        for _ in range(10):
            x += 1
    event = producer.record_event()
    consumer.wait_event(event)
    with torch.infini.stream(consumer):
        assert (x + 0).tolist() == [10] * 64


@pytest.mark.sim
def test_streams_that_do_not_wait_are_not_ordered(gate: Gate) -> None:
    # The counterpart of the tests above, which would pass here too if nothing were asynchronous.
    producer, consumer = torch.infini.Stream(), torch.infini.Stream()
    x = torch.zeros(64, dtype=torch.int32, device="infini")
    torch.infini.synchronize()
    gate.hold(producer)
    with torch.infini.stream(producer):
        x += 1
    with torch.infini.stream(consumer):
        assert x.cpu()[0] == 0
    gate.open()
    producer.synchronize()
    assert x.cpu()[0] == 1


# In a process of its own, which is ended: a wait that kept the GIL would have no end.
WAIT = """
import threading, torch, torch_infini
from gate import Gate

gate, event = Gate(), torch.infini.Event()
x = torch.zeros(8, dtype=torch.int32, device="infini")
torch.infini.synchronize()
gate.hold(torch.infini.current_stream())
x += 1
event.record()
waits = [
    torch.infini.current_stream().synchronize,
    event.synchronize,
    torch.infini.synchronize,
    x.cpu,
    x[0].item,
]
entered = threading.Semaphore(0)

def wait(work):
    entered.release()
    work()

# No thread has to give way now; it does where it releases the GIL by itself, inside its wait.
sys.setswitchinterval(1000)
threads = [threading.Thread(target=wait, args=(work,)) for work in waits]
for thread in threads:
    thread.start()
for _ in threads:
    entered.acquire()
assert all(thread.is_alive() for thread in threads)
gate.open()
for thread in threads:
    thread.join()
assert x[0].item() == 1
"""


@pytest.mark.sim
def test_waiting_lets_other_threads_run(run_child) -> None:
    pytest.importorskip("infini.rt", reason="the Python package of InfiniRT is not installed")
    support = str(Path(__file__).parents[1] / "support")
    run_child(f"import sys; sys.path.insert(0, {support!r})\n{WAIT}", timeout=50)
