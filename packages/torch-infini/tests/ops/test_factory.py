"""Ranges and random numbers: values of PyTorch's CPU code, seeded by the infini generator."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch


@pytest.mark.parametrize(
    "make",
    [
        lambda device: torch.arange(5, device=device),
        lambda device: torch.arange(0.5, 3, 0.25, device=device),
        lambda device: torch.arange(3, dtype=torch.bfloat16, device=device),
        lambda device: torch.linspace(-1, 1, 7, device=device),
        lambda device: torch.logspace(0, 2, 5, device=device),
        lambda device: torch.eye(3, device=device),
        lambda device: torch.eye(2, 4, dtype=torch.int32, device=device),
        lambda device: torch.arange(0, device=device),
    ],
)
def test_ranges_have_the_values_of_the_cpu(make: Callable[[str], torch.Tensor]) -> None:
    there, here = make("infini"), make("cpu")
    assert there.device.type == "infini"
    assert there.dtype == here.dtype
    assert torch.equal(there.cpu(), here)


def test_out_is_resized() -> None:
    out = torch.empty(0, dtype=torch.int64, device="infini")
    assert torch.arange(4, out=out) is out
    assert out.tolist() == [0, 1, 2, 3]


def test_invalid_ranges_are_refused_as_on_cpu() -> None:
    with pytest.raises(RuntimeError, match="step must be nonzero"):
        torch.arange(0, 3, 0, device="infini")


DRAWS: dict[str, Callable[[], torch.Tensor]] = {
    "rand": lambda: torch.rand(1000, device="infini"),
    "randn": lambda: torch.randn(1000, device="infini"),
    "randint": lambda: torch.randint(5, 50, (1000,), device="infini"),
    "randperm": lambda: torch.randperm(1000, device="infini"),
    "uniform": lambda: torch.empty(1000, device="infini").uniform_(-1, 1),
    "bernoulli": lambda: torch.empty(1000, device="infini").bernoulli_(0.25),
    "exponential": lambda: torch.empty(1000, device="infini").exponential_(),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_seed_repeats_and_the_next_draw_differs(name: str) -> None:
    draw = DRAWS[name]
    torch.manual_seed(7)
    first, second = draw().cpu(), draw().cpu()
    assert not torch.equal(first, second)
    torch.manual_seed(7)
    assert torch.equal(draw().cpu(), first)
    state = torch.infini.get_rng_state()
    assert torch.equal(draw().cpu(), second)
    torch.infini.set_rng_state(state)
    assert torch.equal(draw().cpu(), second)


def test_draws_leave_the_generator_of_the_cpu_alone() -> None:
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    torch.rand(4, device="infini")
    assert torch.equal(torch.rand(4), expected)


def test_own_generators_are_independent() -> None:
    a = torch.Generator("infini").manual_seed(5)
    b = torch.Generator("infini").manual_seed(5)
    x = torch.randn(100, device="infini", generator=a)
    assert torch.equal(x.cpu(), torch.randn(100, device="infini", generator=b).cpu())
    assert a.get_offset() == b.get_offset() == 4


def test_generators_of_another_device_are_refused() -> None:
    with pytest.raises(RuntimeError, match="expected a generator of infini:0, got one of cpu"):
        torch.empty(3, device="infini").normal_(generator=torch.Generator())


def test_moments_are_those_of_the_distributions() -> None:
    torch.manual_seed(0)
    x = torch.randn(100_000, device="infini", dtype=torch.float64).cpu()
    assert abs(x.mean()) < 0.02
    assert abs(x.std() - 1) < 0.02
    u = torch.empty(100_000, dtype=torch.float64, device="infini").uniform_(2, 4).cpu()
    assert 2 <= u.min() < u.max() <= 4
    assert abs(u.mean() - 3) < 0.02
    assert abs(torch.empty(100_000, device="infini").bernoulli_(0.25).cpu().mean() - 0.25) < 0.01


def test_strided_targets_are_filled_alone() -> None:
    x = torch.zeros(4, 4, device="infini")
    x[:, 1].uniform_(1, 2)
    host = x.cpu()
    assert (host[:, 1] >= 1).all()
    assert host.sum() == host[:, 1].sum()
