"""The random number generators of `torch.infini`: seeds and states.

`randn`, `uniform_` and their like draw from them; `torch.manual_seed` and `torch.random.fork_rng`
go through them.
"""

from __future__ import annotations

import torch

from torch_infini import _native
from torch_infini._devices import DeviceLike, current_device, device_count, device_index


def _generator(index: int) -> torch.Generator:
    return _native.default_generator(index)


def manual_seed(seed: int) -> None:
    """Seeds the generator of the current device."""
    _generator(current_device()).manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seeds the generators of all devices."""
    for index in range(device_count()):
        _generator(index).manual_seed(int(seed))


def seed() -> None:
    """Seeds the generator of the current device from the system's randomness."""
    _generator(current_device()).seed()


def seed_all() -> None:
    """Seeds all devices alike from the system's randomness."""
    if device_count() > 0:
        manual_seed_all(_generator(current_device()).seed())


def initial_seed() -> int:
    """Returns the seed of the current device's generator."""
    return int(_generator(current_device()).initial_seed())


def get_rng_state(device: DeviceLike = "infini") -> torch.Tensor:
    """Returns a generator's state: uint8[16] on the CPU (seed, then offset)."""
    return _generator(device_index(device)).get_state()


def get_rng_state_all() -> list[torch.Tensor]:
    """Returns the state of every device's generator."""
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state(new_state: torch.Tensor, device: DeviceLike = "infini") -> None:
    """Sets a generator's state to one that `get_rng_state` returned."""
    _generator(device_index(device)).set_state(new_state)


def set_rng_state_all(new_states: list[torch.Tensor]) -> None:
    """Sets the state of every device's generator; of the first ones, if there are fewer states.

    Raises:
        RuntimeError: there are more states than devices, or one of them is no generator's state. No
            generator has changed then.
    """
    for index, state in enumerate(new_states):
        _generator(index).clone_state().set_state(state)
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


def _is_in_bad_fork() -> bool:
    return _native.in_bad_fork()
