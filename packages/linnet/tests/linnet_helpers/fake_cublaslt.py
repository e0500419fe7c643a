"""A cuBLASLt that computes on the host, from the descriptors and addresses it is given."""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import torch
from torch import Tensor

from linnet.torch.cublaslt.library import Library

DATA_TYPES = {0: torch.float32, 2: torch.float16, 14: torch.bfloat16}


@dataclass
class Preference:
    workspace: int = 0
    reductions: int = 7
    alignments: dict[int, int] = field(default_factory=lambda: dict.fromkeys((5, 6, 7, 8), 256))


class FakeFunctions:
    """Records calls by name. `refuses(rows, columns, inner)` tells where there is no algorithm;
    `scratch` is what its algorithms ask for.
    """

    def __init__(self, refuses: Any = lambda *sizes: False, scratch: int = 0) -> None:
        self.calls: list[str] = []
        self.preferences: list[Preference] = []
        self.refuses = refuses
        self.scratch = scratch
        self.made: dict[int, Any] = {}
        self._numbers = count(1)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("cublasLt"):
            raise AttributeError(name)
        words = re.sub("(?=[A-Z])", "_", name.removeprefix("cublasLt"))
        function = getattr(self, words.lower())

        def call(*arguments: Any) -> int:
            self.calls.append(name)
            status: int = function(*arguments)
            return status

        return call

    def _make(self, out: Any, made: Any) -> int:
        out._obj.value = next(self._numbers)
        self.made[out._obj.value] = made
        return 0

    def _create(self, out: Any) -> int:
        return self._make(out, "handle")

    def _matmul_desc_create(self, out: Any, compute: Any, scale: Any) -> int:
        assert (compute.value, scale.value) == (68, 0)
        return self._make(out, {})

    def _matmul_desc_set_attribute(self, which: Any, attribute: Any, value: Any, size: Any) -> int:
        assert size.value == ctypes.sizeof(value._obj)
        self.made[which.value][attribute.value] = value._obj.value
        return 0

    def _matrix_layout_create(
        self, out: Any, dtype: Any, rows: Any, columns: Any, lead: Any
    ) -> int:
        assert lead.value >= rows.value
        made = (DATA_TYPES[dtype.value], rows.value, columns.value, lead.value)
        return self._make(out, made)

    def _matmul_preference_create(self, out: Any) -> int:
        return self._make(out, Preference())

    def _matmul_preference_set_attribute(self, which: Any, key: Any, value: Any, size: Any) -> int:
        made = self.made[which.value]
        assert size.value == (8 if key.value == 1 else 4)
        if key.value == 1:
            made.workspace = value._obj.value
        elif key.value == 3:
            made.reductions = value._obj.value
        else:
            made.alignments[key.value] = value._obj.value
        return 0

    def _matmul_preference_destroy(self, which: Any) -> int:
        del self.made[which.value]
        return 0

    def _matmul_algo_get_heuristic(self, *given: Any) -> int:
        _, _, a, b, _, _, preference, wanted, results, found = given
        assert wanted.value == 1
        preference = self.made[preference.value]
        self.preferences.append(preference)
        _, inner, columns, _ = self.made[a.value]
        rows = self.made[b.value][2]
        if self.refuses(rows, columns, inner) or self.scratch > preference.workspace:
            return 15
        # What a product may rely on is kept in the algorithm and checked when it runs.
        for n, key in enumerate((5, 6, 8)):
            results._obj.algorithm.data[n] = preference.alignments[key]
        results._obj.workspace = self.scratch
        found._obj.value = 1
        return 0

    def _matmul(self, *given: Any) -> int:
        (handle, product, alpha, a, a_layout, b, b_layout, beta) = given[:8]
        (c, c_layout, d, d_layout, algorithm, workspace, size, stream) = given[8:]
        assert self.made[handle.value] == "handle"
        assert (alpha._obj.value, beta._obj.value) == (1.0, 0.0)
        assert self.made[product.value] == {3: 1}  # the first matrix is transposed, no other
        assert (c.value, c_layout.value) == (d.value, d_layout.value)
        assert size.value == self.scratch
        assert bool(workspace.value) == bool(self.scratch)
        assert stream.value == 7
        pairs = zip((a, b, d), algorithm._obj.data, strict=False)
        if any(address.value % alignment for address, alignment in pairs):
            return 13
        left, right = self.read(a, a_layout).double(), self.read(b, b_layout).double()
        out = self.read(d, d_layout)
        out.copy_(left.T @ right)
        return 0

    def read(self, address: Any, layout: Any) -> Tensor:
        """The column-major matrix at an address, as a tensor over that memory."""
        dtype, rows, columns, lead = self.made[layout.value]
        length = (columns - 1) * lead + rows
        memory = (ctypes.c_uint8 * (length * dtype.itemsize)).from_address(address.value)
        flat = torch.frombuffer(memory, dtype=dtype)
        return flat.as_strided((rows, columns), (1, lead))


class FakeLibrary(Library):
    """A library over `FakeFunctions`, on a stream called 7."""

    def __init__(self, functions: FakeFunctions | None = None) -> None:
        self.fake = functions or FakeFunctions()
        super().__init__(self.fake)
        self._handles[0] = ctypes.c_void_p(self._fake_handle())

    def _fake_handle(self) -> int:
        out = ctypes.c_void_p()
        self.call("cublasLtCreate", ctypes.byref(out))
        assert out.value is not None
        return out.value

    def stream(self, index: int) -> int:
        return 7
