"""Runs Linnet models with PyTorch: interpreted, as generated source, or planned over back ends."""

from linnet.torch.load import load_program
from linnet.torch.module import LinnetModule
from linnet.torch.program import GraphProgram, Program
from linnet.torch.weights import WeightsError

__all__ = ["GraphProgram", "LinnetModule", "Program", "WeightsError", "load_program"]
