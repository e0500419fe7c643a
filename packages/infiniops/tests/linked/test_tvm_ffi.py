"""An operator over the tvm_ffi transport: a provider is compiled, proved, linked and called.

Takes minutes, so it runs in `nox -s linked` alone, which sets INFINI_OPS_LINKED_TESTS.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from overlay import install_with

PROVIDER = Path(__file__).parent / "provider"

tvm_ffi = pytest.importorskip("tvm_ffi")
pytestmark = pytest.mark.skipif(
    "INFINI_OPS_LINKED_TESTS" not in os.environ, reason="`nox -s linked` runs it"
)

PROGRAM = """
import numpy as np, infini.ops as ops
rng = np.random.default_rng()
a, b = (rng.standard_normal((4, 5), dtype=np.float32) for _ in range(2))
out = np.full((4, 5), np.nan, np.float32)
ops.mul(a, b, out=out, implementation="provider")
np.testing.assert_array_equal(out, a * b)
on_sim = ops.empty((4, 5), device="sim:0")
on_sim.copy_from(a)
np.testing.assert_array_equal(
    np.from_dlpack(ops.mul(on_sim, on_sim, implementation=18).to_cpu()), a * a)
# Views are read and written where they lie; what is around an output stays as it was.
base = rng.standard_normal((6, 8), dtype=np.float32)
for cut in (
    lambda memory: memory[3:],
    lambda memory: memory[:, 2:],
    lambda memory: memory[1:6:2, ::3],
    lambda memory: memory[4, 5, ...],  # no dimension at all
):
    target = np.full((6, 8), 7, np.float32)
    expected = target.copy()
    cut(expected)[...] = cut(base) * cut(base)
    ops.mul(cut(base), cut(base), out=cut(target), implementation=18)
    np.testing.assert_array_equal(target, expected)
refused = np.full((3, 2), 7, np.float32)
try:
    ops.mul(base[:3, 1], base[:3, 2], out=refused[:, 0], implementation=18)
except RuntimeError as error:
    print(str(error).splitlines()[0])
assert (refused == 7).all()
print([(p.distribution, p.version) for p in ops.linked_providers()])
print([(e.slot, e.selected) for e in ops.explain("mul", a, b, implementation=18)])
"""


def install_provider(site: Path) -> None:
    """A distribution with a compiled library, as pip would lay it out."""
    package = site / "infini_test_provider"
    metadata = site / "infini_test_provider-1.2.3.dist-info"
    for folder in (package, metadata):
        folder.mkdir(parents=True)
    installed = Path(tvm_ffi.__file__).parent
    subprocess.run(
        [
            *("g++", "-std=c++17", "-O1", "-shared", "-fPIC", PROVIDER / "provider.cc"),
            f"-I{installed}/include",
            *(f"-L{installed}/lib", "-ltvm_ffi", "-Wl,-soname,libprovider.so"),
            *("-o", package / "libprovider.so"),
        ],
        check=True,
    )
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: infini-test-provider\nVersion: 1.2.3\n"
    )
    names = ["infini_test_provider/libprovider.so", f"{metadata.name}/METADATA"]
    (metadata / "RECORD").write_text("".join(f"{name},,\n" for name in names))


def test_a_tvm_ffi_operator_is_proved_linked_and_called(tmp_path: Path) -> None:
    site = tmp_path / "site"
    install_provider(site)
    environment = {**os.environ, "PYTHONPATH": str(site)}
    target = install_with(PROVIDER / "contracts", {"mul": [0, 18]}, tmp_path, environment)
    environment["PYTHONPATH"] = os.pathsep.join((str(target), str(site)))
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stderr == ""
    assert result.stdout == (
        "mul: infini-test-provider: three elements are not to my taste\n"
        "[('infini-test-provider', '1.2.3'), ('apache-tvm-ffi', '"
        + tvm_ffi.__version__
        + "')]\n[(0, False), (18, True)]\n"
    )
