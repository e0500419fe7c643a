"""`linnet init`: a new package."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from linnet.check.packages import LANGUAGE, MANIFEST
from linnet.commands.console import fail, say

MODULE = """/// A first model: one linear layer.
module {name}

use std.nn.linear::{{Linear}}

pub block Model<In: Dim, Out: Dim, T: Float = f32> {{
    sub layer: Linear<In, Out, T>

    pub entry forward<B: Dim>(x: Tensor[B, In; T]) -> Tensor[B, Out; T] {{
        return layer.forward(x)
    }}
}}
"""


def add_init(commands: Any) -> None:
    """Adds the command."""
    command = commands.add_parser("init", help="make a new package")
    command.add_argument("folder", metavar="FOLDER", help="the folder to make it in")
    command.add_argument("--name", help="the package's name; the folder's name without it")
    command.set_defaults(run=run_init)


def run_init(options: argparse.Namespace) -> int:
    """Writes the manifest and a first module; 2 if one is there already or the name is no name."""
    folder = Path(options.folder)
    name = options.name or folder.resolve().name.replace("-", "_")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        return fail(f"{name!r} is no name of a package; give letters, digits and _ with --name")
    for path in (folder / MANIFEST, folder / "src" / "lib.linnet"):
        if path.exists():
            return fail(f"{path} is there already")
    try:
        (folder / "src").mkdir(parents=True, exist_ok=True)
        manifest = f'[package]\nname = "{name}"\nversion = "0.1.0"\nlanguage = "{LANGUAGE}"\n'
        (folder / MANIFEST).write_text(manifest, encoding="utf-8")
        (folder / "src" / "lib.linnet").write_text(MODULE.format(name=name), encoding="utf-8")
    except OSError as error:
        return fail(f"cannot write {folder}: {error.strerror}")
    say(f"made {folder / MANIFEST} and {folder / 'src' / 'lib.linnet'}")
    return 0
