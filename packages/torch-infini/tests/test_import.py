"""What importing does, in every order, and what a refused import leaves behind.

Every case runs in a process of its own.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import torch_infini
from torch_infini import _libraries, _record

pytestmark = pytest.mark.once

PACKAGE = Path(torch_infini.__file__).parent

UNTOUCHED = """
assert torch._C._get_privateuse1_backend_name() == "privateuseone"
assert not hasattr(torch, "infini")
assert torch.ones(2).add(1).tolist() == [2.0, 2.0]
assert "torch_infini._native" not in sys.modules
"""

REFUSED = (
    """
import sys, torch
try:
    import torch_infini
except ImportError as error:
    print(error)
else:
    raise SystemExit("the import was not refused")
assert "torch_infini" not in sys.modules
"""
    + UNTOUCHED
)


@pytest.fixture
def forged(tmp_path: Path) -> Callable[..., dict[str, str]]:
    """Makes a copy of the package with a changed record; returns the environment to import it."""

    def forge(text: str | None = None, **changes: Any) -> dict[str, str]:
        copy = tmp_path / "torch_infini"
        shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        path = copy / _record.FILE_NAME
        if text is not None:
            path.write_text(text, encoding="utf-8")
        else:
            document = json.loads(path.read_text(encoding="utf-8"))
            path.write_text(json.dumps({**document, **changes}), encoding="utf-8")
        return {"PYTHONPATH": str(tmp_path), "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}

    return forge


def test_forged_torch_version_is_refused(forged, run_child) -> None:
    text = run_child(REFUSED, environment=forged(torch_major_minor="1.99")).stdout
    assert "built for torch 1.99" in text
    assert "but this is torch " in text
    assert "--no-build-isolation" in text


def test_forged_patch_version_is_accepted(forged, run_child) -> None:
    run_child("import torch_infini", environment=forged(torch="2.13.99+other"))


def test_forged_cxx11_abi_is_refused(forged, run_child) -> None:
    record = _record.read(PACKAGE / _record.FILE_NAME)
    text = run_child(REFUSED, environment=forged(cxx11_abi=not record.cxx11_abi)).stdout
    assert "CXX11 ABI mode" in text


@pytest.mark.parametrize(
    ("field", "library"),
    [("infinirt_abi", "libinfinirt.so"), ("infiniops_abi", "libinfiniops.so")],
)
def test_forged_library_abi_is_refused(forged, run_child, field: str, library: str) -> None:
    text = run_child(REFUSED, environment=forged(**{field: 999})).stdout
    assert f"built for ABI version 999 of {library}" in text


def test_corrupt_record_is_refused(forged, run_child) -> None:
    assert "cannot be read" in run_child(REFUSED, environment=forged(text="{")).stdout


def test_missing_record_is_refused(forged, run_child, tmp_path: Path) -> None:
    environment = forged()
    (tmp_path / "torch_infini" / _record.FILE_NAME).unlink()
    assert "has no build record" in run_child(REFUSED, environment=environment).stdout


def test_import_works_after_a_refused_one(forged, run_child, tmp_path: Path) -> None:
    run_child(
        f"""
import pathlib, shutil
try:
    import torch_infini
except ImportError:
    pass
shutil.copy({str(PACKAGE / _record.FILE_NAME)!r}, {str(tmp_path / "torch_infini")!r})
import torch, torch_infini
assert torch.ones(2, device="infini").tolist() == [1.0, 1.0]
""",
        environment=forged(torch_major_minor="1.99"),
    )


def test_another_backend_in_the_slot_is_refused(run_child) -> None:
    text = run_child(
        """
import torch
torch.utils.rename_privateuse1_backend("other")
try:
    import torch_infini
except ImportError as error:
    print(error)
""",
        environment={"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
    ).stdout
    assert "'other' is registered already" in text
    assert "TORCH_DEVICE_BACKEND_AUTOLOAD=0" in text


def test_a_second_backend_is_refused_by_torch(run_child) -> None:
    run_child(
        """
