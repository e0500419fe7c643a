"""Reads GGUF files: what they hold, and their models as checkpoints that Linnet loads."""

from linnet.gguf.convert import convert
from linnet.gguf.header import GgufError, GgufFile, StoredTensor, read_header

__all__ = ["GgufError", "GgufFile", "StoredTensor", "convert", "read_header"]
