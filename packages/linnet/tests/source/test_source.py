"""Positions, decoding, and the two forms of diagnostics."""

from __future__ import annotations

import json
import re
from pathlib import Path

from linnet.check import check_text
from linnet.source import (
    CODES,
    Diagnostic,
    Mark,
    SourceFile,
    Span,
    clip,
    decode,
    render_json,
    render_text,
)

SOURCES = Path(__import__("linnet").__file__).parent


def test_positions_count_lines_and_code_points_from_one() -> None:
    file = SourceFile("t", "ab\näö\n")
    assert [tuple(file.position(i)) for i in (0, 3, 4, 6)] == [
        (1, 1, 0),
        (2, 1, 3),
        (2, 2, 4),
        (3, 1, 6),
    ]
    assert file.line(2) == "äö"
    assert file.line(3) == ""


def test_decoding_skips_a_byte_order_mark_and_reports_bad_bytes() -> None:
    file, wrong = decode(b"\xef\xbb\xbfmodule m", "t")
    assert file.text == "module m"
    assert wrong is None
    file, wrong = decode("module ä ".encode() + b"\xff", "t")
    assert wrong is not None
    assert wrong.code == "E1001"
    assert tuple(file.position(wrong.primary.span.start))[:2] == (1, 10)


def test_carets_stand_below_what_they_mark_whatever_is_before() -> None:
    for text in ("\tlet b = c", "/* ünïcode */ x", "a" * 500 + " marked " + "b" * 500):
        at = (
            text.index("c")
            if "c" in text and "mark" not in text
            else text.index("m")
            if "m" in text
            else 14
        )
        mark = Mark(SourceFile("t", text), Span(at, at + 1), "here")
        lines = render_text(Diagnostic("E1201", "message", mark)).split("\n")
        assert lines[4].index("^") == lines[3].index(text[at], 4) or "ünï" in text
        assert len(lines[3]) < 180


def test_json_has_the_published_form() -> None:
    found = check_text("module m\nfn f() -> f32 { return missing }", "dir/t.linnet").diagnostics
    document = json.loads(json.dumps(render_json(found)))
    assert document["version"] == 1
    assert document["summary"] == {"errors": 1, "warnings": 0}
    (one,) = document["diagnostics"]
    assert set(one) == {
        "code",
        "severity",
        "message",
        "label",
        "location",
        "related",
        "notes",
        "help",
    }
    assert one["location"] == {
        "file": "dir/t.linnet",
        "start": {"line": 2, "column": 24, "offset": 32},
        "end": {"line": 2, "column": 31, "offset": 39},
    }


def test_long_names_are_clipped() -> None:
    assert clip("short") == "short"
    assert len(clip("x" * 1000)) <= 60


def test_only_published_codes_are_used() -> None:
    used = set()
    for path in SOURCES.rglob("*.py"):
        if path.name != "codes.py":
            used.update(re.findall(r'"([EW]\d{4})"', path.read_text(encoding="utf-8")))
    assert used <= set(CODES)