import torch, torch_infini
try:
    torch.utils.rename_privateuse1_backend("other")
except RuntimeError as error:
    assert "infini" in str(error), error
else:
    raise SystemExit("not refused")
"""
    )


WORKS = 'assert (torch.ones(2, device="infini") + 1).tolist() == [2.0, 2.0]\n'


@pytest.mark.parametrize(
    "code",
    [
        "import torch_infini, torch",
        "import torch, torch_infini",
        "import torch_infini, torch_infini, torch; import torch_infini",
        "import torch, importlib, torch_infini; importlib.reload(torch_infini)",
    ],
    ids=["torch_infini first", "torch first", "twice", "reloaded"],
)
@pytest.mark.parametrize("autoload", ["0", "1"])
def test_every_order_works(run_child, code: str, autoload: str) -> None:
    run_child(f"{code}\n{WORKS}", environment={"TORCH_DEVICE_BACKEND_AUTOLOAD": autoload})


def test_import_works_in_a_thread(run_child) -> None:
    run_child(
        """
import threading
failures = []
def work():
    try:
        import torch, torch_infini
        assert torch.ones(2, device="infini").tolist() == [1.0, 1.0]
    except BaseException as error:
        failures.append(error)
threads = [threading.Thread(target=work) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert not failures, failures
"""
    )


def test_entry_point_is_what_torch_looks_for(run_child) -> None:
    # What torch does with the entry point, even where the package is not an installed distribution.
    run_child(
        """
import torch
from importlib.metadata import EntryPoint
EntryPoint("infini", "torch_infini:_autoload", "torch.backends").load()()
"""
        + WORKS,
        environment={"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
    )


def test_before_import_torch_gives_its_own_message(run_child) -> None:
    text = run_child(
        """
import torch
try:
    torch.device("infini")
except RuntimeError as error:
    print(error)
""",
        environment={"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
    ).stdout
    assert "device type" in text


@pytest.mark.parametrize(
    "first",
    ["import torch, torch_infini", "import torch_infini", "import infini.ops, torch_infini"],
)
def test_exactly_one_copy_of_each_library_is_mapped(run_child, first: str) -> None:
    if "infini.ops" in first:
        pytest.importorskip("infini.ops", reason="the Python package of InfiniOps is not installed")
    mapped = run_child(
        f"""
{first}
import torch
torch.ones(2, device="infini") + 1
paths = {{line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}}
for name in ("libinfinirt.so", "libinfiniops.so"):
    print(name, sum(path.rsplit("/", 1)[-1] == name for path in paths))
"""
    ).stdout
    assert mapped.split("\n")[:2] == ["libinfinirt.so 1", "libinfiniops.so 1"]


def test_missing_library_is_an_error_that_names_both_remedies(run_child) -> None:
    if _libraries.in_wheel(_libraries.RUNTIME) is not None:
        pytest.skip("the wheel supplies the library; test_libraries.py covers the message")
    environment = {name: value for name, value in os.environ.items() if name == "PYTHONPATH"}
    # Where the package is installed, torch would import it by itself, and fail.
    environment |= {"LD_LIBRARY_PATH": "", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    text = run_child(REFUSED, environment=environment).stdout
    assert "libinfinirt.so" in text
    assert "LD_LIBRARY_PATH" in text
    assert "install the wheel infinirt" in text


def test_extension_holds_no_path_of_the_machine_that_built_it() -> None:
    (native,) = PACKAGE.glob("_native.*.so")
    content = native.read_bytes()
    record = (PACKAGE / _record.FILE_NAME).read_bytes()
    for path in {str(PACKAGE.resolve().parent), os.environ.get("INFINI_RT_PREFIX", "/no prefix")}:
        assert path.encode() not in content, path
        assert path.encode() not in record, path
    for place in (b"/site-packages/", b"/dist-packages/"):
        assert place not in content
