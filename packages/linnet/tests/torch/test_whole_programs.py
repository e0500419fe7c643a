"""Whole programs run: scans, states, arrays, children, joined products; every way alike."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
import torch
from linnet_helpers.small_programs import ARRAY, OPTIONAL_CHILD, SCAN, SPLIT
from torch import Tensor

from linnet.torch import LinnetModule, WeightsError, load
from linnet.torch.planned import Captured


def source(program: str) -> str:
    return f"module m\n{program}"


MODES: dict[str, Any] = {"interpreted": False, "generated": None, "compiled": "inductor"}


# PyTorch's own imports warn.
@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")
@pytest.mark.parametrize("mode", MODES)
def test_a_scan_carries_and_stacks_however_it_is_run(mode: str) -> None:
    model = load(source(SCAN), compile=MODES[mode])
    totals, marks, count = model.run_entry("run", [torch.ones(3, 1), 1])
    torch.testing.assert_close(totals, torch.tensor([[1.0], [1.9], [2.71]]), rtol=1e-5, atol=1e-5)
    assert marks.tolist() == [4, 9, 16]
    assert int(count) == 4


SEEN = """module seen

pub block Memory {
    state seen: Tensor[1; i64]

    pub entry run(x: i64) -> i64 {
        let known = select(seen[0] > 0, 1, 0)
        seen = fill<i64>([1], 0) + (x + known)
        return known
    }
}
"""


@pytest.mark.parametrize("mode", ["interpreted", "generated"])
def test_a_state_goes_on_from_call_to_call_until_it_is_reset(mode: str) -> None:
    model = load(SEEN, compile=MODES[mode])
    found = []
    for x in (2, 4):
        result = model.run_entry("run", [x])
        found.append((model.tensor("seen").tolist(), int(result)))
    assert found == [([2], 0), ([5], 1)]
    model.reset_state()
    assert model.tensor("seen").tolist() == [0]


def test_an_array_of_children_binds_by_number_and_optional_weights_may_lack() -> None:
    names = ("units.0.gain", "units.1.gain", "first.gain")
    weights = {name: torch.randn(2).bfloat16() for name in names}
    model = load(source(ARRAY), generics={"N": 2, "L": 2}, weights=weights)
    manifest = [(e.path, e.optional) for e in model.program.declared(None)]
    assert manifest == [
        ("units.0.gain", False),
        ("units.0.bias", True),
        ("units.1.gain", False),
        ("units.1.bias", True),
        ("first.gain", False),
        ("first.bias", True),
    ]
    x = torch.randn(3, 2).bfloat16()
    wanted = x * weights["first.gain"] + weights["first.gain"]
    for name in names[:2]:
        wanted = wanted * weights[name]
    assert torch.equal(model.run_entry("run", [x]), wanted)
    del weights["units.1.gain"]
    with pytest.raises(WeightsError, match=r"1 problem:\n  missing: units\.1\.gain, bf16\[2\]$"):
        load(source(ARRAY), generics={"N": 2, "L": 2}, weights=weights)


@pytest.mark.parametrize("mode", ["interpreted", "generated"])
def test_an_optional_child_is_there_with_its_weights(mode: str) -> None:
    x, w = torch.randn(4), torch.randn(4)
    without = load(source(OPTIONAL_CHILD), generics={"N": 4}, compile=MODES[mode])
    assert torch.equal(without.run_entry("run", [x]), x)
    assert list(without.paths()) == []
    present = load(
        source(OPTIONAL_CHILD), generics={"N": 4}, weights={"head.w": w}, compile=MODES[mode]
    )
    assert torch.equal(present.run_entry("run", [x]), x * w)


def test_sizes_that_break_the_blocks_rule_are_refused_at_load() -> None:
    weights = {"w": torch.randn(3, 3)}
    with pytest.raises(ValueError, match=r"Split needs \(H % N\) == 0, which H = 10, N = 3"):
        load(source(SPLIT), generics={"H": 10, "N": 3}, weights=weights)
    model = load(source(SPLIT), generics={"H": 9, "N": 3}, weights=weights)
    x = torch.randn(2, 9)
    assert torch.equal(model.run_entry("run", [x]), x.reshape(2, 3, 3) * weights["w"])


SIBLINGS = """module siblings
use std.nn.linear::{Linear}

