"""The operations of the IR."""

from __future__ import annotations

# Kind -> its attributes. Elementwise kinds work on scalars, tensors and, in a comprehension, on
# elements; their operands share a dtype and broadcast.
KINDS: dict[str, tuple[str, ...]] = {
    # Numbers
    "constant": ("value",),
    "size": ("size",),
    "adopt": (),
    **dict.fromkeys(("add", "sub", "mul", "div", "rem", "min", "max"), ()),
    **dict.fromkeys(("and", "or", "xor", "shl", "shr", "not", "neg"), ()),
    **dict.fromkeys(("exp", "log", "sqrt", "rsqrt", "sin", "cos", "tanh", "abs"), ()),
    "compare": ("comparison",),
    "cast": (),
    "select": (),
    # Whole tensors; the result's type holds the shape
    "reshape": (),
    "permute": ("axes",),
    "broadcast": (),
    "concat": ("axis",),
    "fill": (),
    "iota": (),
    "cumsum": ("axis",),
    "slice": ("parts",),
    # Index notation: a comprehension's region gives one element; `element` reads one
    "comprehension": ("indices",),
    "element": ("parts",),
    "reduce": ("reduction", "indices"),
    # Structure
    "tuple": (),
    "tuple_get": ("index",),
    "struct": ("fields", "explicit"),
    "struct_get": ("field",),
    "some": (),
    "none": (),
    "enum": ("index",),
    # Control: operands of loops are the carried values
    "if": (),
    "match": ("cases",),
    "static_for": ("start", "stop"),
    "while": (),
    "scan": ("start", "stop", "yields"),
    # Calls and blocks: the first operand of those on an instance is the instance
    "call": ("callee", "bindings", "given", "explicit"),
    "param": ("member",),
    "state_read": ("member",),
    "child": ("member",),
    "state_write": ("member",),
    "array_get": ("index",),
}

ELEMENTWISE = frozenset(
    [
        "add",
        "sub",
        "mul",
        "div",
        "rem",
        "min",
        "max",
        "and",
        "or",
        "xor",
        "shl",
        "shr",
        "not",
        "neg",
        "exp",
        "log",
        "sqrt",
        "rsqrt",
        "sin",
        "cos",
        "tanh",
        "abs",
        "compare",
        "cast",
        "select",
        "adopt",
    ]
)
