"""One token's attention with its cache: from the input of q, k and v to the mixed values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from infini.linnet.products import Product, are_siblings, joined_launch, products_of
from infini.linnet.program import FromPath, Launch, Program, Result, Temporary, Viewed
from infini.linnet.single import Places
from linnet.backends import ExecutableMeta, Region, Requirement
from linnet.graph import Call, Graph, Step, fold

NEEDED = frozenset(("apply_rotary_pos_emb", "flash_attn_with_kvcache"))
MIX = "std.nn.attention::grouped_attention_rows"
ROTATE = "std.nn.rope::rope_rows"
WRITE = "std.nn.cache::write_rows"
ALL = slice(None)


@dataclass(frozen=True)
class _Heads:
    """Heads [B, N, 1, D] as `split` makes them from a product: `steps` are what they take."""

    product: Product
    count: int
    steps: tuple[int, ...]
    cosine: int | None = None
    sine: int | None = None


@dataclass(frozen=True)
class _Written:
    """The new content of a cache: `path` is the state, `heads` what is written at `positions`."""

    path: str
    heads: _Heads
    positions: int
    steps: tuple[int, ...]


def cached_attention(graph: Graph, operators: frozenset[str]) -> Iterator[tuple[Region, Program]]:
    """Each attention of one new token to a cache that it is written to: q, k and v as one product,
    one rotation of q and k where they lie, and attention that reads the cache up to the token.
    """
    if not operators >= NEEDED:
        return
    finder = _Finder(graph, operators)
    for call in graph.semantic_calls(MIX):
        found = finder.find(call)
        if found is not None:
            yield found


class _Finder:
    def __init__(self, graph: Graph, operators: frozenset[str]) -> None:
        self.graph = graph
        self.products = products_of(graph, operators)
        self.rotations = {call.results[0]: call for call in graph.semantic_calls(ROTATE)}
        self.writes = {call.results[0]: call for call in graph.semantic_calls(WRITE)}

    def find(self, call: Call) -> tuple[Region, Program] | None:
        numbers = [call.argument(name) for name in ("query", "key", "value", "scale", "mask")]
        query, key, value, scale, mask = (n if isinstance(n, int) else -1 for n in numbers)
        factor = fold(self.graph, scale) if scale >= 0 else None
        if min(query, key, value, mask) < 0 or factor is None:
            return None
        q, k, v = self.heads(query), self.written(key), self.written(value)
        if q is None or k is None or v is None or k.positions != v.positions:
            return None
        products = (q.product, k.heads.product, v.heads.product)
        alike = (q.cosine, q.sine) == (k.heads.cosine, k.heads.sine)
        if not alike or q.cosine is None or v.heads.cosine is not None:
            return None
        if not are_siblings(products):
            return None
        seen = self.seen(mask, k.positions)
        if seen is None:
            return None
        steps = {*q.steps, *k.steps, *v.steps, *seen, *range(call.start, call.stop)}
        region = Region.of_steps(self.graph, steps, call.index)
        if region.problem is not None or region.outputs != tuple(call.results):
            return None
        return region, self.program(region, q, k, v, float(factor))

    def heads(self, number: int) -> _Heads | None:
        """What a value of shape [B, N, 1, D] is made from, or None."""
        rotation = self.rotations.get(number)
        if rotation is not None:
            x, cosine, sine = (rotation.argument(name) for name in ("x", "cosine", "sine"))
            if not (isinstance(x, int) and isinstance(cosine, int) and isinstance(sine, int)):
                return None
            plain = self.heads(x)
            if plain is None or plain.cosine is not None:
                return None
            steps = (*plain.steps, *range(rotation.start, rotation.stop))
            return _Heads(plain.product, plain.count, steps, cosine, sine)
        moved = self.step(number, "permute")
        split = None if moved is None else self.step(moved.operands[0], "reshape")
        if moved is None or split is None or moved.attributes["axes"] != (0, 2, 1, 3):
            return None
        product = self.products.get(split.operands[0])
        batch, count, length, size = self.graph.values[number].shape
        if product is None or length != 1:
            return None
        if self.graph.values[product.result].shape != (batch, 1, count * size):
            return None
        return _Heads(product, count, (*product.steps, split.index, moved.index))

    def written(self, number: int) -> _Written | None:
        """How a cache came to hold a value, or None."""
        call = self.writes.get(number)
        state = next((s for s in self.graph.states if s.result == number), None)
        if call is None or state is None or call.argument("cache") != state.value:
            return None
        steps = self.graph.steps
        stored = next(
            (s for s in steps if s.kind == "state_write" and s.operands == (number,)), None
        )
        new, positions = call.argument("v"), call.argument("at")
        if stored is None or not isinstance(new, int) or not isinstance(positions, int):
            return None
        heads = self.heads(new)
        if heads is None or self.graph.values[positions].dtype not in ("i32", "i64"):
            return None
        made = (*heads.steps, *range(call.start, call.stop), stored.index)
        return _Written(state.path, heads, positions, made)

    def seen(self, mask: int, positions: int) -> tuple[int, ...] | None:
        """The steps of the mask that shows each row the keys up to its position; None for another
        mask.
        """
        compared = self.step(mask, "compare")
        if compared is None or compared.attributes["comparison"] != "le":
            return None
        batch, length, keys = self.graph.values[mask].shape
        counted = self.step(compared.operands[0], "iota")
        if counted is None or self.graph.values[counted.results[0]].shape != (keys,):
            return None
        widened = self.step(compared.operands[1], "reshape")
        if widened is None or self.graph.values[widened.results[0]].shape != (batch, length, 1):
            return None
        summed = self.step(widened.operands[0], "add")
        if summed is None or length != 1:
            return None
        column = self.step(summed.operands[0], "reshape")
        offset = self.step(summed.operands[1], "iota")
        if column is None or offset is None or column.operands != (positions,):
            return None
        if self.graph.values[offset.results[0]].shape != (1,):
            return None
        return tuple(s.index for s in (compared, counted, widened, summed, column, offset))

    def step(self, number: int, kind: str) -> Step | None:
        """The step of a kind that makes a value."""
        step = self.graph.producers.get(number)
        return step if step is not None and step.kind == kind else None

    def program(self, region: Region, q: _Heads, k: _Written, v: _Written, scale: float) -> Program:
        places = Places(self.graph, region)

        def given(number: int | None) -> Viewed:
            place = None if number is None else places.of(number)
            assert place is not None
            return Viewed(place)

        (result,) = region.outputs
        out = self.graph.values[result]
        batch, heads, _, size = out.shape
        keys, total = k.heads.count, q.count + 2 * k.heads.count
        whole = Temporary(0, (batch, 1, total * size), out.dtype)

        def part(start: int, stop: int) -> Viewed:
            return Viewed(
                whole,
                (ALL, ALL, slice(start * size, stop * size)),
                (batch, 1, stop - start, size),
            )

        cosine, sine, positions = given(q.cosine), given(q.sine), given(k.positions)
        turned = part(0, heads + keys)
        launches = [
            joined_launch(
                (q.product, k.heads.product, v.heads.product),
                given(q.product.x),
                Viewed(whole),
            ),
            Launch(
                "apply_rotary_pos_emb",
                {
                    "input": turned,
                    "cos": Viewed(cosine.place, (ALL, ALL, None)),
                    "sin": Viewed(sine.place, (ALL, ALL, None)),
                },
                outputs={"out": turned},
            ),
            Launch(
                "flash_attn_with_kvcache",
                {
                    "q": part(0, heads),
                    "k_cache": Viewed(FromPath(k.path), order=(0, 2, 1, 3)),
                    "v_cache": Viewed(FromPath(v.path), order=(0, 2, 1, 3)),
                    "k": part(heads, heads + keys),
                    "v": part(heads + keys, total),
                    "cache_seqlens": positions,
                },
                {"softmax_scale": scale, "causal": True},
                {"out": Viewed(Result(0), order=(0, 2, 1, 3))},
            ),
        ]
        capacity = next(s for s in self.graph.states if s.path == k.path)
        room = self.graph.values[capacity.value].shape[2]
        place = region.inputs.index(k.positions)
        meta = ExecutableMeta(
            region.states_read,
            region.states_written,
            requires=(Requirement(place, 0, room - 1),),
        )
        return Program(launches, [(out.shape, out.dtype)], meta)
