"""A source tree with contracts and a Python environment with providers, both made by a test."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from linked_resolver import Environment, Problem, Resolution, prove, render, resolve

HEADER = """\
template <>
struct Operator<{operator}, Device::Type::k{device}, {slot}> {{
  static constexpr char kName[] = "acme";
}};
"""
LIBRARY = "python_distribution_package: acme\nlibrary_glob: acme/_C.so\n"
CONTRACT = "library: acme\nrequired_symbols:\n  - silu_and_mul(int)\n"
SOURCE = "void silu_and_mul(int) {}\n"


def compile_library(path: Path, source: str, *flags: str, language: str = "c++") -> Path:
    """Compiles a shared library from one source text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    command = ["g++", "-shared", "-fPIC", "-O0", f"-x{language}", "-", "-xnone", *flags]
    subprocess.run([*command, "-o", str(path)], input=source, text=True, check=True)
    return path


class EndOfPatience:
    """Stands for `threading.Timer`: the time is over once a hung program has made a file.

    So a test of a hang neither waits for a limit nor meets it early on a busy machine.
    """

    def __init__(self, mark: Path) -> None:
        self._mark = mark

    def __call__(self, seconds: float, function: Callable[[], None]) -> EndOfPatience:
        self._function = function
        self._cancelled = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        return self

    def _watch(self) -> None:
        while not self._cancelled.wait(0.01):
            if self._mark.exists():
                self._function()
                break

    def start(self) -> None:
        self._thread.start()

    def cancel(self) -> None:
        self._cancelled.set()

    def join(self) -> None:
        self._thread.join()


class Workspace:
    """`src/linked/` and a folder of installed distributions below one root."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.contracts = root / "src" / "linked"
        self.site = root / "site"
        self.output = root / "build" / "generated" / "linked"
        self.contracts.mkdir(parents=True)
        self.site.mkdir()

    def environment(self, *folders: Path) -> Environment:
        """The environment whose search path are `folders`, by default the site folder."""
        suffix = Environment.current().extension_suffix
        return Environment(Path(sys.executable), folders or (self.site,), suffix)

    def write(self, path: str, text: str) -> Path:
        """Writes a file of the contracts."""
        file = self.contracts / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def library(
        self, text: str = LIBRARY, name: str = "acme", transport: str = "torch", device: str = "cpu"
    ) -> None:
        self.write(f"{transport}/{device}/{name}.yaml", text)

    def implementation(
        self,
        text: str = CONTRACT,
        operator: str = "silu_and_mul",
        name: str = "acme",
        *,
        transport: str = "torch",
        device: str = "cpu",
        slot: int | str = 16,
    ) -> None:
        """The three files of an implementation."""
        base = f"{transport}/{device}/ops/{operator}/{name}"
        camel = "".join(part.capitalize() for part in operator.split("_"))
        header = HEADER.format(operator=camel, device=device.capitalize(), slot=slot)
        self.write(f"{base}.yaml", text)
        self.write(f"{base}.h", header)
        self.write(f"{base}.cc", "")

    def install(
        self,
        name: str = "acme",
        version: str = "1.0",
        files: Iterable[str] = (),
        *,
        site: Path | None = None,
        record: str | None = None,
        extra: Mapping[str, str] | None = None,
    ) -> Path:
        """The metadata of a distribution, which records `files` and whatever `record` says."""
        site = site or self.site
        folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
        lines = [f"{file},," for file in files]
        (folder / "RECORD").write_text("\n".join(lines) + "\n" if record is None else record)
        for file, text in (extra or {}).items():
            (folder / file).write_text(text)
        return folder

    def install_torch(self) -> None:
        """Metadata of torch without torch: enough where nothing is loaded."""
        self.install("torch", "2.13.0", ["torch/__init__.py"])

    def provider(self, source: str = SOURCE, *flags: str, path: str = "acme/_C.so") -> Path:
        """A library below the site folder."""
        return compile_library(self.site / path, source, *flags)

    def complete(self, source: str = SOURCE, *flags: str) -> Path:
        """One implementation of which everything can be proved."""
        self.library()
        self.implementation()
        self.install(files=["acme/_C.so"])
        self.install_torch()
        return self.provider(source, *flags)

    def prove(self, **options: Any) -> Resolution:
        options.setdefault("environment", self.environment())
        return prove(self.contracts, **options)

    def resolve(self, **options: Any) -> Resolution:
        options.setdefault("environment", self.environment())
        return resolve(self.contracts, self.output, **options)

    def text(self, problems: Iterable[Problem]) -> str:
        """The text of problems, with the folders of this test and of the machine named."""
        text = render(problems)
        for folder, name in [
            (self.contracts, "<contracts>"),
            (self.site, "<site>"),
            (self.root, "<root>"),
            (Path(sys.executable), "<python>"),
        ]:
            text = text.replace(str(folder), name)
        return text
