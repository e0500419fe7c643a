"""Command line: `python -m infini.ops --prefix` prints the folder to give to CMake."""

from __future__ import annotations

import argparse
import sys

import infini.ops


def main(arguments: list[str] | None = None) -> int:
    """Print what is asked for and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m infini.ops")
    choice = parser.add_mutually_exclusive_group(required=True)
    choice.add_argument(
        "--prefix", action="store_true", help="print the folder that holds include/ and lib/"
    )
    choice.add_argument("--version", action="store_true", help="print the version")
    choice.add_argument(
        "--operators", action="store_true", help="print the operators, one on a line"
    )
    options = parser.parse_args(arguments)
    if options.prefix:
        print(infini.ops.prefix())
    elif options.version:
        print(infini.ops.__version__)
    else:
        print("\n".join(infini.ops.operators()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
