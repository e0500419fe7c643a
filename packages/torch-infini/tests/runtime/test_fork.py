"""After fork(): an error that names the remedy, never a hang."""

from __future__ import annotations

FORK = """
import os, sys, torch, torch_infini

def in_child(work):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            result = repr(work())
        except BaseException as error:
            result = f"{type(error).__name__}: {error}"
        os.write(write, result.encode())
        os._exit(0)
    os.close(write)
    text = b""
    while part := os.read(read, 65536):
        text += part
    assert os.waitpid(child, 0)[1] == 0
    return text.decode()
"""


def test_child_of_a_user_is_told_to_spawn(run_child) -> None:
    run_child(
        FORK
        + """
x = torch.ones(4, device="infini")
pinned = torch.ones(4).pin_memory("infini")
stream = torch.infini.Stream()
for work in (
    lambda: torch.ones(2, device="infini"),
    lambda: x + x,
    lambda: x.cpu(),
    lambda: torch.infini.synchronize(),
    lambda: torch.infini.Stream(),
    lambda: torch.infini.set_device(0),
    lambda: torch.infini.Event().record(),
    lambda: x.record_stream(stream),
    lambda: torch.ones(2).pin_memory(),
    lambda: torch.infini.memory_allocated(),
):
    text = in_child(work)
    assert text.startswith("RuntimeError: ") and "'spawn'" in text, text
assert in_child(lambda: torch.infini.is_available()) == "False"
assert in_child(lambda: torch.infini.is_initialized()) == "False"
assert in_child(lambda: torch.infini.device_count()) == "0"
assert in_child(lambda: torch.infini._is_in_bad_fork()) == "True"

def forget():
    global x, pinned
    del x, pinned
    return "forgot"
assert in_child(forget) == "'forgot'"
assert (x + x).tolist() == [2.0] * 4
""",
        timeout=60,
    )


def test_child_never_waits_for_what_another_thread_of_its_parent_held(run_child) -> None:
    run_child(
        FORK
        + """
import signal, threading
x, stream = torch.ones(4, device="infini"), torch.infini.Stream()
pinned = torch.ones(4).pin_memory()
stop = threading.Event()

def allocate():
    # Sizes that grow, so that each takes new memory under the allocators' locks.
    size = 0
    while not stop.is_set():
        size = size % 4096 + 1
        torch.empty(size, pin_memory=True).is_pinned()
        torch.empty(size, device="infini")

def touch():
    signal.alarm(20)  # the death that ends a child which waits for ever
    assert not pinned.is_pinned()
    try:
        x.record_stream(stream)
    except RuntimeError as error:
        assert "'spawn'" in str(error)
    forget()
    return "done"

def forget():
    global x, pinned
    del x, pinned

threads = [threading.Thread(target=allocate) for _ in range(3)]
for thread in threads:
    thread.start()
try:
    for _ in range(60):
        assert in_child(touch) == "'done'"
finally:
    stop.set()
    for thread in threads:
        thread.join()
""",
        timeout=300,
    )


def test_child_may_start_using_what_the_parent_did_not(run_child) -> None:
    run_child(
        FORK
        + """
assert not torch.infini.is_initialized()
assert in_child(lambda: torch.ones(2, device="infini").tolist()) == "[1.0, 1.0]"
assert in_child(lambda: (torch.ones(2, device="infini") + 1).tolist()) == "[2.0, 2.0]"
""",
        timeout=60,
    )


def test_counting_and_seeding_devices_is_no_use_of_them(run_child) -> None:
    # What a program does that asks for the device and leaves the work to its children.
    run_child(
        FORK
        + """
assert torch.infini.is_available() and torch.accelerator.is_available()
assert torch.infini.device_count() >= 1
torch.manual_seed(3)
assert not torch.infini.is_initialized()
work = lambda: (torch.infini.initial_seed(), torch.ones(2, device="infini").tolist())
for _ in range(2):
    assert in_child(work) == "(3, [1.0, 1.0])"
assert in_child(lambda: torch.infini.device_count()) == repr(torch.infini.device_count())
assert torch.ones(2, device="infini").tolist() == [1.0, 1.0]
assert "'spawn'" in in_child(work)
""",
        timeout=60,
    )


def test_workers_of_a_data_loader_may_fork(run_child) -> None:
    run_child(
        """
import torch, torch_infini
x = torch.ones(4, device="infini")
data = torch.utils.data.TensorDataset(torch.arange(8.0))
loader = torch.utils.data.DataLoader(data, 4, num_workers=1, multiprocessing_context="fork")
assert [batch.sum().item() for (batch,) in loader] == [6.0, 22.0]
assert (x + x).tolist() == [2.0] * 4
""",
        timeout=60,
    )
