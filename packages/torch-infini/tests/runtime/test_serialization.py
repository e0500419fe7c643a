"""Saving, loading, copying and sharing."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from pathlib import Path

import pytest
import torch


def saved(value: object) -> io.BytesIO:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    buffer.seek(0)
    return buffer


@pytest.mark.parametrize("place", [None, "infini", "infini:0", "cpu", {"infini:0": "cpu"}], ids=str)
def test_saved_tensors_load_where_they_were_or_are_told_to(place: object) -> None:
    x = torch.arange(6.0).reshape(2, 3).to("infini")
    y = torch.load(saved({"x": x, "t": x.t()}), map_location=place)
    device = "cpu" if place in ("cpu", {"infini:0": "cpu"}) else "infini"
    assert y["x"].device.type == device
    assert torch.equal(y["x"].cpu(), x.cpu())
    assert torch.equal(y["t"].cpu(), x.t().cpu())
    # Both are views of one storage still.
    assert y["t"].data_ptr() == y["x"].data_ptr()


def test_tensors_of_the_cpu_load_onto_infini() -> None:
    y = torch.load(saved(torch.arange(3)), map_location="infini")
    assert y.device == torch.device("infini:0")
    assert y.tolist() == [0, 1, 2]


@pytest.mark.usefixtures("two_devices")
def test_device_index_survives() -> None:
    x = torch.ones(2, device="infini:1")
    assert torch.load(saved(x)).device == torch.device("infini:1")
    assert torch.load(saved(x), map_location={"infini:1": "infini:0"}).device.index == 0
    assert pickle.loads(pickle.dumps(x)).device.index == 1
    assert copy.deepcopy(x).device.index == 1


def test_device_that_does_not_exist_is_refused_by_name() -> None:
    with pytest.raises(RuntimeError, match=r"INFINI device 7 but torch\.infini\.device_count"):
        torch.load(saved(torch.ones(2)), map_location="infini:7")
    with pytest.raises(RuntimeError, match="infini:7"):
        torch.ones(2).to("infini:7")


@pytest.mark.parametrize("dtype", [torch.bool, torch.int16, torch.bfloat16, torch.complex128])
def test_pickle_and_deepcopy_keep_values_type_and_layout(dtype: torch.dtype) -> None:
    x = torch.ones(2, 3).to(dtype).to("infini").t()
    for y in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), copy.copy(x)):
        assert y.device == x.device
        assert y.dtype == dtype
        assert y.stride() == x.stride()
        assert torch.equal(y.cpu(), x.cpu())


@pytest.mark.parametrize(
    "view", [lambda z: z.conj(), lambda z: z.conj().imag, lambda z: z.mH[1:]], ids=["c", "n", "t"]
)
def test_lazy_views_keep_their_values(view: Callable[[torch.Tensor], torch.Tensor]) -> None:
    z = torch.randn(3, 4, dtype=torch.complex64)
    x = view(z.to("infini"))
    expected = view(z).resolve_conj().resolve_neg()
    for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), torch.load(saved(x))):
        assert y.device.type == "infini"
        assert torch.equal(y.cpu().resolve_conj().resolve_neg(), expected)


def test_deepcopies_of_views_share_the_copy() -> None:
    x = torch.arange(10.0).to("infini")
    whole, part = copy.deepcopy([x, x[3::2]])
    assert whole.untyped_storage().data_ptr() == part.untyped_storage().data_ptr()
    assert whole.data_ptr() != x.data_ptr()
    part.fill_(0)
    assert whole.tolist() == [0, 1, 2, 0, 4, 0, 6, 0, 8, 0]
    assert x.tolist() == list(range(10))


def test_damaged_files_are_errors_and_the_device_goes_on() -> None:
    x = torch.arange(100.0).to("infini")
    whole = saved(x).getvalue()
    generator = torch.Generator().manual_seed(0)
    for cut in torch.randint(0, len(whole), (50,), generator=generator).tolist():
        with pytest.raises(Exception, match=r".+"):  # PyTorch's kinds and texts
            torch.load(io.BytesIO(whole[:cut]))
    for cut in range(0, len(pickled := pickle.dumps(x)), 50):
        with pytest.raises((EOFError, pickle.UnpicklingError)):
            pickle.loads(pickled[:cut])
    assert (x + 1)[-1].item() == 100


def test_files_of_a_process_without_the_device_name_it(run_child, tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    torch.save(torch.ones(2, device="infini"), path)
    done = run_child(
        f"""
import torch
assert torch.load({str(path)!r}, map_location="cpu").tolist() == [1.0, 1.0]
torch.load({str(path)!r})
""",
        environment={"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
        status=1,
    )
    assert "tagged with infini:0" in done.stderr


def test_parameters_and_modules_round_trip() -> None:
    layer = torch.nn.Linear(3, 2).to("infini")
    other = torch.nn.Linear(3, 2).to("infini")
    other.load_state_dict(torch.load(saved(layer.state_dict())))
    assert torch.equal(other.weight.cpu(), layer.weight.cpu())
    assert other.weight.device.type == "infini"
    assert isinstance(copy.deepcopy(layer).weight, torch.nn.Parameter)
    assert layer.cpu().weight.device.type == "cpu"


def test_moves_by_name_number_and_method() -> None:
    x = torch.arange(3)
    for y in (x.to("infini"), x.to(torch.device("infini", 0)), x.infini(), x.infini(0), x.to(0)):
        assert y.device == torch.device("infini:0")
        assert y.is_infini
        assert torch.equal(y.cpu(), x)
    assert not x.is_infini


def test_sharing_between_processes_is_refused() -> None:
    x = torch.ones(2, device="infini")
    with pytest.raises(RuntimeError, match="only available on CPU"):
        ForkingPickler.dumps(x)
    assert x.cpu().share_memory_().is_shared()


def test_numpy_is_refused_as_for_every_device() -> None:
    with pytest.raises(TypeError, match="infini:0 device type tensor to numpy"):
        torch.ones(2, device="infini").numpy()


def test_states_of_modules_and_optimizers_round_trip() -> None:
    net = torch.nn.Linear(3, 2).to("infini")
    optimizer = torch.optim.Adam(net.parameters())
    net(torch.ones(1, 3, device="infini")).sum().backward()
    optimizer.step()
    states = torch.load(saved((net.state_dict(), optimizer.state_dict())), map_location="infini")
    other = torch.nn.Linear(3, 2).to("infini")
    again = torch.optim.Adam(other.parameters())
    other.load_state_dict(states[0])
    again.load_state_dict(states[1])
    for one, two in zip(net.parameters(), other.parameters(), strict=True):
        assert torch.equal(one.cpu(), two.cpu())
        average = again.state[two]["exp_avg"]
        assert average.device.type == "infini"
        assert torch.equal(optimizer.state[one]["exp_avg"].cpu(), average.cpu())


def test_a_number_means_infini_where_it_is_the_accelerator() -> None:
    if torch.cuda.is_available():
        pytest.skip("a number means CUDA where there is one")
    assert torch.ones(2).to(0).device == torch.device("infini:0")
