"""Small texts that ask for endless graphs get one clear error, soon."""

from __future__ import annotations

import pytest

from linnet.check import check_text
from linnet.graph import work
from linnet.graph.binding import graph_for, manifest
from linnet.graph.bound import BindingError
from linnet.torch.emit import emit

ARRAY = """
block Unit {
    param w: Tensor[1; f32]
    pub fn forward(x: Tensor[1; f32]) -> Tensor[1; f32] { return x * w }
}
pub block Model<L: Dim> {
    sub units: [Unit; L]
    pub entry run(x: Tensor[1; f32]) -> Tensor[1; f32] {
        var y = x
        static for unit in units { y = unit.forward(y) }
        return y
    }
}
"""


def loops(depth: int) -> str:
    """Loops inside one another, each second one with a condition."""
    heads = [f"for i{n}x in 0..2 {{" if n % 2 else "while y > 1.0 {" for n in range(depth)]
    body = " ".join(heads) + " y = y * 0.5" + " }" * depth
    return f"pub entry run(x: f32) -> f32 {{ var y = x {body} return y }}"


def branches(depth: int) -> str:
    """Functions that call one another in a branch."""
    called = [
        f"fn step{n}(c: bool, x: f32) -> f32 {{ return if c {{ step{n + 1}(c, x) }} else {{ x }} }}"
        for n in range(depth)
    ]
    last = f"fn step{depth}(c: bool, x: f32) -> f32 {{ return x + 1.0 }}"
    entry = "pub entry run(c: bool, x: f32) -> f32 { return step0(c, x) }"
    return "\n".join([*called, last, entry])


def calls(depth: int, twice: bool = False) -> str:
    """Functions that call one another, once or twice."""
    called = [
        f"fn step{n}(x: f32) -> f32 {{ return step{n + 1}({f'step{n + 1}(x)' if twice else 'x'}) }}"
        for n in range(depth)
    ]
    last = f"fn step{depth}(x: f32) -> f32 {{ return x + 1.0 }}"
    return "\n".join([*called, last, "pub entry run(x: f32) -> f32 { return step0(x) }"])


def static_loop(body: str) -> str:
    """A loop that is unrolled a thousand million times."""
    loop = f"static for _i in 0..1000000000 {{ {body} }}"
    return f"pub entry run(x: f32) -> f32 {{ var y = x {loop} return y }}"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (static_loop("y = y + 1.0"), r"^text.linnet:2:\d+: the graph takes more than 200,000"),
        (static_loop(""), "the graph takes more than 200,000 operations"),
        (calls(60, twice=True), "calls are inlined"),
        (calls(1100), "calls and branches are more than 1000 levels deep"),
        (branches(70), "loops and branches are more than 64 levels deep"),
        (loops(17), "loops are more than 16 levels deep"),
        (ARRAY.replace("<L: Dim>", "").replace("; L]", "; 1000000000]"), "block instances"),
    ],
    ids=["static for", "empty static for", "doubling", "calls", "branches", "loops", "array"],
)
def test_an_endless_graph_is_refused_where_it_grows(text: str, complaint: str) -> None:
    program = check_text(f"module m\n{text}")
    with pytest.raises(BindingError, match=complaint):
        graph_for(program, "run", None)


def test_arrays_inside_arrays_are_counted_together() -> None:
    outer = "pub block Outer<L: Dim> { sub models: [Model<L>; L] }"
    program = check_text("module m" + ARRAY + outer)
    assert len(manifest(program, "Outer", {"L": 20})) == 400
    with pytest.raises(BindingError, match="more than 200,000 block instances, with models"):
        manifest(program, "Outer", {"L": 1000})


@pytest.mark.parametrize(
    "text",
    [calls(work.DEEPEST_RUN - 10), branches(work.DEEPEST_BODY - 1), loops(work.DEEPEST_LOOP)],
    ids=["calls", "branches", "loops"],
)
def test_what_is_just_allowed_becomes_source_that_python_takes(text: str) -> None:
    graph = graph_for(check_text(f"module m\n{text}"), "run", None)
    graph.to_json()
    compile(emit(graph).text, "generated", "exec")
