from __future__ import annotations

import threading

import pytest
import torch


def test_there_is_a_device() -> None:
    assert torch.infini.is_available()
    assert torch.infini.device_count() >= 1
    assert torch.infini.current_device() == 0
    assert torch.infini.is_initialized()


def test_generic_accelerator_functions_agree() -> None:
    assert torch.accelerator.is_available()
    assert torch.accelerator.current_accelerator() == torch.device("infini")
    assert torch.accelerator.device_count() == torch.infini.device_count()
    assert torch.accelerator.current_device_index() == 0
    torch.accelerator.synchronize()
    torch.accelerator.set_device_index(0)


def test_properties_describe_the_device() -> None:
    properties = torch.infini.get_device_properties(0)
    assert properties.name == torch.infini.get_device_name("infini:0")
    assert properties.total_memory > 0
    assert torch.infini.get_device_capability() == (properties.major, properties.minor)


@pytest.mark.parametrize("device", [7, "infini:7", torch.device("infini:7")], ids=str)
def test_devices_that_do_not_exist_are_refused(device: object) -> None:
    count = torch.infini.device_count()
    for act in (
        torch.infini.set_device,
        torch.infini.synchronize,
        torch.infini.get_device_properties,
    ):
        with pytest.raises(RuntimeError, match=rf"infini:7 does not exist: .* {count} infini"):
            act(device)
    with pytest.raises(RuntimeError, match="infini:7 does not exist"), torch.infini.device(device):
        pass
    assert torch.infini.current_device() == 0


@pytest.mark.parametrize("device", ["cpu", torch.device("cuda:0")], ids=str)
def test_other_kinds_of_device_are_refused(device: object) -> None:
    with pytest.raises(ValueError, match="expected an infini device, got"):
        torch.infini.set_device(device)


def test_what_is_no_device_is_refused() -> None:
    with pytest.raises(TypeError, match=r"expected a torch.device, str, int or None, got float"):
        torch.infini.set_device(1.5)


@pytest.mark.parametrize("index", [256, -256, 257, 2**31, 2**40, -(2**40)])
def test_numbers_that_eight_bits_cut_to_a_device_are_refused(index: int) -> None:
    # PyTorch keeps the index of a device in eight bits, where 256 would be 0.
    count = torch.infini.device_count()
    acts = [
        torch.infini.synchronize,
        torch.infini.get_device_properties,
        torch.infini.Stream,
        torch.infini.default_stream,
        torch.infini.current_stream,
        torch.infini.memory_allocated,
        torch.infini.mem_get_info,
        torch.infini.get_rng_state,
    ]
    if index > 0:  # a negative one changes nothing
        acts.append(torch.infini.set_device)
    for act in acts:
        with pytest.raises(RuntimeError, match=f"infini:{index} does not exist"):
            act(index)
    if index > 0:
        with pytest.raises(RuntimeError, match="does not exist"), torch.infini.device(index):
            pass
    assert torch.infini.device_count() == count
    assert torch.infini.current_device() == 0


def test_negative_index_changes_nothing() -> None:
    torch.infini.set_device(-1)
    with torch.infini.device(-1), torch.infini.device(None):
        assert torch.infini.current_device() == 0


@pytest.mark.usefixtures("two_devices")
def test_device_context_restores_also_after_an_error() -> None:
    with torch.infini.device(1):
        assert torch.infini.current_device() == 1
        assert torch.empty(1, device="infini").device.index == 1
        with torch.infini.device("infini:0"):
            assert torch.infini.current_device() == 0
        assert torch.infini.current_device() == 1
    with pytest.raises(KeyError), torch.infini.device(1):
        raise KeyError
    assert torch.infini.current_device() == 0
    with torch.infini.device_of(torch.empty(1, device="infini:1")):
        assert torch.infini.current_device() == 1
    with torch.infini.device_of(torch.empty(1)):
        assert torch.infini.current_device() == 0
    with torch.accelerator.device_index(1):
        assert torch.infini.current_device() == 1


@pytest.mark.usefixtures("two_devices")
def test_every_thread_has_its_own_device_and_stream() -> None:
    torch.infini.set_device(1)
    torch.infini.set_stream(torch.infini.Stream())
    failures: list[str] = []
    start = threading.Barrier(8)

    def work(number: int) -> None:
        # A new thread starts on device 0 and the default stream whatever its parent did.
        if torch.infini.current_device() != 0:
            failures.append("device of the parent")
        if torch.infini.current_stream() != torch.infini.default_stream():
            failures.append("stream of the parent")
        start.wait()
        device = number % 2
        stream = torch.infini.Stream(device)
        for _ in range(10_000):
            torch.infini.set_device(device)
            torch.infini.set_stream(stream)
            if torch.infini.current_device() != device:
                failures.append("device of another thread")
            if torch.infini.current_stream() != stream:
                failures.append("stream of another thread")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert torch.infini.current_device() == 1
    torch.infini.set_stream(torch.infini.default_stream(1))
    torch.infini.set_device(0)


def test_first_use_may_be_in_another_thread(run_child) -> None:
    run_child(
        """
import threading, torch, torch_infini
result = []
thread = threading.Thread(target=lambda: result.append(torch.ones(2, device="infini").tolist()))
thread.start(); thread.join()
assert result == [[1.0, 1.0]]
assert torch.ones(2, device="infini").tolist() == [1.0, 1.0]
"""
    )


def test_without_a_simulated_device_the_cpu_is_used_and_nothing_is_said(run_child) -> None:
    done = run_child(
        """
import torch, torch_infini
from torch_infini import _native
assert _native.backend_name() == "cpu", _native.backend_name()
assert torch.infini.device_count() == 1
assert torch.ones(2, device="infini").add(1).tolist() == [2.0, 2.0]
""",
        environment={"INFINI_RT_SIM_DEVICES": "0"},
    )
    assert done.stderr == ""


def test_threads_that_python_did_not_start_are_bound(run_child) -> None:
    # The first kernel of this process runs in a thread of PyTorch's backward pass.
    run_child(
        """
import torch, torch_infini

class Late(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x.view_as(x)

    @staticmethod
    def backward(context, gradient):
        return torch.ones(3, device="infini") + torch.ones(3, device="infini")

x = torch.empty(3, device="infini", requires_grad=True)
Late.apply(x).backward(torch.empty(3, device="infini"))
assert x.grad.tolist() == [2.0] * 3
"""
    )
