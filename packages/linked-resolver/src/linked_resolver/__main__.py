"""`python -m linked_resolver` is the command `linked-resolver`."""

from .cli import run

run()