pub block Attention {
    sub q: Linear<8, 8, f32>
    sub k: Linear<8, 4, f32>
    sub v: Linear<8, 4, f32>

    pub entry forward<B: Dim>(x: Tensor[B, 8; f32]) -> (
        Tensor[B, 8; f32],
        Tensor[B, 4; f32],
        Tensor[B, 4; f32],
    ) {
        return (q.forward(x), k.forward(x), v.forward(x))
    }
}
"""


def siblings(**options: Any) -> tuple[LinnetModule, dict[str, Tensor]]:
    shapes = {"q": (8, 8), "k": (4, 8), "v": (4, 8)}
    weights = {f"{name}.weight": torch.randn(shape) for name, shape in shapes.items()}
    return load(SIBLINGS, weights=weights, **options), weights


def test_products_of_one_input_become_one_over_one_storage() -> None:
    model, weights = siblings()
    before = {path: tensor.clone() for path, tensor in weights.items()}
    x = torch.randn(5, 8)
    found = model.forward(x)
    text = model.generated_source("forward").split("def main(")[1]
    assert text.count("functional.linear(") == 1
    storages = {model.tensor(path).untyped_storage().data_ptr() for path in weights}
    assert len(storages) == 1
    held = model.tensor("q.weight").untyped_storage().nbytes()
    assert held == sum(tensor.nbytes for tensor in weights.values())
    for (path, weight), one in zip(before.items(), found, strict=True):
        assert torch.equal(model.tensor(path), weight)
        torch.testing.assert_close(one, x @ weight.T, rtol=1e-5, atol=1e-5)


@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")
def test_interpreted_generated_and_compiled_runs_agree() -> None:
    model, weights = siblings(compile=False)
    x = torch.randn(5, 8)
    wanted = model.forward(x)
    for mode in MODES.values():
        other = load(SIBLINGS, weights=weights, compile=mode)
        for one, reference in zip(other.forward(x), wanted, strict=True):
            torch.testing.assert_close(one, reference, rtol=1e-5, atol=1e-5)


MATCH = """module many
enum Kind {{ {variants} }}

pub entry run(kind: Kind, x: f32) -> f32 {{
    return match kind {{
{arms}
    }}
}}
"""


@pytest.mark.parametrize("count", [2, 9, 64, 65, 66, 200])
@pytest.mark.parametrize("mode", ["interpreted", "generated"])
@pytest.mark.parametrize("rest", [False, True])
def test_a_match_takes_any_number_of_variants(count: int, mode: str, rest: bool) -> None:
    names = [f"V{n}" for n in range(count)]
    #: In an order of their own, every third left to `_`.
    order = [names[n * 7 % count] for n in range(count)] if count % 7 else names[::-1]
    kept = [name for name in order if not rest or int(name[1:]) % 3]
    arms = [f"        {name} => x + {int(name[1:])}.0" for name in kept]
    arms += ["        _ => x - 1.0"] if rest else []
    source = MATCH.format(variants=", ".join(names), arms="\n".join(arms))
    model = load(source, compile=MODES[mode])
    for n in {0, 1, count // 2, count - 1}:
        wanted = 99.0 if rest and n % 3 == 0 else 100.0 + n
        assert float(model.run_entry("run", [n, 100.0])) == wanted, n


PADDED = """module padded
use std.nn.attention::{attention_rows}
use std.nn.embedding::{Embedding}
use std.nn.linear::{Linear}
use std.nn.rope::{rope_angles, rope_rows}

/// Rows of a batch may begin with padding: tokens that stand before the first position.
pub block Padded<Vocab: Dim, D: Dim>
where
    D > 0,
    D % 2 == 0,
{
    sub tokens: Embedding<Vocab, D, f32>
    sub query: Linear<D, D, f32>
    sub key: Linear<D, D, f32>
    sub head: Linear<D, Vocab, f32>

    pub entry logits<B: Dim, S: Dim>(ids: Tensor[B, S; i64], padding: Tensor[B; i64]) -> (
        Tensor[B, Vocab; f32],
        Tensor[B, S; i64],
    )
    where S > 0 {
        let positions[b, s] = iota(S)[s] - padding[b]
        let angles = rope_angles<[B, S], D>(positions, 10000.0)
        let x = tokens.forward(ids)
        let q = rope_rows(reshape(query.forward(x), [B, 1, S, D]), cos(angles), sin(angles))
        let k = rope_rows(reshape(key.forward(x), [B, 1, S, D]), cos(angles), sin(angles))
        let seen[b, i, j] = positions[b, j] <= positions[b, i]
        let real[b, i, j] = (positions[b, j] >= 0) & (iota(S)[i] >= 0)
        let mixed = attention_rows(q, k, reshape(x, [B, 1, S, D]), 0.5, seen & real)
        let y = reshape(mixed, [B, S, D])
        return (head.forward(y[:, S - 1]), positions)
    }
}
"""


@pytest.mark.parametrize("mode", ["interpreted", "generated"])
def test_rows_padded_on_the_left_equal_each_row_alone(mode: str) -> None:
    shapes = {"tokens": (11, 8), "query": (8, 8), "key": (8, 8), "head": (11, 8)}
    weights = {f"{name}.weight": torch.randn(shape) for name, shape in shapes.items()}
    model = load(PADDED, weights=weights, generics={"Vocab": 11, "D": 8}, compile=MODES[mode])
    rows = [torch.randint(0, 11, (length,)) for length in (2, 5, 8)]
    pads = [8 - len(row) for row in rows]
    batch = torch.stack([torch.cat((torch.full((8 - len(row),), 7), row)) for row in rows])
    found, positions = model.run_entry("logits", [batch, torch.tensor(pads)])
    assert positions.tolist() == [list(range(-pad, 8 - pad)) for pad in pads]
    for n, row in enumerate(rows):
        alone, _ = model.run_entry("logits", [row[None], torch.tensor([0])])
        torch.testing.assert_close(found[n], alone[0], rtol=1e-5, atol=1e-5)


@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")
def test_compiled_source_takes_every_size_after_the_first() -> None:
    model, weights = siblings(compile="inductor")
    for rows in (1, 5, 0, 2):
        x = torch.randn(rows, 8)
        torch.testing.assert_close(
            model.forward(x)[0], x @ weights["q.weight"].T, rtol=1e-5, atol=1e-5
        )


HEADS = """module heads

