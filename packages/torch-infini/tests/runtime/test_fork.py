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
for work in (
    lambda: torch.ones(2, device="infini"),
    lambda: x + x,
    lambda: x.cpu(),
    lambda: torch.infini.synchronize(),
    lambda: torch.infini.Stream(),
    lambda: torch.infini.set_device(0),
    lambda: torch.infini.Event().record(),
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
