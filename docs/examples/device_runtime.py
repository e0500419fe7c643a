"""Two simulated devices: copies, order between streams, and a captured graph.

Run it with INFINI_RT_SIM_DEVICES=2, which says how many devices are simulated.
"""

import infini.rt as rt
from infini.rt import MemcpyKind

TEXT = b"written by stream A, read by stream B" * 100
SIZE = len(TEXT)


def copy_to_a_device_and_back(index: int) -> None:
    """Device memory is an address that only the device may touch; copies move bytes."""
    with rt.DeviceGuard(rt.Device(f"sim:{index}")):
        memory = rt.malloc(SIZE)
        returned = bytearray(SIZE)
        rt.memcpy(memory, TEXT, SIZE, MemcpyKind.HOST_TO_DEVICE)
        rt.memcpy(returned, memory, SIZE, MemcpyKind.DEVICE_TO_HOST)
        rt.free(memory)
    assert returned == TEXT


def order_two_streams_by_an_event() -> None:
    """Streams run at the same time; B sees what A wrote only because it waits for the event."""
    a, b = rt.stream_create(), rt.stream_create()
    written = rt.event_create()
    memory, sent, received = rt.malloc(SIZE), rt.malloc_host(SIZE), rt.malloc_host(SIZE)
    rt.memcpy(sent, TEXT, SIZE, MemcpyKind.HOST_TO_HOST)

    rt.memcpy_async(memory, sent, SIZE, MemcpyKind.HOST_TO_DEVICE, a)
    rt.event_record(written, a)
    rt.stream_wait_event(b, written)
    rt.memcpy_async(received, memory, SIZE, MemcpyKind.DEVICE_TO_HOST, b)
    rt.stream_synchronize(b)

    assert host_bytes(received) == TEXT
    rt.event_destroy(written)
    rt.stream_destroy(a)
    rt.stream_destroy(b)
    rt.free(memory)
    rt.free_host(sent)
    rt.free_host(received)


def capture_once_and_launch_twice() -> None:
    """A graph holds the calls that were queued during a capture, and launches replay them."""
    stream = rt.stream_create()
    memory, sent, received = rt.malloc(SIZE), rt.malloc_host(SIZE), rt.malloc_host(SIZE)

    rt.stream_begin_capture(stream)
    rt.memcpy_async(memory, sent, SIZE, MemcpyKind.HOST_TO_DEVICE, stream)
    rt.memcpy_async(received, memory, SIZE, MemcpyKind.DEVICE_TO_HOST, stream)
    graph = rt.stream_end_capture(stream)
    step = rt.graph_instantiate(graph)

    for text in (TEXT, TEXT[::-1]):
        rt.memcpy(sent, text, SIZE, MemcpyKind.HOST_TO_HOST)
        rt.graph_launch(step, stream)
        rt.stream_synchronize(stream)
        assert host_bytes(received) == text

    rt.graph_exec_destroy(step)
    rt.graph_destroy(graph)
    rt.stream_destroy(stream)
    rt.free(memory)
    rt.free_host(sent)
    rt.free_host(received)


def host_bytes(address: int) -> bytes:
    """The `SIZE` bytes of host memory at `address`."""
    content = bytearray(SIZE)
    rt.memcpy(content, address, SIZE, MemcpyKind.HOST_TO_HOST)
    return bytes(content)


def main() -> None:
    """Runs the three parts; an assertion says what went wrong."""
    rt.select_backend("sim")
    if rt.device_count() < 2:
        raise SystemExit("two devices are needed: set INFINI_RT_SIM_DEVICES=2")
    copy_to_a_device_and_back(0)
    copy_to_a_device_and_back(1)
    order_two_streams_by_an_event()
    capture_once_and_launch_twice()
    print(f"{rt.device_count()} sim devices: copies, streams and a graph agree")


if __name__ == "__main__":
    main()
