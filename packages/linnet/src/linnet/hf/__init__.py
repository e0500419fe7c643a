"""Local checkpoints in Hugging Face's layout as checkpoints that Linnet loads."""

from linnet.hf.convert import convert

__all__ = ["convert"]
