"""The PyTorch device `infini`.

Importing this package registers the device with PyTorch and makes `torch.infini`. PyTorch imports
it by itself through the entry point `torch.backends`, unless TORCH_DEVICE_BACKEND_AUTOLOAD is 0. An
import that is refused (`ImportError`) leaves PyTorch as it was.
"""


def _autoload() -> None:
    """The entry point that PyTorch calls at the end of its own import.

    Importing this package is all that is needed. It is defined before `import torch` below, since
    that import calls it when a program imports `torch_infini` first.
    """


import torch  # noqa: E402, F401  # see `_autoload`

from torch_infini import _registration  # noqa: E402  # after the checks above

__all__ = ["__version__", "backend_name"]


def backend_name() -> str:
    """The device type of InfiniRT that `infini` stands for, such as "cpu" or "sim"."""
    from torch_infini import _native

    return _native.backend_name()


__version__: str = _registration.register()
