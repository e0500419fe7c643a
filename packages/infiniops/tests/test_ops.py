import importlib
import importlib.util
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import infini.ops


def test_version_is_that_of_the_installed_distribution() -> None:
    assert infini.ops.__version__ == version("infiniops")


def test_namespace_has_no_init_so_that_infinirt_can_share_it() -> None:
    spec = importlib.util.find_spec("infini")
    assert spec is not None
    assert spec.origin is None, f"{spec.origin} would hide the other packages of `infini`"


def test_package_is_typed() -> None:
    assert Path(infini.ops.__file__).with_name("py.typed").is_file()


def test_only_the_version_is_public_until_an_operator_exists() -> None:
    assert infini.ops.__all__ == ["__version__"]


def test_import_loads_no_framework() -> None:
    code = "import sys, infini.ops; print(*{'torch', 'numpy'} & sys.modules.keys())"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == ""
