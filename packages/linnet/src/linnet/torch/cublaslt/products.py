"""Products of tensors by cuBLASLt, with what was found out about each size kept."""

from __future__ import annotations

import threading
from typing import TypeAlias

import torch
from torch import Tensor

from linnet.torch.cublaslt.library import Library, Product

#: Bytes of scratch memory that an algorithm may ask for: what NVIDIA advises for Hopper.
WORKSPACE = 32 * 2**20
#: Addresses aligned to more than this gain nothing.
_MOST_ALIGNED = 256

_Sizes: TypeAlias = tuple[int, int, int]
_Key: TypeAlias = tuple[int, torch.dtype, _Sizes, _Sizes, _Sizes]


class Products:
    """Multiplies matrices; descriptors and the chosen algorithm are made once for each device,
    dtype, sizes, strides and alignment of addresses.
    """

    def __init__(self, library: Library, workspace: int = WORKSPACE) -> None:
        self._library = library
        self._workspace = workspace
        self._known: dict[_Key, Product] = {}
        self._lock = threading.Lock()

    def check(self, device: int, dtype: torch.dtype, rows: int, columns: int, inner: int) -> None:
        """CublasLtError unless there is an algorithm for contiguous matrices of these sizes at any
        address that a tensor of the dtype may have.
        """
        size = dtype.itemsize
        self._product(
            (device, dtype, (rows, columns, inner), (inner, inner, columns), (size, size, size))
        )

    def multiply(self, x: Tensor, weight: Tensor, out: Tensor) -> None:
        """Writes x [rows, inner] times the transpose of weight [columns, inner] to out [rows,
        columns]; columns of all three lie next to each other.
        """
        sizes = (x.shape[0], weight.shape[0], x.shape[1])
        strides = (_stride(x), _stride(weight), _stride(out))
        alignments = (_alignment(x), _alignment(weight), _alignment(out))
        product = self._product((x.device.index or 0, x.dtype, sizes, strides, alignments))
        # PyTorch's allocator hands this memory on in the order of the stream, in a graph too.
        scratch = (
            torch.empty(product.workspace, dtype=torch.uint8, device=x.device)
            if product.workspace
            else None
        )
        product.run(
            x.data_ptr(),
            weight.data_ptr(),
            out.data_ptr(),
            0 if scratch is None else scratch.data_ptr(),
        )

    def _product(self, key: _Key) -> Product:
        with self._lock:
            found = self._known.get(key)
            if found is None:
                found = self._known[key] = Product(self._library, *key, self._workspace)
            return found


def _stride(matrix: Tensor) -> int:
    """Elements from row to row; PyTorch lets a single row have any."""
    return matrix.shape[1] if matrix.shape[0] == 1 else matrix.stride(0)


def _alignment(tensor: Tensor) -> int:
    address = tensor.data_ptr()
    return min(address & -address, _MOST_ALIGNED)
