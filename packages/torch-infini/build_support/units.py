"""Joins sources into few files to compile.

Most of the time of a source goes into PyTorch's headers, which those of one file share.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

#: What is compiled together; a source that no entry names is compiled by itself.
UNITS = {
    "runtime": (
        "csrc/runtime/allocator.cc",
        "csrc/runtime/block_pool.cc",
        "csrc/runtime/device.cc",
        "csrc/runtime/error.cc",
        "csrc/runtime/event.cc",
        "csrc/runtime/generator.cc",
        "csrc/runtime/guard.cc",
        "csrc/runtime/hooks.cc",
        "csrc/runtime/host_allocator.cc",
        "csrc/runtime/profiler.cc",
        "csrc/runtime/stream.cc",
    ),
    "tensors": (
        "csrc/ops/call.cc",
        "csrc/ops/copy.cc",
        "csrc/ops/element.cc",
        "csrc/ops/empty.cc",
        "csrc/ops/factory.cc",
        "csrc/ops/fallback.cc",
        "csrc/ops/index.cc",
        "csrc/ops/strided_runs.cc",
        "csrc/ops/view.cc",
    ),
    "composed": (
        "csrc/ops/composed.cc",
        "csrc/ops/composed_activations.cc",
        "csrc/ops/composed_math.cc",
        "csrc/ops/composed_parts.cc",
    ),
    "training": (
        "csrc/ops/autocast.cc",
        "csrc/ops/composed_optimizers.cc",
        "csrc/ops/composed_statistics.cc",
        "csrc/ops/composed_training.cc",
    ),
    "operators": ("csrc/autograd/workers.cc",),
}
#: The unit of the sources that the found InfiniOps calls for.
OF_OPERATORS = "operators"


def write(operator_sources: Iterable[str], folder: Path) -> list[str]:
    """Writes a file for each unit into `folder` and returns their paths.

    A file that would not change is left alone, so that it is not compiled again.

    Args:
        operator_sources: sources, relative to the package, that join `OF_OPERATORS`.
        folder: where the files go; it exists.
    """
    paths = []
    for name, sources in UNITS.items():
        joined = sorted({*sources, *(operator_sources if name == OF_OPERATORS else ())})
        lines = ["// Written by build_support/units.py.\n"]
        lines += [f'#include "{source.removeprefix("csrc/")}"\n' for source in joined]
        text = "".join(lines)
        path = folder / f"unit_{name}.cc"
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
        paths.append(str(path.resolve()))
    return paths