pub entry split<B: Dim, W: Dim>(x: Tensor[B, W; f32]) -> Tensor[B, 4, W / 4; f32]
where W % 4 == 0 {
    return reshape(x, [B, 4, W / 4])
}
"""


def test_a_size_that_must_be_a_multiple_says_so_before_anything_runs() -> None:
    model = load(HEADS)
    for rows in (1, 3, 0):
        assert model.run_entry("split", [torch.ones(rows, 12)]).shape == (rows, 4, 3)
    with pytest.raises(ValueError, match=r"\(W % 4\) == 0.*W = 10"):
        model.run_entry("split", [torch.ones(2, 10)])


def test_threads_may_run_a_model_that_none_has_run_before() -> None:
    for _ in range(5):
        model, weights = siblings()
        xs = [torch.randn(rows, 8) for rows in (1, 2, 3, 1, 2, 3, 4, 4)]
        with ThreadPoolExecutor(len(xs)) as pool:
            found = list(pool.map(model.forward, xs))
        for x, (q, k, v) in zip(xs, found, strict=True):
            for name, one in (("q", q), ("k", k), ("v", v)):
                wanted = x @ weights[f"{name}.weight"].T
                torch.testing.assert_close(one, wanted, rtol=1e-5, atol=1e-5)


def test_a_weight_of_a_joined_product_may_be_replaced_after_many_runs() -> None:
    model, weights = siblings()
    x = torch.randn(1, 8)
    for _ in range(3):
        model.forward(x)
    replaced = torch.randn(4, 8)
    model.get_submodule("k").weight = torch.nn.Parameter(replaced, requires_grad=False)
    for _ in range(3):
        found = model.forward(x)[1]
        torch.testing.assert_close(found, x @ replaced.T, rtol=1e-5, atol=1e-5)
    with torch.no_grad():
        model.get_parameter("v.weight").mul_(2)
    torch.testing.assert_close(
        model.forward(x)[2], x @ (2 * weights["v.weight"]).T, rtol=1e-5, atol=1e-5
    )
    model.get_parameter("q.weight").data = torch.zeros(8, 8)
    assert not model.forward(x)[0].any()


CHOICE = """module choice
enum Mode { Plus, Minus }
struct Setting { mode: Mode  by: f32 }

pub entry run(x: f32, setting: Setting, modes: (Mode, Mode)) -> f32 {
    let (first, _second) = modes
    let y = match setting.mode {
        Plus => x + setting.by
        Minus => x - setting.by
    }
    return match first {
        Plus => y
        Minus => -y
    }
}
"""


@pytest.mark.parametrize("way", ["interpreted", "generated", "planned", "captured"])
def test_a_number_that_is_no_variant_is_named(way: str) -> None:
    model = load(CHOICE, compile=False if way == "interpreted" else None)

    def given(mode: int, first: int) -> dict[str, Any]:
        setting = {"mode": torch.tensor(mode), "by": 1.5}
        return {"x": 4.0, "setting": setting, "modes": (first, torch.tensor(0))}

    run: Any = partial(model.run_entry, "run")
    if way in ("planned", "captured"):
        plan = model.plan_for("run", given(0, 0), backends=[], measure=False)
        context = model.context_for(plan)
        step = Captured(plan, context) if way == "captured" else partial(plan.run, context=context)

        def run(inputs: Any) -> Tensor:
            return step(inputs)[0]

    assert [float(run(given(*modes))) for modes in ((0, 0), (1, 0), (1, 1))] == [5.5, 2.5, -2.5]
    for mode, first, name in (
        (2, 0, r"setting\.mode"),
        (-1, 0, r"setting\.mode"),
        (0, 7, r"modes\.0"),
    ):
        message = f"entry run: input {name}: expected the position of a variant, 0 to 1, got"
        with pytest.raises(IndexError, match=message):
            run(given(mode, first))
