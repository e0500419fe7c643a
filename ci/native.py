"""Builds a C++ package in one configuration, below `build/`, and reuses what is still current."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ci import lock, toolchain
from ci.stamp import Stamp, contents_of, digest
from ci.steps import run

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"


@dataclass(frozen=True)
class Configuration:
    """One way to build one C++ package.

    `source` is the CMake project relative to the root, `inputs` are the paths that its build
    reads (default: the project), `options` the CMake cache entries, and `requires` the prefixes
    of the configurations that `find_package` has to find.
    """

    name: str
    source: str
    options: Mapping[str, str] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    requires: tuple[Configuration, ...] = ()

    @property
    def tree(self) -> Path:
        """The build tree."""
        return BUILD / self.name / "tree"

    @property
    def prefix(self) -> Path:
        """Where `install` puts the package."""
        return BUILD / self.name / "prefix"

    @property
    def stamp(self) -> Path:
        """The file that says what the tree was configured with, and the prefix made from."""
        return BUILD / self.name / "stamp"


def _options(configuration: Configuration) -> dict[str, str]:
    found = ";".join(str(needed.prefix) for needed in configuration.requires)
    return {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_EXPORT_COMPILE_COMMANDS": "ON",
        "CMAKE_INSTALL_PREFIX": str(configuration.prefix),
        **({"CMAKE_PREFIX_PATH": found} if found else {}),
        **configuration.options,
    }


def _facts(configuration: Configuration) -> dict[str, str]:
    return {
        **toolchain.compiler_facts(),
        "cmake": str(toolchain.require_cmake()),
        "options": json.dumps(_options(configuration), sort_keys=True),
        # A rebuilt prefix below changes what is built on it.
        "requires": " ".join(key_of(needed) for needed in configuration.requires),
    }


def key_of(configuration: Configuration) -> str:
    """What the present sources, compiler and options would make, as one hash."""
    inputs = configuration.inputs or (configuration.source,)
    return digest(ROOT, inputs, _facts(configuration))


def build(configuration: Configuration) -> str | None:
    """Configures, compiles and installs, unless that has been done for the same inputs.

    Returns `unchanged` where nothing was to be done. The tree is made anew when compiler or
    options differ, since CMake keeps the old ones, and when it was never configured to the end;
    the prefix always is, so that no file of an older version stays in it.
    """
    with lock.held(configuration.stamp.with_name("lock"), print):
        return _build(configuration)


def _build(configuration: Configuration) -> str | None:
    key = key_of(configuration)
    done = Stamp(configuration.stamp)
    if done.matches(_finished(configuration, key)):
        return "unchanged"
    done.clear()
    configured = Stamp(configuration.stamp.with_name("configured"))
    # CMake keeps the launcher, which changes nothing of what is compiled; it may be gone.
    launcher = os.environ.get("CMAKE_CXX_COMPILER_LAUNCHER", "")
    how = json.dumps({**_facts(configuration), "launcher": launcher}, sort_keys=True)
    if not configured.matches(how):
        configured.clear()
        shutil.rmtree(configuration.tree, ignore_errors=True)
    run(
        "cmake",
        "-S",
        ROOT / configuration.source,
        "-B",
        configuration.tree,
        "-G",
        "Ninja",
        *(f"-D{name}={value}" for name, value in _options(configuration).items()),
    )
    configured.write(how)
    run("cmake", "--build", configuration.tree, "--parallel", str(toolchain.jobs()))
    shutil.rmtree(configuration.prefix, ignore_errors=True)
    run("cmake", "--install", configuration.tree)
    done.write(_finished(configuration, key))
    return None


def _finished(configuration: Configuration, key: str) -> str:
    """What the stamp of a build from `key` says: that, and which files the build has left."""
    # Ninja's logs and CTest's reports change without a build.
    unseen = (".ninja_log", ".ninja_deps", "Testing")
    return f"{key} {contents_of([configuration.prefix, configuration.tree], unseen)}"


def run_tests(configuration: Configuration, *, wrapper: tuple[str, ...] = ()) -> None:
    """Runs the CTest suite of a built configuration; no test at all is a failure.

    `wrapper` are words put before the command; the tests inherit what it sets.
    """
    run(
        *wrapper,
        "ctest",
        "--test-dir",
        configuration.tree,
        "--output-on-failure",
        "--no-tests=error",
        "--parallel",
        str(toolchain.jobs()),
    )
