"""The advisory report about torch.cuda's surface."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

PACKAGE = Path(__file__).resolve().parents[1]
TOOL = PACKAGE / "tools" / "report_api_gaps.py"
PROFILE = PACKAGE / "tests" / "conformance" / "api_profile.json"


def report(
    tmp_path: Path, profile: Path = PROFILE
) -> tuple[subprocess.CompletedProcess[str], Path, Path]:
    markdown, document = tmp_path / "deep" / "gaps.md", tmp_path / "deep" / "gaps.json"
    arguments = ["--profile", profile, "--markdown", markdown, "--json", document]
    result = subprocess.run(
        [sys.executable, TOOL, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    return result, markdown, document


def test_every_symbol_is_classified_and_every_required_one_exists(tmp_path: Path) -> None:
    result, markdown, document = report(tmp_path)
    assert result.returncode == 0, result.stderr
    content = json.loads(document.read_text(encoding="utf-8"))
    assert content["unclassified"] == []
    assert content["missing"] == []
    assert len(content["required"]) > 40
    text = markdown.read_text(encoding="utf-8")
    assert "| unclassified | 0 |" in text
    assert "- `current_stream`" in text


def test_names_that_torch_cuda_merely_imported_are_left_out(tmp_path: Path) -> None:
    document = report(tmp_path)[2]
    content = json.loads(document.read_text(encoding="utf-8"))
    symbols = {*content["required"], *content["planned"], *content["excluded"]}
    assert not symbols & {"os", "torch", "Any", "Callable", "lru_cache", "warnings", "threading"}
    assert {"Stream", "Stream.query", "OutOfMemoryError"} <= symbols


def change(tmp_path: Path, **changes: object) -> Path:
    path = tmp_path / "profile.json"
    content = {**json.loads(PROFILE.read_text(encoding="utf-8")), **changes}
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_gaps_do_not_make_the_command_fail(tmp_path: Path) -> None:
    profile = change(tmp_path, planned={}, required=["utilization"], excluded={"x*": "reason"})
    result, _, document = report(tmp_path, profile)
    assert result.returncode == 0
    content = json.loads(document.read_text(encoding="utf-8"))
    assert content["missing"] == ["utilization"]
    assert "current_stream" in content["unclassified"]
    assert content["stale"] == ["x*"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schema": 2}, "expected an object with `schema` 1"),
        ({"required": "Stream"}, "expected `required` to be a list of symbols"),
        ({"planned": {"graph": ""}}, "expected `planned` to map each symbol to its reason"),
        ({"planned": {"Stream": "twice"}}, "classified twice: Stream"),
    ],
)
def test_invalid_profile_makes_the_command_fail(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    result = report(tmp_path, change(tmp_path, **changes))[0]
    assert result.returncode == 2
    assert message in result.stderr


def test_profile_that_is_no_json_makes_the_command_fail(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_text("{", encoding="utf-8")
    assert report(tmp_path, path)[0].returncode == 2


def test_report_that_cannot_be_written_makes_the_command_fail(tmp_path: Path) -> None:
    (tmp_path / "deep").write_text("a file where a folder is needed", encoding="utf-8")
    assert report(tmp_path)[0].returncode == 1
