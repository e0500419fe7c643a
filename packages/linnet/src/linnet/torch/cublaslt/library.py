"""cuBLASLt's C interface, as far as products of row-major matrices need it.

The numbers below are those of `cublasLt.h`, the same in CUDA 12 and 13.
"""

from __future__ import annotations

import ctypes
from ctypes import byref, c_float, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any

import torch

_COMPUTE_32F = 68
_R_32F = 0
_DATA_TYPES = {torch.float32: _R_32F, torch.float16: 2, torch.bfloat16: 14}
#: Attributes of a product: whether its first matrix is transposed.
_TRANSA = 3
_OP_T = 1
#: Attributes of a preference.
_MAX_WORKSPACE = 1
_REDUCTIONS = 3
_ALIGNMENTS = (5, 6, 7, 8)  # of A, B, C, D
#: Partial sums meet in place or in f32, never rounded to the result's dtype first.
_WIDE_REDUCTIONS = 1 | 2

_STATUS = {
    1: "not initialised",
    3: "out of memory",
    7: "invalid value",
    8: "not on this processor",
    13: "execution failed",
    14: "internal error",
    15: "not supported",
}


class CublasLtError(RuntimeError):
    """A call of cuBLASLt failed; the text names it and the status."""


class _Algorithm(ctypes.Structure):
    _fields_ = (("data", c_uint64 * 8),)


class _Heuristic(ctypes.Structure):
    _fields_ = (
        ("algorithm", _Algorithm),
        ("workspace", c_size_t),
        ("state", c_int),
        ("waves", c_float),
        ("reserved", c_int * 4),
    )


def load_library() -> Any:
    """The cuBLASLt that this PyTorch uses. OSError where it has none, or it cannot be loaded."""
    if torch.version.cuda is None:
        raise OSError("this PyTorch is built without CUDA, so there is no cuBLASLt")
    # The loader gives the copy that PyTorch has loaded under this name.
    return ctypes.CDLL(f"libcublasLt.so.{torch.version.cuda.partition('.')[0]}")


class Matrix:
    """A column-major matrix description: `rows`, `columns`, elements from column to column."""

    def __init__(
        self, library: Library, dtype: torch.dtype, rows: int, columns: int, stride: int
    ) -> None:
        self.handle = c_void_p()
        library.call(
            "cublasLtMatrixLayoutCreate",
            byref(self.handle),
            c_int(_DATA_TYPES[dtype]),
            c_uint64(rows),
            c_uint64(columns),
            c_int64(stride),
        )


class Library:
    """The functions of a loaded cuBLASLt, and a handle for each device, made at first use. What is
    made lives as long as the process, as PyTorch's own handles do.
    """

    def __init__(self, functions: Any) -> None:
        self._functions = functions
        self._handles: dict[int, c_void_p] = {}

    def call(self, name: str, *arguments: Any) -> None:
        """CublasLtError with the function's name unless it succeeds."""
        status = getattr(self._functions, name)(*arguments)
        if status != 0:
            raise CublasLtError(f"{name} failed: status {status}, {_STATUS.get(status, 'unknown')}")

    def handle(self, index: int) -> c_void_p:
        """The handle of a device."""
        found = self._handles.get(index)
        if found is None:
            found = c_void_p()
            with torch.cuda.device(index):
                self.call("cublasLtCreate", byref(found))
            self._handles[index] = found
        return found

    def stream(self, index: int) -> int:
        """PyTorch's current stream of a device."""
        return int(torch.cuda.current_stream(index).cuda_stream)


class Product:
    """x [rows, inner] times the transpose of weight [columns, inner], both row-major, in f32 sums.

    `strides`: elements from row to row of x, weight and result. `alignments`: bytes that their
    addresses are multiples of. CublasLtError where cuBLASLt has no algorithm for it.
    """

    def __init__(
        self,
        library: Library,
        device: int,
        dtype: torch.dtype,
        sizes: tuple[int, int, int],
        strides: tuple[int, int, int],
        alignments: tuple[int, int, int],
        workspace: int,
    ) -> None:
        rows, columns, inner = sizes
        self._library = library
        self._device = device
        self._product = c_void_p()
        library.call(
            "cublasLtMatmulDescCreate", byref(self._product), c_int(_COMPUTE_32F), c_int(_R_32F)
        )
        # A row-major matrix is its transpose in columns: result^T = weight x^T, and weight itself
        # is read transposed.
        transposed = c_int32(_OP_T)
        library.call(
            "cublasLtMatmulDescSetAttribute",
            self._product,
            c_int(_TRANSA),
            byref(transposed),
            c_size_t(4),
        )
        x_stride, weight_stride, out_stride = strides
        self._weight = Matrix(library, dtype, inner, columns, weight_stride)
        self._x = Matrix(library, dtype, inner, rows, x_stride)
        self._out = Matrix(library, dtype, columns, rows, out_stride)
        x_bytes, weight_bytes, out_bytes = alignments
        found = self._choose(workspace, (weight_bytes, x_bytes, out_bytes, out_bytes))
        self._algorithm = found.algorithm
        self.workspace = int(found.workspace)

    def _choose(self, workspace: int, alignments: tuple[int, int, int, int]) -> _Heuristic:
        preference = c_void_p()
        self._library.call("cublasLtMatmulPreferenceCreate", byref(preference))
        try:
            settings: list[tuple[int, Any]] = [
                (_MAX_WORKSPACE, c_uint64(workspace)),
                (_REDUCTIONS, c_uint32(_WIDE_REDUCTIONS)),
                *((n, c_uint32(size)) for n, size in zip(_ALIGNMENTS, alignments, strict=True)),
            ]
            for attribute, value in settings:
                self._library.call(
                    "cublasLtMatmulPreferenceSetAttribute",
                    preference,
                    c_int(attribute),
                    byref(value),
                    c_size_t(ctypes.sizeof(value)),
                )
            found, count = _Heuristic(), c_int(0)
            self._library.call(
                "cublasLtMatmulAlgoGetHeuristic",
                self._library.handle(self._device),
                self._product,
                self._weight.handle,
                self._x.handle,
                self._out.handle,
                self._out.handle,
                preference,
                c_int(1),
                byref(found),
                byref(count),
            )
        finally:
            self._library.call("cublasLtMatmulPreferenceDestroy", preference)
        if count.value < 1 or found.state != 0:
            raise CublasLtError("cublasLtMatmulAlgoGetHeuristic found no algorithm")
        return found

    def run(self, x: int, weight: int, out: int, workspace: int) -> None:
        """Queues the product of matrices at these addresses on PyTorch's current stream."""
        one, zero = c_float(1.0), c_float(0.0)
        self._library.call(
            "cublasLtMatmul",
            self._library.handle(self._device),
            self._product,
            byref(one),
            c_void_p(weight),
            self._weight.handle,
            c_void_p(x),
            self._x.handle,
            byref(zero),
            c_void_p(out),
            self._out.handle,
            c_void_p(out),
            self._out.handle,
            byref(self._algorithm),
            c_void_p(workspace),
            c_size_t(self.workspace),
            c_void_p(self._library.stream(self._device)),
        )
