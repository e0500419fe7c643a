"""The library of linked implementations records its providers under every linker and its settings.

Takes minutes, so it runs in `nox -s linked` alone, which sets INFINI_OPS_LINKED_TESTS.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import infini.ops

ROOT = Path(__file__).parents[2]
PROVIDERS = infini.ops.linked_providers()

pytestmark = [
    pytest.mark.skipif(
        "INFINI_OPS_LINKED_TESTS" not in os.environ, reason="`nox -s linked` runs it"
    ),
    pytest.mark.skipif(not PROVIDERS, reason="this build has no linked operators"),
    pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake: pip install cmake"),
]

LINKERS = {
    "as-needed": "-Wl,--as-needed",
    "no-as-needed": "-Wl,--no-as-needed",
    "gc-sections": "-Wl,--gc-sections -Wl,--as-needed",
    "gold": "-fuse-ld=gold -Wl,--as-needed",
    "lld": "-fuse-ld=lld -Wl,--as-needed",
    "lto": "-flto -Wl,--as-needed",
}
PROGRAMS = {"gold": "ld.gold", "lld": "ld.lld"}
EXPECTED = re.compile(
    r"(_C\.abi3|lib(torch|torch_cpu|c10|infinirt))\.so"
    r"|(lib(stdc\+\+|m|gcc_s|c|pthread|dl)|ld-linux-[\w-]+)\.so\.\d+"
)
CALL = """
import numpy, infini.ops as ops
x = numpy.random.default_rng().standard_normal((4, 64), dtype=numpy.float32)
for name in ("vllm", "vllm_dispatcher"):
    made = ops.rms_norm(x, implementation=name)
    numpy.testing.assert_allclose(made, ops.rms_norm(x, implementation=0), rtol=1e-5)
print(*{line.split()[-1] for line in open("/proc/self/maps") if "infiniops_linked" in line})
"""


def configure(tree: Path, flags: str, compile_flags: str = "") -> None:
    """Configures the build tree for one way of linking, and links the one library."""
    selection = tree.parent / "ops.json"
    selection.write_text(json.dumps({"rms_norm": {"implementations": [0, 16, 17]}}))
    options = {
        "Python_EXECUTABLE": sys.executable,
        "WITH_CPU": "ON",
        "WITH_LINKED": "ON",
        "WITH_TORCH": "OFF",
        "INFINI_OPS_OPS": str(selection),
        "CMAKE_SHARED_LINKER_FLAGS": flags,
        "CMAKE_CXX_FLAGS": compile_flags,
    }
    definitions = [f"-D{name}={value}" for name, value in options.items()]
    for command in (
        ["cmake", "-S", ROOT, "-B", tree, *definitions],
        ["cmake", "--build", tree, "--target", "infiniops_linked"],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("linkers") / "build"


@pytest.mark.parametrize("name", LINKERS)
def test_providers_are_recorded_and_called_under_every_linker(
    name: Any, tree: Path, tmp_path: Path
) -> None:
    program = PROGRAMS.get(name)
    if program and shutil.which(program) is None:
        pytest.skip(f"needs {program}: apt-get install {name}")
    configure(tree, LINKERS[name], "-flto" if name == "lto" else "")
    (library,) = tree.glob("libinfiniops_linked.so")
    text = subprocess.run(
        ["readelf", "-dW", library], capture_output=True, text=True, check=True
    ).stdout
    needed = {*re.findall(r"\(NEEDED\).*\[(.*)\]", text)}
    # libtorch.so and the provider of the Dispatcher contract give no symbol that is called.
    assert {"_C.abi3.so", "libtorch.so", "libinfinirt.so"} <= needed
    assert not [name for name in needed if not EXPECTED.fullmatch(name)]
    assert str(PROVIDERS[0].library.parent) in text
    # In the place of the one of the installed build, whose tables it serves as well.
    package = tmp_path / "infini" / "ops"
    shutil.copytree(Path(infini.ops.__path__[0]), package)
    (place,) = package.rglob("libinfiniops_linked.so")
    shutil.copyfile(library, place)
    environment = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}
    result = subprocess.run(
        [sys.executable, "-c", CALL],
        env={**environment, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.stdout.strip(), result.returncode) == (str(place), 0), result.stderr
