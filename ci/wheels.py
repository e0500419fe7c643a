"""The session `build`: sdists and wheels of every package into `dist/`, each checked by itself."""

from __future__ import annotations

import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import partial
from importlib.metadata import version
from pathlib import Path

from ci import infinirt, native
from ci.local_wheels import find_links, places_of
from ci.native import ROOT
from ci.packages import PACKAGES, Package, tomllib
from ci.stamp import files_of
from ci.steps import Step, StepError, output_of, run

DIST = ROOT / "dist"


def steps(arguments: Sequence[str]) -> list[Step]:
    """The steps of the session, for the packages that `arguments` name or for all."""
    chosen = [p for p in PACKAGES if not arguments or p.name in arguments]
    unknown = set(arguments) - {package.name for package in PACKAGES}
    if unknown:
        names = ", ".join(package.name for package in PACKAGES)
        raise SystemExit(f"no package {', '.join(sorted(unknown))}; there are {names}")
    found = [Step("infinirt: build the prefix", partial(native.build, infinirt.PREFIX))]
    for package in chosen:
        found += [
            Step(f"{package.name}: sdist and wheel", partial(build, package)),
            Step(f"{package.name}: contents", partial(inspect, package)),
            Step(f"{package.name}: alone in a clean environment", partial(install_alone, package)),
        ]
        if package.name == "infinirt":
            found.append(Step("infinirt: C++ consumer of the wheel", partial(use_wheel, package)))
    if len(chosen) == len(PACKAGES):
        found.append(Step("CPU stack of wheels without a compiler", run_cpu_stack))
    return found


def build(package: Package) -> str:
    """Builds the sdist, and the wheel from the sdist, so that the sdist is complete."""
    DIST.mkdir(exist_ok=True)
    for old in _built(package):
        old.unlink()
    options = ["--out-dir", str(DIST), "--python", sys.executable]
    if package.name == "torch-infini":
        # Against the torch, infinirt and infiniops of this environment, as its README says.
        options += ["--no-config", "--no-build-isolation"]
    else:
        # Packages that were built before are build requirements of those after.
        options += [*_from_dist(), *_settings(package)]
    run("uv", "build", *options, package.folder)
    return ", ".join(path.name for path in _built(package))


def _from_dist() -> list[str]:
    """Options that let uv take packages from `dist/` as they are now, and others from where the
    machine offers wheels: what stands on the command line hides the setting of the environment.

    A wheel that uv once took from a folder of wheels is served from its cache as long as the name
    stays, whatever has been built since; the versions here change more seldom than the contents.
    """
    refreshed = [f"--refresh-package={package.distribution}" for package in PACKAGES]
    offered = places_of(find_links())
    return [f"--find-links={DIST}", *(f"--find-links={place}" for place in offered), *refreshed]


