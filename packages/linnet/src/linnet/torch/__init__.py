"""Runs Linnet models with PyTorch: interpreted, as generated source, or planned over back ends."""

from linnet.torch.load import load, load_program
from linnet.torch.module import LinnetModule
from linnet.torch.program import GraphProgram, Program
from linnet.torch.source_program import read_program
from linnet.torch.weights import WeightsError

__all__ = [
    "GraphProgram",
    "LinnetModule",
    "Program",
    "WeightsError",
    "load",
    "load_program",
    "read_program",
]
