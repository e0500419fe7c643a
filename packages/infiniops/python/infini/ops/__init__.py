"""InfiniOps: operators of the Infini stack.

Each operator is a function that takes tensors of any library (torch, numpy, anything with DLPack)
and returns one of the same library::

    import numpy as np
    import infini.ops

    x = np.ones((2, 4), dtype=np.float32)
    y = infini.ops.add(x, x, alpha=0.5)

`operators()` lists them; `help(infini.ops.add)` says what one takes.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import index as _index
from os.path import exists
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    # Not at run time: importing this package should cost next to nothing.
    from pathlib import Path

    from .linked import LinkedProvider

# There where the build is linked with libraries of other people. Before the compiled module, which
# the loader would refuse without saying why, or load against functions that have moved.
for _folder in __path__:
    _linked_file = f"{_folder}/_prefix/share/infiniops/linked.json"
    if exists(_linked_file):  # noqa: PTH110 - pathlib would take a third of the import's time
        importlib.import_module(".linked", __name__).require_unchanged(_linked_file)

# The compiled module is typed by the generated __init__.pyi, which a wheel holds beside this file.
_native: Any = importlib.import_module("._native", __name__)

Tensor = _native.Tensor

__version__: str = _native.version


class Implementation(NamedTuple):
    """An active implementation of an operator."""

    slot: int
    name: str


class Explanation(NamedTuple):
    """What `explain` says about one implementation."""

    slot: int
    name: str
    selected: bool
    reason: str


class CacheInfo(NamedTuple):
    """One cache of the calling thread: look-ups that found an entry and that did not, entries."""

    hits: int
    misses: int
    size: int
    capacity: int


def operators() -> tuple[str, ...]:
    """The operators of this build, in alphabetical order."""
    names: tuple[str, ...] = _native.operators()
    return names


def empty(shape: Sequence[int], *, dtype: str = "float32", device: str = "cpu") -> Any:
    """Make an uninitialised `Tensor` on any device.

    Raises:
        ValueError: A size is negative, or there is no such device.
        TypeError: There is no such dtype, or `shape` is no sequence of whole numbers.
        MemoryError: The device has no room.
    """
    try:
        sizes = [_index(size) for size in shape]
    except TypeError:
        raise TypeError(
            f"empty: `shape` must be a sequence of whole numbers such as [2, 3], got {shape!r}"
        ) from None
    return _native.empty(sizes, dtype=dtype, device=device)


@contextmanager
def use(
    choices: Mapping[str, int | str] | None = None, *, fallback: bool = False
) -> Iterator[None]:
    """Choose implementations for the calls of this thread inside the `with` block.

    Args:
        choices: Operator -> slot or name.
        fallback: Whether an implementation that does not support a call gives way to the smallest
            slot that does.

    Raises:
        NotImplementedError: An operator is not in this build.
    """
    choices = choices or {}
    for operator in choices:
        _require(operator)
    text = ",".join(f"{operator}={choice}" for operator, choice in choices.items())
    selection = _native.Selection(text, fallback)
    selection.enter()
    try:
        yield
    finally:
        selection.exit()


def active_implementations(operator: str, device: str = "cpu") -> tuple[Implementation, ...]:
    """The implementations of `operator` on `device`, by slot; the first is the default.

    Raises:
        NotImplementedError: `operator` is not in this build.
        ValueError: There is no such device type.
    """
    _require(operator)
    found = _native.active_implementations(operator, device)
    return tuple(Implementation(slot, name) for slot, name in found)


def explain(operator: str, *args: object, **kwargs: object) -> tuple[Explanation, ...]:
    """Say of each implementation whether `operator(*args, **kwargs)` would run it, and why.

    Nothing runs. Raises what the call itself would raise for bad arguments.
    """
    _require(operator)
    function = getattr(_native, f"_explain_{operator}")
    return tuple(Explanation(*report) for report in function(*args, **kwargs))


def cache_info() -> dict[str, CacheInfo]:
    """What calls of this thread have kept to be faster the next time, by the name of the cache.

    A cache keeps what was last asked for, at most `capacity` entries, and finds an entry by
    everything that it depends on. `selection` keeps which slot a name means, for calls under `use`
    or INFINI_OPS_IMPLEMENTATION. Kernels for the CPU prepare nothing that would be kept.
    """
    return {name: CacheInfo(*counts) for name, *counts in _native.cache_info()}


def clear_cache() -> None:
    """Empty the caches of this thread and free the scratch memory of its CPU kernels."""
    _native.clear_cache()


def linked_providers() -> tuple[LinkedProvider, ...]:
    """The libraries of other people that implementations of this build call; mostly none.

    Importing this package compares each with what it was when the build was configured.
    """
    from .linked import read_providers

    file = prefix() / "share" / "infiniops" / "linked.json"
    return read_providers(file) if file.is_file() else ()


def bind_external_device(device_type: str | None) -> None:
    """Say which InfiniRT device type DLPack's external device is; None forgets it.

    Without a call it is the back end of torch-infini's device, once that is imported.
    """
    _native.bind_external_device(device_type)


def prefix() -> Path:
    """The folder that holds `include/`, `lib/` and `share/` of this distribution.

    Raises:
        RuntimeError: The distribution was installed without its compiled part.
    """
    from pathlib import Path

    # An editable install has two folders: the sources, and the one with what CMake installed.
    for folder in __path__:
        candidate = Path(folder) / "_prefix"
        if (candidate / "share" / "infiniops" / "operators.json").is_file():
            return candidate.resolve()
    raise RuntimeError(
        f"infiniops {__version__} was installed without its prefix (looked for _prefix in "
        f"{', '.join(map(str, __path__))}); reinstall the distribution infiniops"
    )


def operators_json() -> Path:
    """The file that says what this build has; docs/infiniops/operators-json.md describes it."""
    return prefix() / "share" / "infiniops" / "operators.json"


__all__ = [
    "CacheInfo",
    "Explanation",
    "Implementation",
    "Tensor",
    "__version__",
    "active_implementations",
    "bind_external_device",
    "cache_info",
    "clear_cache",
    "empty",
    "explain",
    "linked_providers",
    "operators",
    "operators_json",
    "prefix",
    "use",
]


def __getattr__(name: str) -> Any:
    # With `obj` left out, Python adds no hint of its own to that of the message.
    raise AttributeError(_no_operator(name), name=name)


def _require(operator: str) -> None:
    if operator not in _OPERATORS:
        raise NotImplementedError(_no_operator(operator))


def _no_operator(name: str) -> str:
    # Loaded here, since importing this package should cost next to nothing.
    from difflib import get_close_matches

    near = get_close_matches(str(name)[:100].lower(), operators(), 1)
    hint = (
        f"did you mean `{near[0]}`? infini.ops.operators() lists what it has"
        if near
        else f"it has {', '.join(operators())}"
    )
    return f"`{name}` is no operator of this build; {hint}"


# The operators of this build.
_OPERATORS = frozenset(operators())
for _name in operators():
    globals()[_name] = getattr(_native, _name)
    __all__ += [_name]
del _name
