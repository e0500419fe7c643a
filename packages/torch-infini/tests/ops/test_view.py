"""Views share storage, whatever device they are on."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

VIEWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "view": lambda t: t.view(4, 6),
    "reshape": lambda t: t.reshape(-1),
    "transpose": lambda t: t.transpose(0, 2),
    "permute": lambda t: t.permute(2, 0, 1),
    "slice": lambda t: t[1:, ::2],
    "select": lambda t: t[1],
    "expand": lambda t: t[:, :1].expand(2, 3, 4),
    "unsqueeze": lambda t: t.unsqueeze(1),
    "squeeze": lambda t: t[:, :1].squeeze(1),
    "flatten": lambda t: t.flatten(1),
    "unflatten": lambda t: t.unflatten(2, (2, 2)),
    "narrow": lambda t: t.narrow(1, 1, 2),
    "diagonal": lambda t: t.diagonal(0, 1, 2),
    "unfold": lambda t: t.unfold(2, 2, 1),
    "as_strided": lambda t: t.as_strided((2, 2), (3, 1), 1),
    "movedim": lambda t: t.movedim(0, -1),
    "detach": lambda t: t.detach(),
    "view of bytes": lambda t: t.view(torch.int16),
    "chunk": lambda t: t.chunk(2, 2)[1],
    "unbind": lambda t: t.unbind(1)[2],
    "split": lambda t: t.split(2, 1)[0],
    "alias": lambda t: torch.ops.aten.alias(t),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_share_storage_and_match_the_cpu(name: str) -> None:
    values = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4)
    x = values.to("infini")
    expected, actual = VIEWS[name](values), VIEWS[name](x)
    assert actual.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    assert actual.stride() == expected.stride()
    assert actual.storage_offset() == expected.storage_offset()
    assert torch.equal(actual.cpu(), expected)


def test_complex_and_real_views() -> None:
    values = torch.randn(3, 2)
    x = values.to("infini")
    z = torch.view_as_complex(x)
    assert torch.equal(z.cpu(), torch.view_as_complex(values))
    assert torch.view_as_real(z).data_ptr() == x.data_ptr()
    assert torch.equal(z.imag.cpu(), values[:, 1])


def test_writing_through_a_view_is_seen() -> None:
    x = torch.zeros(2, 3, device="infini")
    x[1].copy_(torch.ones(3))
    x.t()[0] = 5
    assert x.tolist() == [[5, 0, 0], [5, 1, 1]]


def test_invalid_views_are_refused_as_on_cpu() -> None:
    values = torch.zeros(2, 3)
    for act in (lambda t: t.view(4), lambda t: t.t().view(6), lambda t: t.as_strided((9,), (1,))):
        with pytest.raises(RuntimeError) as on_cpu:
            act(values)
        with pytest.raises(RuntimeError) as on_infini:
            act(values.to("infini"))
        assert str(on_infini.value).split("\n")[0] == str(on_cpu.value).split("\n")[0]


def test_resize_keeps_what_fits() -> None:
    x = torch.arange(6.0).to("infini")
    x.resize_(2, 2)
    assert x.tolist() == [[0, 1], [2, 3]]
    x.resize_(4, 2)
    assert x.shape == (4, 2)
    assert x.flatten()[:6].tolist() == list(range(6))
    with pytest.raises(RuntimeError, match="negative"):
        x.resize_(-2)


def test_set_shares_another_tensors_storage() -> None:
    x = torch.arange(6.0).to("infini")
    y = torch.empty(0, device="infini")
    y.set_(x)
    assert y.is_set_to(x)
    y.set_(x.untyped_storage(), 2, (2, 2), (2, 1))
    assert y.tolist() == [[2, 3], [4, 5]]
    y.set_()
    assert y.numel() == 0
    y.set_(x.untyped_storage())
    assert y.tolist() == list(range(6))


def test_storage_resizes() -> None:
    x = torch.arange(4.0).to("infini")
    x.untyped_storage().resize_(0)
    assert x.untyped_storage().nbytes() == 0
    x.untyped_storage().resize_(16)
    x.copy_(torch.ones(4))
    assert x.tolist() == [1] * 4
