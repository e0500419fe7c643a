"""The PyTorch device `infini`.

This release registers no device yet and leaves torch untouched; it reserves the name and the
version that the rest of the stack checks.
"""

from importlib.metadata import version

__all__ = ["__version__"]

__version__: str = version("torch-infini")
