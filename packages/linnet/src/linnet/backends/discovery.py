"""The back ends that installed packages name in the entry point group `linnet.backends`."""

from __future__ import annotations

import contextlib
import sys
import threading
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from linnet.backends.contract import CONTRACT, Backend

GROUP = "linnet.backends"
METHODS = ("probe", "match", "compile", "estimate_cost")


@dataclass(frozen=True)
class Skipped:
    """An entry point that gave no back end: its name, `module:attribute`, the distribution that
    declares it, and why it is left out.
    """

    name: str
    value: str
    distribution: str
    reason: str


@dataclass(frozen=True)
class _Found:
    backends: tuple[Backend, ...]
    skipped: tuple[Skipped, ...]


_lock = threading.RLock()
_found: _Found | None = None
_loading: str | None = None


def available() -> list[Backend]:
    """The back ends that are installed and fit this contract, by name.

    The first call loads them; later calls return the same objects. One that fails in any way is
    left out and listed by `skipped`.
    """
    return list(_discover().backends)


def skipped() -> list[Skipped]:
    """The entry points that gave no back end, each with its reason."""
    return list(_discover().skipped)


def _discover() -> _Found:
    global _found
    with _lock:
        if _found is None:
            if _loading is not None:
                raise RuntimeError(
                    f"linnet.backends: the entry point {_loading} asked for the installed back "
                    "ends while they were being loaded; ask for them later than at import"
                )
            _found = _load_all()
        return _found


def _load_all() -> _Found:
    global _loading
    backends: dict[str, tuple[Backend, EntryPoint]] = {}
    left_out: list[Skipped] = []
    # Sorted, so that which of two back ends of one name is used does not depend on the disk.
    # Those of Linnet come first, then those that have the name of their package, so that no other
    # package takes their names.
    points = sorted(
        entry_points(group=GROUP),
        key=lambda p: (
            not p.value.startswith("linnet."),
            not _bears_name_of_package(p),
            p.name,
            _distribution(p),
            p.value,
        ),
    )
    for point in points:
        _loading = point.name
        try:
            # A plug-in that prints must not end up in the output of a command.
            with contextlib.redirect_stdout(sys.stderr):
                backend = _load(point)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit at import is a broken plug-in too
            left_out.append(_skip(point, _reason(error)))
            continue
        finally:
            _loading = None
        if backend.name in backends:
            other = backends[backend.name][1]
            left_out.append(
                _skip(
                    point,
                    f"the name {backend.name!r} is taken by {other.value} of "
                    f"{_distribution(other)}; uninstall one of the two",
                )
            )
            continue
        backends[backend.name] = (backend, point)
    ordered = sorted(backends)
    return _Found(tuple(backends[name][0] for name in ordered), tuple(left_out))


def _load(point: EntryPoint) -> Backend:
    factory = point.load()
    if not callable(factory):
        raise TypeError(
            f"{point.value} is of type {type(factory).__name__}; expected a class or function "
            "that takes nothing and returns a back end"
        )
    return check_backend(factory(), point.value)


def check_backend(backend: Any, source: str) -> Backend:
    """Returns `backend` if it has what the contract asks for; TypeError or ValueError otherwise."""
    if backend is None:
        raise TypeError(f"{source} returned None; expected a back end")
    for name in ("name", "version"):
        value = getattr(backend, name, None)
        if not isinstance(value, str) or not value:
            raise TypeError(f"{source}: `{name}` must be a text that is not empty, got {value!r}")
    contract = getattr(backend, "contract", None)
    if contract != CONTRACT or isinstance(contract, bool):
        raise ValueError(
            f"{source} was written for contract version {contract!r}; this Linnet has version "
            f"{CONTRACT}. Install a release of it for this version"
        )
    lacking = [name for name in METHODS if not callable(getattr(backend, name, None))]
    if lacking:
        raise TypeError(f"{source} lacks the method {', '.join(lacking)}")
    checked: Backend = backend
    return checked


def _reason(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception as another:
        text = f"its text cannot be had ({type(another).__name__})"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _skip(point: EntryPoint, reason: str) -> Skipped:
    return Skipped(point.name, point.value, _distribution(point), reason)


def _bears_name_of_package(point: EntryPoint) -> bool:
    name = "" if point.dist is None else point.dist.name
    return name.replace("-", "_").lower() == point.name.replace("-", "_").lower()


def _distribution(point: EntryPoint) -> str:
    dist = point.dist
    return f"{dist.name} {dist.version}" if dist is not None else "an unknown distribution"
