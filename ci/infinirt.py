"""The configurations in which InfiniRT is built, and what is done with each."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from ci import native, toolchain
from ci.native import ROOT, Configuration
from ci.steps import Skip, Step, StepError, output_of, run

PACKAGE = "packages/infinirt"
VENDORS = ("iluvatar", "hygon", "thead", "metax", "moore")

_HOST = {"WITH_CPU": "ON", "WITH_SIM": "ON", "INFINI_RT_WERROR": "ON"}
_TESTED = {**_HOST, "INFINI_RT_BUILD_TESTING": "ON"}

PREFIX = Configuration("infinirt", PACKAGE, _HOST)
TESTS = Configuration("infinirt-tests", PACKAGE, _TESTED)
CUDA = Configuration("infinirt-cuda", PACKAGE, {**_TESTED, "WITH_NVIDIA": "ON"})
BENCHMARKS = Configuration(
    "infinirt-benchmarks", PACKAGE, {**_HOST, "INFINI_RT_BUILD_BENCHMARKS": "ON"}
)
SANITIZERS = {
    name: Configuration(
        f"infinirt-{name}",
        PACKAGE,
        {**_TESTED, "INFINI_RT_SANITIZE": name, "CMAKE_BUILD_TYPE": "RelWithDebInfo"},
    )
    for name in ("address", "thread")
}


def standin(vendor: str) -> Configuration:
    """The stand-in for the SDK of `vendor`: its interface over host memory."""
    return Configuration(
        f"standin-{vendor}", f"{PACKAGE}/tests/standin_sdk", {"STANDIN_VENDOR": vendor}
    )


def with_vendor(vendor: str) -> Configuration:
    """InfiniRT with the back end of `vendor`, on the stand-in for its SDK."""
    sdk = standin(vendor)
    options = {
        **_TESTED,
        f"WITH_{vendor.upper()}": "ON",
        f"INFINI_RT_{vendor.upper()}_ROOT": str(sdk.prefix),
    }
    return Configuration(f"infinirt-{vendor}", PACKAGE, options, requires=(sdk,))


def build_and_test_steps() -> list[Step]:
    """Build and CTest of cpu and sim, and a consumer of the installed prefix."""
    return [
        Step("infinirt: build", partial(native.build, TESTS)),
        Step("infinirt: C++ tests", partial(native.run_tests, TESTS)),
        Step("infinirt: consumer of a moved prefix", partial(use_moved_prefix, TESTS)),
    ]


def sanitize_steps(
    package: str = "infinirt", configurations: Mapping[str, Configuration] = SANITIZERS
) -> list[Step]:
    """Build and CTest of `package` in each of its `configurations`, by name of the sanitizer."""
    steps = []
    for name, configuration in configurations.items():
        steps += [
            Step(f"{package}: build, {name}", partial(native.build, configuration)),
            Step(
                f"{package}: C++ tests, {name}",
                partial(native.run_tests, configuration, wrapper=fixed_addresses()),
            ),
        ]
    return steps


def vendor_steps() -> list[Step]:
    """For each vendor: build and CTest on the stand-in for its SDK."""
    steps = []
    for vendor in VENDORS:
        configuration = with_vendor(vendor)
        steps += [
            Step(f"infinirt: build, {vendor}", partial(build_with_sdk, configuration)),
            Step(f"infinirt: C++ tests, {vendor}", partial(native.run_tests, configuration)),
        ]
    return steps


def build_with_sdk(configuration: Configuration) -> str | None:
    """Builds the stand-in SDK and then InfiniRT on it."""
    for sdk in configuration.requires:
        native.build(sdk)
    return native.build(configuration)


def cuda_steps() -> list[Step]:
    """Compile, link and CTest with the NVIDIA back end; needs the toolkit and no GPU."""
    return [
        Step("infinirt: build, nvidia", _build_cuda),
        Step("infinirt: C++ tests, nvidia", _test_cuda),
    ]


def _build_cuda() -> str | None:
    toolchain.require_nvcc()
    return native.build(CUDA)


def _test_cuda() -> None:
    toolchain.require_nvcc()
    native.run_tests(CUDA)


def fixed_addresses() -> tuple[str, ...]:
    """Words that run a command without address randomisation.

    ThreadSanitizer of GCC 12 and Clang 16 refuses to start where the kernel randomises more than
    28 bits of an address, which newer distributions do. Some containers forbid the change: there
    the words are none, and ThreadSanitizer itself says what is wrong.
    """
    words = ("setarch", platform.machine(), "-R")
    if shutil.which("setarch") is None:
        return ()
    allowed = subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0
    return words if allowed else ()


def use_moved_prefix(configuration: Configuration) -> None:
    """Builds and runs the consumer project on a copy of the prefix elsewhere.

    Neither the build tree nor the first prefix exists for the consumer, as on another machine:
    an installed file that names one of them is an error.
    """
    with tempfile.TemporaryDirectory(prefix="infini-moved-") as folder:
        prefix = Path(folder, "moved prefix")
        shutil.copytree(configuration.prefix, prefix, symlinks=True)
        refuse_paths_inside(prefix, own_places())
        use_prefix(prefix)


def use_prefix(prefix: Path) -> None:
    """Builds and runs a copy of the consumer project at -O0 and -O3 against `prefix`."""
    with tempfile.TemporaryDirectory(prefix="infini-consumer-") as folder:
        source = Path(folder, "consumer")
        shutil.copytree(ROOT / PACKAGE / "tests/consumer", source)
        for level in ("-O0", "-O3"):
            run_consumer(source, Path(folder, f"build{level}"), prefix, level)


def run_consumer(source: Path, tree: Path, prefix: Path, level: str) -> None:
    """Configures the consumer in `source` against `prefix`, builds it and runs it."""
    run(
        "cmake",
        "-S",
        source,
        "-B",
        tree,
        "-G",
        "Ninja",
        f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_CXX_FLAGS={level}",
    )
    run("cmake", "--build", tree, "--parallel", str(toolchain.jobs()))
    run(tree / "consumer")


def own_places(environment: Mapping[str, str] = os.environ) -> list[Path]:
    """The checkout, and the user's folder where there is one: a container may have none, or /."""
    home = Path(environment.get("HOME", ""))
    return [ROOT, home] if home.is_absolute() and home != Path("/") else [ROOT]


def refuse_paths_inside(prefix: Path, forbidden: list[Path]) -> None:
    """Checks that no installed file holds a path that exists on the building machine alone.

    Raises:
        StepError: A file does, or a library has a run path that is not relative to itself.
    """
    problems = []
    for path in sorted(prefix.rglob("*")):
        if not path.is_file():
            continue
        content = path.read_bytes()
        problems += [f"{path.name} names {f}" for f in forbidden if f"{f}/".encode() in content]
        if content.startswith(b"\x7fELF"):
            problems += [f"{path.name}: {problem}" for problem in run_path_problems(path)]
    if problems:
        raise StepError("installed files depend on this machine: " + "; ".join(problems))


def run_path_problems(library: Path) -> list[str]:
    """What is wrong with the run path of an ELF file: entries not relative to `$ORIGIN`."""
    if shutil.which("readelf") is None:
        raise Skip("no readelf; apt-get install binutils")
    problems = []
    for line in output_of("readelf", "--dynamic", "--wide", library).splitlines():
        if "(RUNPATH)" not in line and "(RPATH)" not in line:
            continue
        entries = line.partition("[")[2].rpartition("]")[0].split(":")
        problems += [f"run path {entry!r}" for entry in entries if not entry.startswith("$ORIGIN")]
    return problems
