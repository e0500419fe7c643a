"""Command line: `python -m infinirt --prefix` prints the folder to give to CMake."""

from __future__ import annotations

import argparse
import sys

import infinirt


def main(arguments: list[str] | None = None) -> int:
    """Prints what is asked for and returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m infinirt", description=infinirt.__doc__)
    choice = parser.add_mutually_exclusive_group(required=True)
    choice.add_argument(
        "--prefix", action="store_true", help="print the folder that holds include/ and lib/"
    )
    choice.add_argument("--version", action="store_true", help="print the version")
    options = parser.parse_args(arguments)
    print(infinirt.prefix() if options.prefix else infinirt.__version__)
    return 0


if __name__ == "__main__":
    sys.exit(main())
