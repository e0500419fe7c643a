import pytest
import torch


def test_empty_has_what_was_asked_for() -> None:
    x = torch.empty(2, 3, dtype=torch.int16, device="infini")
    assert x.device == torch.device("infini:0")
    assert (x.shape, x.dtype, x.stride()) == ((2, 3), torch.int16, (3, 1))
    assert torch.empty(2, device="infini").dtype == torch.get_default_dtype()
    assert torch.empty(2, 3, 4, 5, device="infini", memory_format=torch.channels_last).stride() == (
        60,
        1,
        15,
        3,
    )


def test_empty_strided_has_the_strides_that_were_asked_for() -> None:
    x = torch.empty_strided((2, 3), (1, 5), device="infini")
    assert (x.shape, x.stride()) == ((2, 3), (1, 5))
    assert torch.empty_strided((3,), (0,), device="infini").stride() == (0,)
    with pytest.raises(RuntimeError):
        torch.empty_strided((3,), (-1,), device="infini")


def test_empty_like_and_new_empty_follow_their_model() -> None:
    x = torch.empty(2, 3, device="infini").t()
    assert torch.empty_like(x).stride() == x.stride()
    assert torch.empty_like(x).device == x.device
    assert torch.empty_like(x, device="cpu").device.type == "cpu"
    assert x.new_empty(4).device == x.device
    assert x.new_zeros(4).tolist() == [0] * 4


def test_negative_sizes_are_refused() -> None:
    with pytest.raises(RuntimeError, match="negative dimension -1"):
        torch.empty(-1, device="infini")


def test_types_that_infini_lacks_are_refused_by_name() -> None:
    with pytest.raises(
        NotImplementedError, match="empty on infini: no element type Float8_e5m2fnuz"
    ):
        torch.empty(2, dtype=torch.float8_e5m2fnuz, device="infini")


def test_sparse_layouts_are_refused_by_name() -> None:
    with pytest.raises((NotImplementedError, RuntimeError), match=r"[Ss]parse"):
        torch.empty(2, 2, layout=torch.sparse_coo, device="infini")


def test_pinned_infini_tensors_are_refused() -> None:
    with pytest.raises(RuntimeError, match="pin_memory is for tensors of the CPU"):
        torch.empty(2, pin_memory=True, device="infini")


@pytest.mark.parametrize("device", ["infini:7", "infini:2"])
def test_devices_that_do_not_exist_are_refused(device: str) -> None:
    with pytest.raises(RuntimeError, match=f"{device} does not exist: there "):
        torch.empty(2, device=device)


def test_default_device_applies() -> None:
    with torch.device("infini"):
        assert torch.zeros(2).device.type == "infini"
