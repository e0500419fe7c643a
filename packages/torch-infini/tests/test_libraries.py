"""Finding libraries: what is loaded, the loader path, the wheel."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from torch_infini import _libraries
from torch_infini._libraries import Library

pytestmark = pytest.mark.once

LIBRARY = Library("libtorchinfinitest.so", "torch-infini-test", "test_abi_version")


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A distribution on the path that carries the library; returns the library's file."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    library = tmp_path / "torch_infini_test" / "lib" / LIBRARY.soname
    library.parent.mkdir(parents=True)
    source = tmp_path / "test.c"
    source.write_text("int test_abi_version(void) { return 42; }\n", encoding="utf-8")
    subprocess.run(
        [compiler, "-shared", "-fPIC", f"-Wl,-soname,{LIBRARY.soname}", "-o", library, source],
        check=True,
    )
    info = tmp_path / "torch_infini_test-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch-infini-test\nVersion: 1.0\n")
    (info / "RECORD").write_text(f"torch_infini_test/lib/{LIBRARY.soname},,\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return library


def test_library_of_an_installed_wheel_is_found_and_loaded(wheel: Path) -> None:
    assert _libraries.in_wheel(LIBRARY) == wheel
    loaded = _libraries.load(LIBRARY)
    assert _libraries.abi_version(LIBRARY, loaded) == 42
    assert _libraries.load(LIBRARY)._handle == loaded._handle


def test_listed_but_missing_file_is_not_found(wheel: Path) -> None:
    wheel.unlink()
    assert _libraries.in_wheel(LIBRARY) is None


def test_missing_library_is_an_error_that_names_both_remedies() -> None:
    library = Library("libnowhere.so", "no-such-distribution", "f")
    with pytest.raises(ImportError) as caught:
        _libraries.load(library)
    assert str(caught.value) == (
        "torch_infini needs libnowhere.so, which is neither on the loader path nor in an installed "
        "wheel. Add the folder that holds it to LD_LIBRARY_PATH (or to the system's loader "
        "configuration, and run ldconfig), or install the wheel no-such-distribution"
    )


def test_library_that_does_not_load_is_an_error_that_says_why(wheel: Path) -> None:
    # Under another name, since the good library may be loaded by now.
    broken = Library("libtorchinfinibroken.so", "torch-infini-test", "f")
    wheel.with_name(broken.soname).write_bytes(b"not a library")
    record = wheel.parents[2] / "torch_infini_test-1.0.dist-info" / "RECORD"
    record.write_text(f"torch_infini_test/lib/{broken.soname},,\n")
    with pytest.raises(ImportError, match=r"libtorchinfinibroken\.so of .* does not load"):
        _libraries.load(broken)


def test_library_without_the_version_function_is_refused(wheel: Path) -> None:
    other = Library(LIBRARY.soname, LIBRARY.distribution, "no_such_function")
    with pytest.raises(ImportError, match="has no function no_such_function"):
        _libraries.abi_version(other, _libraries.load(LIBRARY))
