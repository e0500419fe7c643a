"""Builds InfiniOps with contracts beside its own, for tests of linked operators."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]


def install_with(
    contracts: Path,
    slots: Mapping[str, Sequence[int]],
    folder: Path,
    environment: Mapping[str, str] = os.environ,
) -> Path:
    """The folder below `folder` that holds `infini.ops` with the given slots of operators alone.

    What is not selected looks for no provider, so vllm's need not be there.
    """
    sources = folder / "infiniops"
    shutil.copytree(ROOT, sources, ignore=shutil.ignore_patterns("build", "tests", "__pycache__"))
    shutil.copytree(contracts, sources / "src" / "linked", dirs_exist_ok=True)
    selection = {name: {"implementations": list(chosen)} for name, chosen in slots.items()}
    (sources / "ops.json").write_text(json.dumps(selection))
    target = folder / "installed"
    options = ["WITH_CPU=ON", "WITH_SIM=ON", "WITH_LINKED=ON"]
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--no-deps"),
            *("--no-build-isolation", "--target", target),
            *(f"-Ccmake.define.{option}" for option in options),
            sources,
        ],
        env=environment,
        check=True,
    )
    return target
