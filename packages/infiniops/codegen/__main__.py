"""Command line of the generators; CMake runs it at configure time."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .document import DeclarationError
from .generate import Options, generate, plan
from .ops_json import SelectionError
from .write import write_files


def main(arguments: list[str] | None = None) -> int:
    """Write the generated files; 1 and one line on the standard error for bad input."""
    parser = argparse.ArgumentParser(prog="codegen", description=__doc__)
    parser.add_argument("--root", type=Path, required=True, help="folder of the package")
    parser.add_argument("--output", type=Path, required=True, help="folder to write")
    parser.add_argument("--version", required=True, help="version of the package")
    parser.add_argument("--rt-abi-version", type=int, required=True, help="of InfiniRT")
    parser.add_argument("--device", action="append", default=[], help="device type; repeatable")
    parser.add_argument("--architecture", required=True, help="target machine, as uname -m")
    parser.add_argument("--no-cpp-entries", action="store_true", help="hide the C++ entries")
    parser.add_argument("--ops", default="", help="INFINI_OPS_OPS")
    parser.add_argument("--torch-ops", default="", help="INFINI_OPS_TORCH_OPS")
    parser.add_argument("--linked", action="store_true", help="WITH_LINKED")
    parser.add_argument("--smoke", action="store_true", help="INFINI_OPS_SMOKE_BUILD")
    parsed = parser.parse_args(arguments)
    options = Options(
        root=parsed.root,
        version=parsed.version,
        rt_abi_version=parsed.rt_abi_version,
        devices=tuple(parsed.device),
        architecture=parsed.architecture,
        cpp_entries=not parsed.no_cpp_entries,
        ops=parsed.ops,
        smoke=parsed.smoke,
        torch_ops=parsed.torch_ops,
        linked=parsed.linked,
    )
    try:
        build, selection = plan(options)
        changed = write_files(parsed.output, generate(build, parsed.root))
    except (DeclarationError, SelectionError) as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{error.filename}: cannot be written: {error.strerror}", file=sys.stderr)
        return 1
    print(
        f"{len(build.operators)} operators ({selection.origin}), "
        f"{len(build.implementations)} implementations, {len(changed)} files changed"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
