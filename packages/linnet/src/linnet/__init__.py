"""Linnet: a typed tensor language whose shapes are proved before anything runs.

The front end (`linnet.source`, `linnet.syntax`, `linnet.check`, `linnet.ir`, `linnet.graph`) needs
no tensor framework. `linnet.torch` runs a graph with PyTorch and is imported only by those who ask
for it.
"""

__version__ = "0.1.0"
