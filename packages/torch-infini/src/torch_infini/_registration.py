"""Checks the process, then registers the device with PyTorch."""

from __future__ import annotations

import atexit
from pathlib import Path

import torch
from torch.utils import backend_registration

from torch_infini import _libraries, _record

BACKEND_NAME = "infini"
_UNNAMED = "privateuseone"


def register() -> str:
    """Registers the device `infini` unless it is, and returns the version of torch-infini.

    Raises:
        ImportError: another back end has PyTorch's slot, or the build record, torch, InfiniRT or
            InfiniOps do not fit. Nothing was registered then.
    """
    _check_slot(torch._C._get_privateuse1_backend_name())
    record = _check_build()
    from torch_infini import _native

    if torch._C._get_privateuse1_backend_name() == BACKEND_NAME:
        return record.version
    try:
        _native.register_backend()
    except RuntimeError as error:
        raise ImportError(f"torch_infini: {error}") from error
    backend_registration.rename_privateuse1_backend(BACKEND_NAME)
    from torch_infini import _compile, _upstream, infini

    torch._register_device_module(BACKEND_NAME, infini)  # type: ignore[no-untyped-call]  # torch's
    backend_registration.generate_methods_for_privateuse1_backend(for_storage=True)
    _upstream.install()
    _compile.install()
    atexit.register(_native.settle_workers)
    return record.version


def _check_slot(name: str) -> None:
    """Refuses a process in which another out-of-tree back end is registered."""
    if name not in (_UNNAMED, BACKEND_NAME):
        raise ImportError(
            f"PyTorch has room for one out-of-tree device in a process, and {name!r} is registered "
            f"already; import torch_infini in a process of its own, or set "
            f"TORCH_DEVICE_BACKEND_AUTOLOAD=0 and import only the one that you want"
        )


def _check_build() -> _record.BuildRecord:
    """Compares the build record with this process, loads the two libraries, returns the record."""
    record = _record.read(Path(__file__).with_name(_record.FILE_NAME))
    _record.check_torch(record, torch.__version__, torch.compiled_with_cxx11_abi())
    # InfiniRT first, so that InfiniOps finds the same copy.
    for library, abi in (
        (_libraries.RUNTIME, record.infinirt_abi),
        (_libraries.OPERATORS, record.infiniops_abi),
    ):
        loaded = _libraries.load(library)
        _record.check_library(library.soname, abi, _libraries.abi_version(library, loaded))
    return record
