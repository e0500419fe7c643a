"""Model families whose sources ship with Linnet, and checkpoints of them."""

from linnet.models.checkpoint import Checkpoint, CheckpointError, Text, family_source, find
from linnet.models.few_bits import load_few_bits

__all__ = ["Checkpoint", "CheckpointError", "Text", "family_source", "find", "load_few_bits"]
