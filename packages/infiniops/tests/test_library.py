import importlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import files, version
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

import infini.ops

# A wheel built with INFINI_RT_ROOT needs no Python package of the runtime: it carries the library.
HAS_RUNTIME = importlib.util.find_spec("infini.rt") is not None
HAS_TORCH = importlib.util.find_spec("torch") is not None


def run(code: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


@pytest.mark.smoke
@pytest.mark.parametrize(
    "order",
    [
        *(permutations(("infini.rt", "infini.ops")) if HAS_RUNTIME else ()),
        *(permutations(("infini.ops", "torch")) if HAS_TORCH else ()),
        *(permutations(("infini.rt", "infini.ops", "torch")) if HAS_RUNTIME and HAS_TORCH else ()),
        ("infini.ops",),
    ],
    ids=" ".join,
)
def test_every_import_order_maps_one_runtime(order: Any) -> None:
    code = (
        f"import {', '.join(order)}\n"
        "maps = {line.split()[-1] for line in open('/proc/self/maps') if '.so' in line}\n"
        "count = lambda name: sum(path.rsplit('/', 1)[-1].startswith(name) for path in maps)\n"
        "print(count('libinfinirt'), count('libinfiniops'), count('libgomp'))\n"
    )
    assert run(code) == "1 1 1"


@pytest.mark.smoke
def test_import_loads_no_tensor_library() -> None:
    code = "import sys, infini.ops; print(*{'torch', 'numpy'} & sys.modules.keys())"
    assert run(code) == ""


@pytest.mark.skipif(bool(infini.ops.linked_providers()), reason="a linked build compares files")
def test_import_loads_little_of_the_standard_library() -> None:
    """What an import loads takes most of its time; counting it asks no clock."""
    code = (
        "import sys, importlib; before = set(sys.modules); import infini.ops;"
        "print(len(set(sys.modules) - before), *{'pathlib', 'importlib.metadata'} & "
        "(sys.modules.keys() - before))"
    )
    count, *slow = run(code).split()
    assert int(count) < 45  # typing, contextlib and what they need
    assert not slow


def test_version_is_that_of_the_installed_distribution() -> None:
    assert infini.ops.__version__ == version("infiniops")


def test_namespace_has_no_init_so_that_infinirt_can_share_it() -> None:
    spec = importlib.util.find_spec("infini")
    assert spec is not None
    assert spec.origin is None, f"{spec.origin} would hide the other packages of `infini`"


def test_package_is_typed() -> None:
    folders = [Path(folder) for folder in infini.ops.__path__]
    assert any((folder / "py.typed").is_file() for folder in folders)
    assert any((folder / "__init__.pyi").is_file() for folder in folders)


def test_public_names_are_the_operators_and_the_helpers() -> None:
    from codegen.python_stub import HELPERS

    assert sorted(infini.ops.__all__) == sorted([*HELPERS, *infini.ops.operators()])
    for name in infini.ops.__all__:
        assert hasattr(infini.ops, name)


def test_functions_have_a_signature_and_a_docstring() -> None:
    import inspect

    assert str(inspect.signature(infini.ops.rms_norm)) == (
        "(input, weight=None, *, eps=1e-06, out=None, stream=None, implementation=None, "
        "config=None)"
    )
    assert (inspect.getdoc(infini.ops.rms_norm) or "").startswith("Divides each row of `input`")


@pytest.mark.smoke
def test_prefix_holds_what_cpp_and_other_packages_need() -> None:
    prefix = infini.ops.prefix()
    for path in (
        "include/infini/ops.h",
        "include/infini/ops/base/add.h",
        "lib/libinfiniops.so",
        "lib/cmake/InfiniOps/InfiniOpsConfig.cmake",
        "lib/pkgconfig/infiniops.pc",
        "share/infiniops/operators.json",
        "share/infiniops/docs/index.md",
    ):
        assert (prefix / path).is_file(), path


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("--prefix", lambda: str(infini.ops.prefix())),
        ("--version", lambda: infini.ops.__version__),
        ("--operators", lambda: "\n".join(infini.ops.operators())),
    ],
)
def test_command_line_prints_what_is_asked_for(
    option: Any, expected: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    from infini.ops.__main__ import main

    assert main([option]) == 0
    assert capsys.readouterr().out.strip() == expected()


def test_operators_json_describes_this_build() -> None:
    document = json.loads(infini.ops.operators_json().read_text())
    assert document["schema"] == 1
    assert tuple(document["operators"]) == infini.ops.operators()
    for name, operator in document["operators"].items():
        for device, implementations in operator["implementations"].items():
            assert [(item["slot"], item["name"]) for item in implementations] == list(
                infini.ops.active_implementations(name, device)
            )


def test_operators_json_matches_its_documentation() -> None:
    """Every key of the file is in the tables of docs/infiniops/operators-json.md, and back."""
    page = Path(__file__).parents[3] / "docs" / "infiniops" / "operators-json.md"
    documented = {
        line.split("`")[1] for line in page.read_text().splitlines() if line.startswith("| `")
    }
    document = json.loads(infini.ops.operators_json().read_text())
    found = set(document)
    for operator in document["operators"].values():
        found |= set(operator)
        for group in ("inputs", "attributes", "outputs"):
            for argument in operator[group]:
                found |= set(argument)
    # Keys of attributes that a small build may lack.
    forms = {name for name in documented if name.startswith(("{", "of", "values"))}
    assert found <= documented
    assert documented - found <= forms


def test_libraries_hold_no_build_path() -> None:
    """Run paths are relative, and no empty entry searches the working directory."""
    folders = [Path(folder) for folder in infini.ops.__path__]
    modules = [path for folder in folders for path in folder.glob("_native.*.so")]
    libraries = [*modules, infini.ops.prefix() / "lib" / "libinfiniops.so"]
    for library in libraries:
        dynamic = subprocess.run(
            ["readelf", "-d", library], capture_output=True, text=True, check=True
        ).stdout
        paths = [line for line in dynamic.splitlines() if "RUNPATH" in line or "RPATH" in line]
        assert len(paths) == 1
        entries = paths[0].partition("[")[2].rstrip("]").split(":")
        assert all(entry.startswith("$ORIGIN") for entry in entries), entries
        needed = [line for line in dynamic.splitlines() if "NEEDED" in line]
        assert any("[libinfinirt.so]" in line for line in needed)


def test_libraries_name_no_folder_of_their_build() -> None:
    home = str(Path.home()).encode()
    assert len(home) > 1, "a home folder is needed to look for"
    for folder in infini.ops.__path__:
        for library in Path(folder).rglob("*.so"):
            content = library.read_bytes()
            assert home + b"/" not in content, library
            assert b"/packages/infiniops/src" not in content, library


# A machine whose loader knows an older libinfinirt: a cache that lists the folder of the decoy lies
# over the real one, for this process and its children alone.
DECOY = """
set -e
mount --bind "$1/cache" /etc/ld.so.cache
"$2" -c "import ctypes; ctypes.CDLL('libinfinirt.so').this_is_the_decoy"
"$2" -c "
import infini.ops
print(*{line.split()[-1] for line in open('/proc/self/maps') if 'libinfinirt' in line})"
"""


def test_an_older_runtime_in_the_loader_s_folders_is_not_taken(tmp_path: Path) -> None:
    """The run path comes first, so what a machine has under that name is of no interest."""
    ldconfig = shutil.which("ldconfig", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    probe = ["unshare", "-rm", "true"]
    if ldconfig is None or shutil.which("unshare") is None or subprocess.run(probe).returncode:
        pytest.skip("needs ldconfig and the right to make a mount namespace")
    source = tmp_path / "decoy.c"
    source.write_text("int this_is_the_decoy;\n")
    decoy = tmp_path / "lib" / "libinfinirt.so"
    decoy.parent.mkdir()
    flags = ["-shared", "-fPIC", "-Wl,-soname,libinfinirt.so"]
    subprocess.run(["cc", *flags, source, "-o", decoy], check=True)
    settings = tmp_path / "settings"
    settings.write_text(f"include /etc/ld.so.conf\n{decoy.parent}\n")
    subprocess.run([ldconfig, "-X", "-f", settings, "-C", tmp_path / "cache"], check=True)
    environment = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}
    result = subprocess.run(
        ["unshare", "-rm", "sh", "-c", DECOY, "sh", tmp_path, sys.executable],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    (taken,) = result.stdout.split()
    assert Path(taken) != decoy
    assert Path(taken).name == "libinfinirt.so"


CONTENTS = re.compile(
    r"infini/(ops|linnet)/(\w+\.py|py\.typed)"
    r"|infini/ops/(__init__\.pyi|_native\.[\w.-]+\.so|_infinirt/libinfinirt\.so)"
    r"|infini/ops/_prefix/("
    r"include/infini/ops\.h|include/infini/ops/(base/)?\w+\.h"
    r"|lib/libinfiniops(_linked)?\.so|lib/cmake/InfiniOps/[\w-]+\.cmake|lib/pkgconfig/infiniops\.pc"
    r"|share/infiniops/[\w./-]+)"
    r"|infiniops-[\w.]+\.dist-info/[\w./-]+"
)


def test_the_distribution_holds_its_parts_and_nothing_else() -> None:
    listed = [path.as_posix() for path in files("infiniops") or []]
    if not any("infini/ops/__init__.py" in name for name in listed):
        pytest.skip("this is an editable installation, which lists what leads to the sources")
    unexpected = [
        name for name in listed if "__pycache__" not in name and not CONTENTS.fullmatch(name)
    ]
    assert not unexpected
    for group in ("infini/linnet/", "infini/ops/_prefix/include/infini/ops/base/", "_infinirt/"):
        assert any(group in name for name in listed), group
