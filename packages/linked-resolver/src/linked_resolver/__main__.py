"""`python -m linked_resolver` is the command `linked-resolver`."""

import sys
from pathlib import Path

from .cli import run

# `-m` puts the working folder first; what lies there is not installed.
if not getattr(sys.flags, "safe_path", False) and sys.path[:1] == [str(Path.cwd())]:
    del sys.path[0]
run()
