"""Linear calls on NVIDIA GPUs by cuBLASLt, the library that PyTorch loads."""

from linnet.torch.cublaslt.backend import CublasLt

__all__ = ["CublasLt"]
