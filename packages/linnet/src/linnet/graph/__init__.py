"""One entry at one binding of all sizes, as a flat list of steps."""

from linnet.graph.folding import fold, literal_steps
from linnet.graph.kinds import KINDS, Kind
from linnet.graph.model import (
    DTYPES,
    Argument,
    Body,
    Call,
    Constant,
    Graph,
    Input,
    Parameter,
    SourceSpan,
    State,
    Step,
    Tree,
    Value,
    leaves,
)
from linnet.graph.verify import verify

__all__ = [
    "DTYPES",
    "KINDS",
    "Argument",
    "Body",
    "Call",
    "Constant",
    "Graph",
    "Input",
    "Kind",
    "Parameter",
    "SourceSpan",
    "State",
    "Step",
    "Tree",
    "Value",
    "fold",
    "leaves",
    "literal_steps",
    "verify",
]
