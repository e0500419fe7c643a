"""Generators: seeds and states."""

import pytest
import torch


def test_manual_seed_reaches_every_device_without_a_warning() -> None:
    torch.manual_seed(1234)
    assert torch.infini.initial_seed() == 1234
    torch.infini.manual_seed(7)
    assert torch.infini.initial_seed() == 7
    torch.infini.manual_seed_all(8)
    assert torch.infini.initial_seed() == 8


def test_state_is_16_bytes_and_round_trips() -> None:
    torch.infini.manual_seed(5)
    state = torch.infini.get_rng_state()
    assert (state.dtype, state.shape, state.device.type) == (torch.uint8, (16,), "cpu")
    torch.infini.manual_seed(6)
    torch.infini.set_rng_state(state)
    assert torch.infini.initial_seed() == 5
    assert len(torch.infini.get_rng_state_all()) == torch.infini.device_count()


def test_states_of_another_size_are_refused() -> None:
    with pytest.raises(RuntimeError, match="has 16 bytes, got 4"):
        torch.infini.set_rng_state(torch.zeros(4, dtype=torch.uint8))


def test_states_of_all_devices_are_set_together_or_not_at_all() -> None:
    torch.infini.manual_seed_all(5)
    states = torch.infini.get_rng_state_all()
    torch.infini.manual_seed_all(6)
    with pytest.raises(RuntimeError, match="does not exist"):
        torch.infini.set_rng_state_all([*states, states[0]])
    assert torch.infini.initial_seed() == 6
    if len(states) > 1:
        with pytest.raises(RuntimeError, match="has 16 bytes, got 4"):
            torch.infini.set_rng_state_all([states[0], torch.zeros(4, dtype=torch.uint8)])
        assert torch.infini.initial_seed() == 6
    torch.infini.set_rng_state_all(states)
    assert torch.infini.initial_seed() == 5


def test_fork_rng_restores() -> None:
    torch.infini.manual_seed(1)
    with torch.random.fork_rng(devices=[0], device_type="infini"):
        torch.infini.manual_seed(2)
    assert torch.infini.initial_seed() == 1


def test_generators_are_made_copied_and_seeded() -> None:
    generator = torch.Generator(device="infini")
    assert generator.device.type == "infini"
    generator.manual_seed(11)
    assert generator.initial_seed() == 11
    assert generator.clone_state().initial_seed() == 11
    assert generator.seed() == generator.initial_seed()
