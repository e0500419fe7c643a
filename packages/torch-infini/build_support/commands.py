"""The setuptools commands of torch-infini."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from setuptools import Extension
from setuptools.command.build_ext import build_ext
from setuptools.command.editable_wheel import editable_wheel
from setuptools.errors import SetupError

from build_support import standalone
from build_support.dependencies import Dependencies, DependencyError, find
from build_support.units import UNITS

EXTENSION = "torch_infini._native"

SOURCES = ["csrc/module.cc", *sorted(source for unit in UNITS.values() for source in unit)]

HEADERS = sorted(
    str(path.relative_to(standalone.ROOT)) for path in (standalone.ROOT / "csrc").rglob("*.h")
)


def extension() -> Extension:
    """The extension as setuptools sees it before the build has found anything.

    The rest is filled in by `BuildNative`, so that metadata and sdists need no torch.
    """
    return Extension(EXTENSION, sources=list(SOURCES), depends=HEADERS, language="c++")


def build_command() -> type[build_ext]:
    """Returns the build command: torch's, or one that says that torch is missing."""
    try:
        # An installed torch-infini must not be loaded, let alone be needed, to build a new one.
        os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
        # torch compiles through ccache where there is one. With a base folder it hands on relative
        # paths, which `_compile_arguments` cannot rename, and the extension would hold them.
        os.environ["CCACHE_BASEDIR"] = ""
        import torch
        from torch.utils import cpp_extension
    except ImportError as error:
        missing = error

        class TorchMissing(build_ext):
            """Stands in where torch cannot be imported."""

            def run(self) -> None:
                raise SetupError(
                    "torch-infini compiles against the torch that it will run with, and this "
                    f"environment has none ({missing}). Install torch, then build with "
                    "pip install --no-build-isolation"
                )

        return TorchMissing

    base: Any = cpp_extension.BuildExtension

    class BuildNative(base):  # type: ignore[misc]  # the class has no types
        """Generates the operator table, compiles, and writes the build record."""

        def run(self) -> None:
            # An editable build keeps what it compiles in the build tree; only a build that asks
            # for it (`build_ext --inplace`) writes beside the sources.
            if self.editable_mode:
                self.inplace = False
            super().run()

        def build_extensions(self) -> None:
            try:
                dependencies = find(os.environ)
                record = self._prepare(dependencies)
            except DependencyError as error:
                raise SetupError(f"torch-infini: {error}") from error
            super().build_extensions()
            path = Path(self.build_lib) / "torch_infini" / standalone.load("_record").FILE_NAME
            path.write_text(record.to_json(), encoding="utf-8")

        def copy_extensions_to_source(self) -> None:
            super().copy_extensions_to_source()
            name = standalone.load("_record").FILE_NAME
            built = Path(self.build_lib) / "torch_infini" / name
            self.copy_file(str(built), str(standalone.PACKAGE / name))

        def get_outputs(self) -> list[str]:
            name = standalone.load("_record").FILE_NAME
            return [*super().get_outputs(), str(Path(self.build_lib) / "torch_infini" / name)]

        def _prepare(self, dependencies: Dependencies) -> Any:
            """Completes the extension and returns the build record."""
            from build_support import declarations, operator_table, units

            declared = declarations.read(dependencies.operators_json)
            for library, header, listed in (
                ("infinirt", dependencies.infinirt_abi, declared.infinirt_abi),
                ("infiniops", dependencies.infiniops_abi, declared.infiniops_abi),
            ):
                if header != listed:
                    raise DependencyError(
                        f"the headers of {library} have ABI version {header}, but operators.json "
                        f"was made with {listed}; use prefixes that were built together"
                    )
            torch_include = Path(cpp_extension.include_paths()[0])
            table = operator_table.generate(declared, torch_include)
            generated = Path(self.build_temp) / "generated" / "operator_table.cc"
            generated.parent.mkdir(parents=True, exist_ok=True)
            if not generated.is_file() or generated.read_text(encoding="utf-8") != table.text:
                generated.write_text(table.text, encoding="utf-8")

            (native,) = self.extensions
            # What the units include is no source any more, but a change of it asks for a new build.
            native.depends = [*native.depends, *native.sources, *table.sources]
            joined = units.write(table.sources, generated.parent)
            native.sources = ["csrc/module.cc", str(generated.resolve()), *joined]
            csrc = standalone.ROOT / "csrc"
            torch_includes = cpp_extension.include_paths()
            native.include_dirs = [str(csrc), *map(str, dependencies.include_dirs)]
            native.library_dirs = [
                *map(str, dependencies.library_dirs),
                *cpp_extension.library_paths(),
            ]
            # InfiniOps first: it needs InfiniRT.
            native.libraries = ["infiniops", "infinirt"]
            native.libraries += ["c10", "torch", "torch_cpu", "torch_python"]
            native.extra_compile_args = _compile_arguments(
                {standalone.ROOT: ".", generated.resolve().parent: "generated"}
                | dict.fromkeys(map(Path, [*native.include_dirs[1:], *torch_includes]), "include")
            )
            # As system headers, whose warnings are not ours.
            native.extra_compile_args += [f"-isystem{path}" for path in torch_includes]
            native.extra_link_args = ["-s"]
            record = standalone.load("_record")
            return record.BuildRecord(
                version=self.distribution.get_version(),
                torch=torch.__version__,
                torch_major_minor=record.major_minor(torch.__version__),
                cxx11_abi=torch.compiled_with_cxx11_abi(),
                infinirt_abi=dependencies.infinirt_abi,
                infiniops_abi=dependencies.infiniops_abi,
                infiniops=declared.version,
            )

    return BuildNative


def _compile_arguments(path_names: dict[Path, str]) -> list[str]:
    """Flags of every file; `path_names` maps folders to what messages call them."""
    arguments = ["-std=c++20", "-O2", "-g0", "-fvisibility=hidden", "-Wall"]
    # What __FILE__ gives must not hold a path of the machine that built.
    arguments += [f"-ffile-prefix-map={path}={name}" for path, name in path_names.items()]
    if os.environ.get("TORCH_INFINI_WARNINGS_AS_ERRORS") == "1":
        arguments.append("-Werror")
    return arguments


class EditableWheel(editable_wheel):
    """Editable installs link to the sources file by file, so that the sources stay clean.

    setuptools' default mode would put the compiled extension beside the sources.
    """

    def finalize_options(self) -> None:
        """Chooses the mode unless the user chose one."""
        self.mode = self.mode or "strict"
        super().finalize_options()
