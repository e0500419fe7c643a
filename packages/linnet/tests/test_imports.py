"""The front end imports neither torch nor anything slow."""

from __future__ import annotations

import subprocess
import sys


def test_checking_a_program_imports_no_tensor_framework() -> None:
    program = (
        "import sys\nfrom linnet.check import check_text\n"
        "import linnet.graph.binding, linnet.spec\n"
        "import linnet.format, linnet.ir, linnet.commands.main\n"
        "assert not check_text('module m\\nuse std.nn.linear::{Linear as _L}').errors\n"
        "print(sorted(m for m in sys.modules if m.split('.')[0] in ('torch', 'numpy', 'rich')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
