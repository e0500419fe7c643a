"""Names, types and shapes: a file to a checked program."""

from linnet.check.checker import CheckedProgram, check, check_file, check_text

__all__ = ["CheckedProgram", "check", "check_file", "check_text"]
