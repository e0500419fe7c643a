"""DLPack: memory is shared, device and capsule agree."""

from __future__ import annotations

import pytest
import torch
from torch.utils.dlpack import DLDeviceType, from_dlpack, to_dlpack


def test_device_is_the_external_one_with_its_index() -> None:
    x = torch.ones(2, device="infini")
    assert x.__dlpack_device__() == (DLDeviceType.kDLExtDev, 0)
    assert torch.ones(2).__dlpack_device__() == (DLDeviceType.kDLCPU, 0)


@pytest.mark.usefixtures("two_devices")
def test_device_index_is_kept() -> None:
    x = torch.ones(2, device="infini:1")
    assert x.__dlpack_device__() == (DLDeviceType.kDLExtDev, 1)
    assert from_dlpack(x).device == torch.device("infini:1")


@pytest.mark.parametrize("way", ["tensor", "capsule", "versioned"])
def test_memory_is_shared(way: str) -> None:
    x = torch.arange(6, dtype=torch.float32).reshape(2, 3).to("infini")
    view = x.t()[1:]
    source = {
        "tensor": lambda: view,
        "capsule": lambda: to_dlpack(view),
        "versioned": lambda: view.__dlpack__(max_version=(1, 0)),
    }[way]()
    y = from_dlpack(source)
    assert y.device == x.device
    assert y.dtype == x.dtype
    assert y.shape == view.shape
    assert y.stride() == view.stride()
    assert y.data_ptr() == view.data_ptr()
    y.add_(10.0)
    assert x.tolist() == [[0.0, 11.0, 12.0], [3.0, 14.0, 15.0]]


def test_memory_outlives_the_tensor_that_gave_it() -> None:
    y = from_dlpack(torch.full((1000,), 7.0, device="infini"))
    others = [torch.zeros(1000, device="infini") for _ in range(4)]
    assert y.tolist() == [7.0] * 1000
    del others


@pytest.mark.parametrize(
    "dtype", [torch.bool, torch.int8, torch.int64, torch.bfloat16, torch.complex64], ids=str
)
def test_types_are_kept(dtype: torch.dtype) -> None:
    x = torch.ones(3).to(dtype).to("infini")
    assert torch.equal(from_dlpack(x).cpu(), x.cpu())


def test_lazy_and_differentiable_tensors_are_refused() -> None:
    with pytest.raises(BufferError, match="require gradient"):
        from_dlpack(torch.ones(2, device="infini", requires_grad=True))
    with pytest.raises(BufferError, match="conjugate"):
        from_dlpack(torch.ones(2, dtype=torch.complex64).to("infini").conj())


def test_copies_to_the_cpu_are_made_on_request() -> None:
    x = torch.ones(2, device="infini")
    y = from_dlpack(x, device="cpu", copy=True)
    assert y.device.type == "cpu"
    assert y.tolist() == [1.0, 1.0]
    assert from_dlpack(x, copy=True).data_ptr() != x.data_ptr()


def test_operators_of_infiniops_take_the_tensors() -> None:
    ops = pytest.importorskip("infini.ops")
    x = torch.arange(4.0).to("infini")
    y = torch.empty(4, device="infini")
    torch.infini.synchronize()
    ops.add(x, x, out=y)
    torch.infini.synchronize()
    assert y.tolist() == [0.0, 2.0, 4.0, 6.0]
    made = ops.add(x, y)
    torch.infini.synchronize()
    assert (made.device.type, made.tolist()) == ("infini", [0.0, 3.0, 6.0, 9.0])


@pytest.mark.parametrize("first", ["torch_infini", "infini.ops"])
def test_operators_of_infiniops_know_the_device_in_either_order_of_imports(
    run_child, first: str
) -> None:
    pytest.importorskip("infini.ops")
    code = f"""
import {first}
import torch, torch_infini, infini.ops
x = torch.ones(4).to("infini")
torch.infini.synchronize()
y = infini.ops.add(x, x)
torch.infini.synchronize()
assert y.tolist() == [2.0] * 4, y
"""
    run_child(code)
