"""Builds torch-infini; README.md lists the variables that the build reads."""

import sys
from pathlib import Path

from setuptools import setup

# Build back ends run this file without its folder on the path.
sys.path.insert(0, str(Path(__file__).resolve().parent))

from build_support import commands  # after the path is set

setup(
    ext_modules=[commands.extension()],
    cmdclass={
        "build_ext": commands.build_command(),
        "editable_wheel": commands.EditableWheel,
    },
)
