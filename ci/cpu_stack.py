"""Runs a small model over InfiniOps; `nox -s build` calls it where only wheels are installed.

It stops where a compiler is in `PATH`, since nothing may need one.
"""

from __future__ import annotations

import shutil
import sys

import torch

from linnet.torch import load

COMPILERS = ("cc", "c++", "gcc", "g++", "clang", "clang++", "cmake", "ninja", "nvcc")
WIDTH = 64


def main(source: str) -> None:
    """Plans the model `source`, two layers of norm and product, and compares with its meaning."""
    found = [path for name in COMPILERS if (path := shutil.which(name))]
    if found:
        raise SystemExit(f"expected no compiler in PATH, found {', '.join(found)}")
    torch.manual_seed(0)
    weights = {}
    for layer in range(2):
        weights[f"layers.{layer}.norm.weight"] = 1 + torch.randn(WIDTH) / 10
        weights[f"layers.{layer}.proj.weight"] = torch.randn(WIDTH, WIDTH) / WIDTH**0.5
    generics = {"H": WIDTH, "T": "f32"}
    x = torch.randn(3, WIDTH)
    expected = load(source, generics=generics, weights=weights, compile=False)(x)
    model = load(source, generics=generics, weights=weights)
    torch.testing.assert_close(model(x), expected)
    plan = model.plan_for("forward", [x], measure=False)
    (planned,) = plan.run([x], model.context_for(plan))
    torch.testing.assert_close(planned, expected)
    regions = [item for item in plan.regions if item.backend.name == "infiniops"]
    if not regions:
        raise SystemExit("expected regions that InfiniOps runs, got none: is its back end found?")
    print(f"{len(regions)} regions by InfiniOps, equal to the interpreted model")


if __name__ == "__main__":
    main(sys.argv[1])
