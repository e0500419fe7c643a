"""The byte roofline: a plain read of memory, by read_probe.cc compiled for the machine at hand."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import torch

import infinirt

#: Reads all bytes of a contiguous tensor, on the threads that the kernels use.
Probe: TypeAlias = Callable[[torch.Tensor], object]


def read_probe(folder: Path) -> Probe:
    """Compiles the probe in `folder`, which must outlive it, with the C++ compiler `c++`."""
    prefix = infinirt.prefix()
    library = folder / "read_probe.so"
    source = Path(__file__).with_name("read_probe.cc")
    options = ["-O3", "-march=native", "-std=c++20", "-shared", "-fPIC", "-Wno-psabi"]
    runtime = [f"-I{prefix}/include", f"-L{prefix}/lib", "-l:libinfinirt.so"]
    command = ["c++", *options, str(source), "-o", str(library), *runtime]
    subprocess.run(command, check=True)
    function = ctypes.CDLL(str(library)).infini_read_probe
    function.argtypes = [ctypes.c_void_p, ctypes.c_int64]
    return lambda tensor: function(tensor.data_ptr(), tensor.numel() * tensor.element_size())
