"""Files, spans, diagnostics, and how diagnostics are shown."""

from linnet.source.codes import CODES
from linnet.source.diagnostics import Diagnostic, LinnetError, Mark, clip, sort_diagnostics
from linnet.source.files import Position, SourceFile, Span
from linnet.source.near import did_you_mean, near_names
from linnet.source.read import decode, read_source
from linnet.source.render import render_json, render_text

__all__ = [
    "CODES",
    "Diagnostic",
    "LinnetError",
    "Mark",
    "Position",
    "SourceFile",
    "Span",
    "clip",
    "decode",
    "did_you_mean",
    "near_names",
    "read_source",
    "render_json",
    "render_text",
    "sort_diagnostics",
]
