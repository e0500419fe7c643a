"""How generated source spells a whole call of an op of the standard library.

Each function gives one PyTorch expression for a call, or None where the op's body is to be written
instead. `equivalent` numerics take functions that round where the body rounds; `fast` any that
compute the op. The text takes operands from `names`, and so tells which ones it reads.
"""

from __future__ import annotations

from collections.abc import Callable

from linnet.graph import Call, Graph
from linnet.graph.folding import fold
from linnet.torch.dtypes import FLOATS
from linnet.torch.expressions import Names, linear, literal


def library_call(graph: Graph, call: Call, names: Names, numerics: str) -> str | None:
    """The expression for a call of an op with one result, or None."""
    if numerics == "exact" or call.kind != "op" or len(call.results) != 1:
        return None
    spell = _SPELLINGS.get(call.callee)
    return None if spell is None else spell(_Call(graph, call, names, numerics))


class _Call:
    """A call with what its spelling asks of it."""

    def __init__(self, graph: Graph, call: Call, names: Names, numerics: str) -> None:
        self.graph = graph
        self.names = names
        self.arguments = {argument.name: argument.value for argument in call.arguments}
        self.generics = call.generics
        result = graph.values[call.results[0]]
        self.dtype, self.shape = result.dtype, result.shape
        #: Whether a function that computes in f32 and rounds once at the end will do.
        self.loose = numerics == "fast" or self.dtype == "f32"

    def number(self, name: str) -> int | None:
        """The value number of an argument; None where it is absent."""
        value = self.arguments.get(name)
        return value if isinstance(value, int) else None

    def name(self, name: str) -> str | None:
        """How the source names an argument; None where it is absent."""
        value = self.number(name)
        return None if value is None else self.names(value)

    def given(self, *names: str) -> list[str]:
        """The names of the arguments that are there."""
        return [self.names(n) for n in map(self.number, names) if n is not None]

    def shape_of(self, name: str) -> tuple[int, ...]:
        """The shape of an argument that is there."""
        value = self.number(name)
        assert value is not None, name
        return self.graph.values[value].shape

    def literal(self, name: str) -> str | None:
        """A scalar that is known when the graph is, as a Python number."""
        value = self.number(name)
        known = None if value is None else fold(self.graph, value)
        if value is None or known is None:
            return None
        return literal(known, self.graph.values[value].dtype)


def _linear(call: _Call) -> str | None:
    biased = call.number("bias") is not None
    # The body rounds the product before it adds the bias.
    if call.dtype not in FLOATS or (biased and not call.loose):
        return None
    x = call.number("x")
    assert x is not None
    return linear(call.graph.values[x], call.given("x", "weight", "bias"))


def _rms_norm(call: _Call) -> str | None:
    epsilon = call.literal("eps")
    # The body of a narrower dtype rounds before the weight, PyTorch's function after it.
    if epsilon is None or not call.loose or call.dtype not in FLOATS:
        return None
    x, weight = call.given("x", "weight")
    return f"functional.rms_norm({x}, ({call.shape[-1]},), {weight}, {epsilon})"


def _layer_norm(call: _Call) -> str | None:
    epsilon = call.literal("eps")
    if epsilon is None or not call.loose or call.dtype not in FLOATS:
        return None
    x, weight = call.given("x", "weight")
    bias = call.name("bias") or "None"
    return f"functional.layer_norm({x}, ({call.shape[-1]},), {weight}, {bias}, {epsilon})"


def _rounded_once(text: str, needs_loose: bool = False) -> Callable[[_Call], str | None]:
    """A function of `x` alone that computes narrow dtypes in f32 and rounds the result."""

    def spell(call: _Call) -> str | None:
        if call.dtype not in ("f32", "bf16", "f16") or (needs_loose and not call.loose):
            return None
        return text.format(x=call.name("x"))

    return spell


def _conv2d(call: _Call) -> str | None:
    biased = call.number("bias") is not None
    if call.dtype not in FLOATS or (biased and not call.loose):
        return None
    g = call.generics
    if "SH" in g:
        stride, padding = (g["SH"], g["SW"]), (g["PH"], g["PW"])
    else:
        stride, padding = (g["Stride"],) * 2, (g["Pad"],) * 2
    operands = ", ".join(call.given("x", "weight", "bias"))
    return f"functional.conv2d({operands}, stride={stride}, padding={padding})"


def _conv1d(call: _Call) -> str | None:
    biased = call.number("bias") is not None
    if call.dtype not in FLOATS or (biased and not call.loose):
        return None
    operands = ", ".join(call.given("x", "weight", "bias"))
    g = call.generics
    return f"functional.conv1d({operands}, stride={g['Stride']}, padding={g['Pad']})"


def _rope(call: _Call) -> str | None:
    # One rounding instead of three.
    if not call.loose or call.dtype not in FLOATS:
        return None
    return f"operations.rope({', '.join(call.given('x', 'cosine', 'sine'))})"


def _attention(call: _Call) -> str | None:
    scale = call.literal("scale")
    if scale is None or not call.loose or call.dtype not in ("f32", "bf16", "f16"):
        return None
    batch, heads, queries, width = call.shape
    key_heads = call.shape_of("key")[1]
    query, key, value = call.given("query", "key", "value")
    mask = call.number("mask")
    grouped = key_heads != heads
    options = f"scale={scale}"
    if grouped and queries == 1:
        # One query per head: those of a group are the queries of their key head.
        query = f"{query}.reshape(({batch}, {key_heads}, {heads // key_heads}, {width}))"
    elif grouped:
        options += ", enable_gqa=True"
    if mask is not None and not _is_causal(call.graph, mask):
        seen = call.names(mask)
        text = f"operations.masked_attention({query}, {key}, {value}, {seen}, {options})"
    else:
        options += "" if mask is None else ", is_causal=True"
        text = f"functional.scaled_dot_product_attention({query}, {key}, {value}, {options})"
    return f"{text}.reshape({call.shape})" if grouped and queries == 1 else text


def _is_causal(graph: Graph, mask: int) -> bool:
    """Whether a value is a square mask of std.nn.attention::causal_mask."""
    return any(
        mask in call.results and call.generics["Q"] == call.generics["K"]
        for call in graph.calls
        if call.callee == "std.nn.attention::causal_mask"
    )


_SPELLINGS: dict[str, Callable[[_Call], str | None]] = {
    "std.nn.activations::gelu": _rounded_once('functional.gelu({x}, approximate="tanh")'),
    "std.nn.activations::gelu_erf": _rounded_once("functional.gelu({x})", needs_loose=True),
    "std.nn.activations::relu": _rounded_once("functional.relu({x})"),
    "std.nn.activations::sigmoid": _rounded_once("torch.sigmoid({x})"),
    "std.nn.activations::silu": _rounded_once("functional.silu({x})"),
    "std.nn.attention::attention": _attention,
    "std.nn.attention::attention_rows": _attention,
    "std.nn.attention::grouped_attention": _attention,
    "std.nn.attention::grouped_attention_rows": _attention,
    "std.nn.conv::conv1d": _conv1d,
    "std.nn.conv::conv2d": _conv2d,
    "std.nn.conv::conv2d_rect": _conv2d,
    "std.nn.linear::linear": _linear,
    "std.nn.norm::layer_norm": _layer_norm,
    "std.nn.norm::rms_norm": _rms_norm,
    "std.nn.rope::rope": _rope,
    "std.nn.rope::rope_rows": _rope,
    "std.nn.softmax::softmax": _rounded_once("torch.softmax({x}, dim=-1)"),
}
