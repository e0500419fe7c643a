"""A back end that runs linear calls by PyTorch: put your library where `functional.linear` is."""

from torch.nn import functional

from linnet.backends import Capabilities, ExecutableMeta, Region


class MyLinear:
    """The back end; its entry point names this class."""

    name = "my-linear"
    version = "0.1"
    contract = 1  # the contract version it was written for

    def probe(self, target):
        """What it can do on a device; None where it cannot run."""
        return Capabilities() if target.kind in ("cpu", "cuda") else None

    def match(self, graph, target):
        """The regions that it can run: here each linear call whose weight is a parameter."""
        regions = [
            Region.of(graph, call.start, call.stop, call.index)
            for call in graph.semantic_calls("std.nn.linear::linear")
            if call.argument("bias") is None
        ]
        return [region for region in regions if len(region.parameters) == 1]

    def compile(self, region, target, options):
        """Makes a region ready to run."""
        return MyLinearCall(region.parameters[0])

    def estimate_cost(self, region, target):
        """Cost(seconds) where it is known without running."""
        return


class MyLinearCall:
    """One linear call, with the path of its weight."""

    def __init__(self, weight):
        self.weight = weight
        self.meta = ExecutableMeta((), ())

    def prepare(self, context):
        """Weights that the library wants in another layout are converted here."""

    def execute(self, inputs, outputs, context):
        """The region's outputs, in order; written to the tensors in `outputs` that are not None."""
        made = functional.linear(inputs[0], context.parameters[self.weight])
        return [made if outputs[0] is None else outputs[0].copy_(made)]
