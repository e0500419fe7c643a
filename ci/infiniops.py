"""The configurations in which InfiniOps is built for its C++ tests."""

from __future__ import annotations

import sys
from functools import partial

from ci import infinirt, native
from ci.native import Configuration
from ci.steps import Step

PACKAGE = "packages/infiniops"


def _tested(runtime: Configuration, name: str, **more: str) -> Configuration:
    options = {
        "WITH_CPU": "ON",
        "WITH_SIM": "ON",
        "INFINI_OPS_BUILD_TESTING": "ON",
        "INFINI_OPS_WERROR": "ON",
        "INFINI_RT_ROOT": str(runtime.prefix),
        # The generators run in the session's environment, which has what they need.
        "Python_EXECUTABLE": sys.executable,
        **more,
    }
    return Configuration(name, PACKAGE, options, requires=(runtime,))


TESTS = _tested(infinirt.TESTS, "infiniops-tests")
SANITIZERS = {
    name: _tested(
        runtime,
        f"infiniops-{name}",
        INFINI_OPS_SANITIZE=name,
        # The operators that the C++ tests call; others would only be compiled.
        INFINI_OPS_OPS="add,cat,linear,rms_norm",
        CMAKE_BUILD_TYPE="RelWithDebInfo",
    )
    for name, runtime in infinirt.SANITIZERS.items()
}


def build_and_test_steps() -> list[Step]:
    """Build and CTest over the runtime that the steps before have built."""
    return [
        Step("infiniops: build", partial(native.build, TESTS)),
        Step("infiniops: C++ tests", partial(native.run_tests, TESTS)),
    ]


def sanitize_steps() -> list[Step]:
    """Build and CTest under each sanitizer, over the runtime that was built under the same."""
    return infinirt.sanitize_steps("infiniops", SANITIZERS)
