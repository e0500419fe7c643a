"""Decode attention on NVIDIA GPUs by FlashInfer."""

from linnet.torch.flashinfer.backend import FlashInfer

__all__ = ["FlashInfer"]
