"""Text from language models: tokenizers, chat templates, choosing tokens, streaming."""

from linnet.generation.generate import Generation, TokenModel, generate
from linnet.generation.sample import Sampling
from linnet.generation.tokenizer import Tokenizer

__all__ = ["Generation", "Sampling", "TokenModel", "Tokenizer", "generate"]
