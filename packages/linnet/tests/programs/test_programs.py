"""Programs as users write them give what NumPy gives: scans, states, structs, enums, optionals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from linnet_helpers.interpreter import run

from linnet.check import check_file
from linnet.graph import Graph
from linnet.graph.binding import graph_for

HERE = Path(__file__).parent


def graph(name: str, entry: str, inputs: Any = None, **sizes: int) -> Graph:
    program = check_file(HERE / f"{name}.linnet")
    return graph_for(program, entry, inputs, entry_generics=sizes)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("decays", [False, True])
def test_a_gated_recurrent_cell_by_scan(backward: bool, decays: bool) -> None:
    pick = np.random.default_rng()
    program = check_file(HERE / "rnn.linnet")
    bound = {"cell.gates.weight", "cell.gates.bias", "head.weight"}
    bound |= {"cell.decay"} if decays else set()
    made = graph_for(
        program,
        "run",
        None,
        generics={"In": 3, "H": 4, "Out": 2},
        entry_generics={"S": 5},
        bound=bound,
    )
    weights = {p.path: pick.standard_normal(p.shape).astype("f4") for p in made.parameters}
    xs = pick.standard_normal((5, 1, 3)).astype("f4")
    states: dict[str, Any] = {}
    ys, last = run(made, {"xs": xs, "backward": backward}, weights, states)
    hidden = np.zeros((1, 4))
    wanted = []
    for step in range(5):
        x = xs[4 - step if backward else step]
        gates = np.concatenate([x, hidden], 1) @ weights["cell.gates.weight"].T
        gates = gates + weights["cell.gates.bias"]
        update, reset = sigmoid(gates[:, :4]), sigmoid(gates[:, 4:8])
        hidden = hidden * (1 - update) + np.tanh(gates[:, 8:] * reset) * update
        hidden = hidden * weights["cell.decay"] if decays else hidden
        wanted.append(hidden @ weights["head.weight"].T)
    assert np.allclose(ys, wanted, atol=1e-5)
    assert np.allclose(last, hidden, atol=1e-5)
    assert np.allclose(states["last"], hidden, atol=1e-5)


def test_a_state_machine_over_tokens() -> None:
    text = b'1"2\\"3"4'
    made = graph("machine", "scan_tokens", N=len(text))
    inside, total, digits = run(made, {"tokens": np.frombuffer(text, np.uint8).astype("i4")})
    assert inside.tolist() == [False, True, True, False, True, True, False, False]
    assert (int(total), int(digits)) == (5, 2)


def test_a_loop_whose_end_only_the_run_knows() -> None:
    made = graph("machine", "collatz")
    assert [int(run(made, {"n": n})) for n in (1, 2, 7, 27)] == [0, 1, 16, 111]


def test_a_scan_inside_a_scan() -> None:
    x = np.random.default_rng().standard_normal((3, 4)).astype("f4")
    sums, rows = run(graph("machine", "nested", N=3, M=4), {"x": x})
    assert np.allclose(sums, x.sum(1), atol=1e-6)
    assert np.allclose(rows, x.cumsum(1), atol=1e-6)


@pytest.mark.parametrize("present", [False, True])
def test_structs_in_structs_with_optionals_and_enums(present: bool) -> None:
    pick = np.random.default_rng()
    x, y = (pick.standard_normal(n).astype("f4") for n in (3, 6))
    made = graph("structs", "go", {"x": ((3,), "f32"), "y": ((6,), "f32") if present else None})
    found = run(made, {"x": x, "y": y} if present else {"x": x})
    first = x.sum() + (y.sum() * 2 if present else 0)
    assert np.allclose(found, first + (x + 1).sum(), atol=1e-5)
    same = graph("structs", "same")
    answers = [bool(run(same, {"a": a, "b": b})) for a, b in ((0, 0), (1, 0), (2, 2))]
    assert answers == [True, False, False]


def test_backwards_of_ops_are_kept_beside_their_calls() -> None:
    made = graph("gradients", "go", N=3)
    marked = {call.callee: call.gradient for call in made.calls}
    assert set(marked) == {"gradients::straight", "gradients::scaled", "gradients::norm"}
    outputs = {name: len(body.outputs) for name, body in marked.items() if body is not None}
    assert outputs == {"gradients::straight": 1, "gradients::scaled": 2, "gradients::norm": 1}
