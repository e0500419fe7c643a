import subprocess
import sys
from importlib.metadata import entry_points, version
from pathlib import Path

import linked_resolver


def test_version_is_that_of_the_installed_distribution() -> None:
    assert linked_resolver.__version__ == version("linked-resolver")


def test_package_is_typed() -> None:
    assert Path(linked_resolver.__file__).with_name("py.typed").is_file()


def test_command_is_installed() -> None:
    (command,) = entry_points(group="console_scripts", name="linked-resolver")
    assert command.value == "linked_resolver.cli:run"


def test_public_names_are_there_and_sorted() -> None:
    assert sorted(linked_resolver.__all__) == linked_resolver.__all__
    assert all(hasattr(linked_resolver, name) for name in linked_resolver.__all__)


def test_import_loads_neither_torch_nor_a_provider() -> None:
    code = "import sys, linked_resolver; print(*{'torch', 'vllm', 'tvm_ffi'} & sys.modules.keys())"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == ""
