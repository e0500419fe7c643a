"""Programs for tests: the library, the examples, those of `tests/programs`, and what the
specification pages accept.
"""

from __future__ import annotations

from pathlib import Path

import linnet
from linnet.spec import read_cases

HERE = Path(__file__).parents[1]
LIBRARY = sorted((Path(linnet.__file__).parent / "library").rglob("*.linnet"))
EXAMPLES = sorted((HERE.parent / "examples").glob("*.linnet"))
WHOLE = sorted((HERE / "programs").glob("*.linnet"))


def spec_programs() -> list[str]:
    """Accepted programs of one file each."""
    found = []
    for page in sorted((HERE / "spec").glob("*.md")):
        for case in read_cases(page.read_text(encoding="utf-8")):
            if not case.codes and len(case.files) == 1:
                found.append(case.files[0][1])
    return found


def all_programs() -> list[str]:
    """Every source there is."""
    files = [path.read_text(encoding="utf-8") for path in (*LIBRARY, *EXAMPLES, *WHOLE)]
    return [*files, *spec_programs()]
