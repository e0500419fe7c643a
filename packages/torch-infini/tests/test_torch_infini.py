import subprocess
import sys
from importlib.metadata import entry_points, version
from pathlib import Path

import torch_infini


def test_version_is_that_of_the_installed_distribution() -> None:
    assert torch_infini.__version__ == version("torch-infini")


def test_package_is_typed() -> None:
    assert Path(torch_infini.__file__).with_name("py.typed").is_file()


def test_no_device_is_announced_to_torch_until_there_is_one() -> None:
    assert torch_infini.__all__ == ["__version__"]
    assert not entry_points(group="torch.backends", name="torch_infini")


def test_import_leaves_torch_untouched() -> None:
    code = "import sys, torch_infini; print('torch' in sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "False"
