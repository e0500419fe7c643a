"""Model families whose sources ship with Linnet, and checkpoints of them."""

from linnet.models.checkpoint import Checkpoint, CheckpointError, Text, family_source, find

__all__ = ["Checkpoint", "CheckpointError", "Text", "family_source", "find"]