def _settings(package: Package) -> list[str]:
    """What `uv sync` builds `package` with; `uv build` does not read it by itself."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    settings = tomllib.loads(text)["tool"]["uv"]["config-settings-package"]
    return [f"-C{key}={value}" for key, value in settings.get(package.distribution, {}).items()]


def _built(package: Package) -> list[Path]:
    stem = package.distribution.replace("-", "_")
    return sorted(path for path in DIST.glob(f"{stem}-*") if path.suffix in {".whl", ".gz"})


def wheel_of(package: Package) -> Path:
    """The one wheel of `package` in `dist/`.

    Raises:
        StepError: There is none, or more than one.
    """
    found = [path for path in _built(package) if path.suffix == ".whl"]
    if len(found) != 1:
        raise StepError(f"expected one wheel of {package.name} in dist/, found {found}")
    return found[0]


def inspect(package: Package) -> str:
    """Checks what the wheel of `package` holds."""
    wheel = wheel_of(package)
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    for folder, count in sorted(Counter(str(Path(name).parent) for name in names).items()):
        print(f"{count:5} files in {folder}")
    place = f"packages/{package.name}/{package.python}"
    sources = [path.relative_to(place).as_posix() for path in files_of(ROOT, [place])]
    problems = content_problems(wheel, package.modules)
    problems += differences(names, sources, package.built)
    if problems:
        raise StepError(f"{wheel.name}: {'; '.join(problems)}")
    with tempfile.TemporaryDirectory(prefix="infini-wheel-") as folder:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        infinirt.refuse_paths_inside(Path(folder), infinirt.own_places())
    return f"{len(names)} files, {wheel.stat().st_size / 1024:.0f} KiB"


def differences(names: Sequence[str], sources: Sequence[str], built: Sequence[str]) -> list[str]:
    """Where the files `names` of a wheel are not the Python files `sources` and what is `built`.

    `built` are patterns; whatever lies in `.dist-info` is its own. Sources of other languages are
    left out of a wheel, and headers belong to a prefix.
    """
    own = {name for name in names if ".dist-info/" not in name}
    problems = [f"lacks {name}" for name in sorted({*sources} - own)]
    stray = sorted(name for name in own - {*sources} if not _matches(name, built))
    left = ("*.o", "*.a", "*.cc", "*.py[cod]", "*CMakeCache.txt", "*CMakeFiles*", "*~")
    stray += sorted(name for name in own if _matches(name, left) and name not in stray)
    problems += [
        f"holds {name}, which is no source and nothing that a build makes" for name in stray
    ]
    if not any(Path(name).name == "LICENSE" for name in names):
        problems.append("lacks the LICENSE")
    return problems


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def content_problems(wheel: Path, modules: Sequence[str]) -> list[str]:
    """What is wrong with the list of files in `wheel`, which installs `modules`."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    problems = []
    if "infini/__init__.py" in names:
        problems.append("infini/__init__.py would hide the other distributions of `infini`")
    for module in modules:
        marker = f"{module.replace('.', '/')}/py.typed"
        if marker not in names:
            problems.append(f"no {marker}, so that type checkers ignore its types")
    problems += [f"bundles {name}" for name in names if "libgomp" in name or "libstdc++" in name]
    roots = {module.split(".")[0] for module in modules}
    problems += [
        f"installs {name} outside its modules"
        for name in names
        if name.split("/")[0] not in roots and ".dist-info/" not in name and ".data/" not in name
    ]
    return problems


@contextmanager
def environment_of(*requirements: str | Path) -> Iterator[Path]:
    """A new environment that holds `requirements` and what they need; its python."""
    with tempfile.TemporaryDirectory(prefix="infini-alone-") as folder:
        run("uv", "venv", "--quiet", "--python", sys.executable, folder)
        python = Path(folder, "bin/python")
        options = ["--quiet", "--python", str(python), *_from_dist()]
        run("uv", "pip", "install", *options, *requirements, cwd=Path(folder))
        yield python


def install_alone(package: Package) -> str:
    """Installs the wheel into a new environment and imports its modules there."""
    imports = [f"import {name}" for name in package.modules]
    code = "; ".join([*imports, "import importlib.metadata as m", "print(m.version(NAME))"])
    with environment_of(wheel_of(package)) as python:
        name = repr(package.distribution)
        return output_of(python, "-I", "-c", code.replace("NAME", name), cwd=python.parent).strip()


def use_wheel(package: Package) -> None:
    """Builds the C++ consumer against the prefix that the installed wheel carries."""
    with environment_of(wheel_of(package)) as python:
        prefix = output_of(python, "-I", "-m", package.name, "--prefix", cwd=python.parent)
        infinirt.use_prefix(Path(prefix.strip()))


def run_cpu_stack() -> str:
    """Runs a model over InfiniOps in an environment of wheels, where no compiler is in `PATH`.

    torch is the one of this session: another one would be fetched again.
    """
    wanted = ("infiniops", "linnet-lang[torch]", f"torch=={version('torch')}")
    model = ROOT / "packages/linnet/examples/two_layer.linnet"
    with environment_of(*wanted) as python, tempfile.TemporaryDirectory() as folder:
        only = {"PATH": str(python.parent), "CC": "", "CXX": "", "LINNET_HOME": folder}
        program = ROOT / "ci/cpu_stack.py"
        return output_of(python, "-I", program, model, cwd=python.parent, env=only).strip()
