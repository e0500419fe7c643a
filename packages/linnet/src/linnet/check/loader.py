"""Finds and parses the modules that a file uses, in an order in which they can be checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from linnet.check.packages import (
    LIBRARY,
    MANIFEST,
    ManifestError,
    Package,
    find_package,
    library_file,
    modules_near,
    package_file,
    read_lock,
    read_manifest,
)
from linnet.source import Diagnostic, Mark, SourceFile, Span, decode, did_you_mean
from linnet.syntax import parse, tokenize, tree
from linnet.syntax.tree import Use


@dataclass(eq=False)
class LoadedModule:
    """A parsed module; `targets` gives the module that each of its `use` lines names.

    `root` is the folder of its package, None for the library, and `inside` what modules of that
    package call it.
    """

    name: str
    file: SourceFile
    tree: tree.File
    targets: dict[Use, LoadedModule] = field(default_factory=dict)
    library: bool = False
    root: Path | None = None
    inside: str = ""


@dataclass
class Loaded:
    """Modules in dependency order, the asked one last, and what went wrong."""

    modules: list[LoadedModule]
    errors: list[Diagnostic]


# The library does not change while a process runs, so it is parsed once.
_library: dict[Path, LoadedModule] = {}


def load(file: SourceFile, first: Diagnostic | None = None) -> Loaded:
    """Parses `file` and every module that it uses, directly or not."""
    loader = _Loader()
    if first is not None:
        loader.errors.append(first)
        return Loaded([], loader.errors)
    try:
        package = find_package(file.path) if file.path else None
        for source in package.dependencies.values() if package else ():
            if isinstance(source, Path) and (source / MANIFEST).is_file():
                read_manifest(source)
        if package is not None:
            read_lock(package.root)
            loader.locked = package.root
    except ManifestError as error:
        loader.errors.append(Diagnostic("E5001", str(error), Mark(file, Span(0, 0))))
        return Loaded([], loader.errors)
    in_library = file.path is not None and LIBRARY in file.path.resolve().parents
    key = file.path.resolve() if file.path else Path(f"<{file.name}>")
    loader.module(key, file, package, None, in_library)
    return Loaded(loader.order, loader.errors)


class _Loader:
    def __init__(self) -> None:
        self.order: list[LoadedModule] = []
        self.errors: list[Diagnostic] = []
        self.done: dict[Path, LoadedModule] = {}
        self.open: list[Path] = []
        self.locked = Path()

    def module(
        self,
        path: Path,
        file: SourceFile,
        package: Package | None,
        name: str | None,
        library: bool,
        inside: str = "",
    ) -> LoadedModule:
        """Parses one module and what it uses."""
        known = _library.get(path) if library else None
        if known is not None:
            self.done[path] = known
            self.keep(known)
            return known
        parsed = parse(tokenize(file))
        self.errors += parsed.errors
        name = name or ".".join(part.text for part in parsed.tree.module) or "module"
        root = package.root if package is not None and not library else None
        module = LoadedModule(name, file, parsed.tree, library=library, root=root, inside=inside)
        self.done[path] = module
        self.open.append(path)
        for use in parsed.tree.uses:
            target = self.target(use, file, package)
            if target is not None:
                module.targets[use] = target
        self.open.pop()
        self.order.append(module)
        if library and not parsed.errors:
            _library[path] = module
        return module

    def keep(self, module: LoadedModule) -> None:
        """Adds a library module parsed before, after what it uses."""
        for target in module.targets.values():
            self.keep(target)
        if module not in self.order:
            self.order.append(module)

    def target(
        self, use: tree.Use, file: SourceFile, package: Package | None
    ) -> LoadedModule | None:
        """The module that `use` names, or None after reporting why there is none."""
        names = tuple(part.text for part in use.path)
        span = use.path[0].span.to(use.path[-1].span)
        mark = Mark(file, span, "used here")
        shown = ".".join(names)
        owner = package
        library = names[0] == "std"
        if library:
            path = library_file(names)
        elif package is None:
            self.errors.append(
                Diagnostic("E1202", f"`{shown}` needs a file on disk to start from", mark)
            )
            return None
        elif names[0] == "crate":
            path = package_file(package, names[1:])
        elif names[0] in package.dependencies:
            try:
                root = package.folder(names[0], self.locked)
                has_manifest = (root / MANIFEST).is_file()
                owner = read_manifest(root) if has_manifest else Package(root, names[0], "0", {})
            except LookupError as error:
                self.errors.append(Diagnostic("E1202", str(error.args[0]), mark))
                return None
            except ManifestError as error:
                self.errors.append(Diagnostic("E5001", str(error), mark))
                return None
            path = package_file(owner, names[1:])
        else:
            known = ", ".join(["std", "crate", *package.dependencies])
            self.errors.append(
                Diagnostic(
                    "E1202",
                    f"there is no module `{shown}`",
                    mark,
                    helps=(f"a path starts with one of: {known}",),
                )
            )
            return None
        return self.open_module(path, shown, mark, owner, library)

    def open_module(
        self, path: Path, shown: str, mark: Mark, package: Package | None, library: bool
    ) -> LoadedModule | None:
        """Loads the file at `path`, once."""
        path = path.resolve()
        if path in self.open:
            self.errors.append(
                Diagnostic(
                    "E1206", f"`{shown}` is being loaded already: modules use each other", mark
                )
            )
            return None
        if path in self.done:
            return self.done[path]
        try:
            data = path.read_bytes()
        except OSError:
            where = "the library" if library else str(path)
            self.errors.append(
                Diagnostic(
                    "E1202",
                    f"there is no module `{shown}`",
                    mark,
                    notes=(f"looked in {where}",),
                    helps=did_you_mean(shown, modules_near(path, shown, library)),
                )
            )
            return None
        name = "/".join(path.relative_to(LIBRARY).parts) if library else str(path)
        source, wrong = decode(data, name, path)
        if wrong is not None:
            self.errors.append(wrong)
            return None
        own = package if not library else None
        module_name = self.module_name(shown, own)
        inside = ".".join(["crate", *shown.split(".")[1:]])
        return self.module(path, source, own, module_name, library, inside)

    def module_name(self, shown: str, package: Package | None) -> str:
        """The identity of a module: its path, with `crate` replaced by the package's name."""
        if shown == "crate" or shown.startswith("crate."):
            prefix = package.name if package and package.has_manifest else ""
            return f"{prefix}{shown[5:]}".lstrip(".") or "lib"
        return shown
