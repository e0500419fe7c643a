"""The formatter."""

from linnet.format.formatter import Formatted, format_source, format_text

__all__ = ["Formatted", "format_source", "format_text"]
