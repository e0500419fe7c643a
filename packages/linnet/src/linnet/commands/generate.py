"""`linnet run`: generates text with a language model."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linnet.check.types import dtypes_listed, short_dtype
from linnet.commands.console import complain, fail

if TYPE_CHECKING:
    from linnet.generation import Generation, Tokenizer
    from linnet.models import Checkpoint
    from linnet.models.checkpoint import Progress

NEEDS = "pip install 'packages/linnet[models]' in the repository"
WEIGHTS_DTYPES = ("f32", "bf16", "f16")


def add_run(commands: Any) -> None:
    """Adds the command."""
    run = commands.add_parser("run", help="generate text with a language model")
    run.add_argument(
        "model",
        metavar="MODEL",
        help="a .linnet source; or a checkpoint of a known family: a GGUF file, a Hugging Face "
        "folder, or the name of an installed package that brings a GGUF file",
    )
    run.add_argument("--weights", metavar="W", help="the checkpoint, where MODEL is a source")
    run.add_argument("--prompt", required=True, help="what to answer or continue; - reads it")
    run.add_argument("--system", help="a message of the role system before the prompt")
    run.add_argument("--raw", action="store_true", help="continue the prompt, no chat template")
    run.add_argument(
        "--dtype",
        type=weights_dtype,
        default="bf16",
        metavar="T",
        help=f"of weights and arithmetic: {dtypes_listed(WEIGHTS_DTYPES)}; default bf16",
    )
    run.add_argument(
        "--device", default="cpu", help="PyTorch's name: cpu, cuda, infini (with torch-infini)"
    )
    run.add_argument(
        "--threads", type=int, metavar="N", help="threads of the CPU; PyTorch's default: all cores"
    )
    run.add_argument("--context", type=int, metavar="N", help="positions of the cache")
    run.add_argument(
        "--max-tokens", type=int, default=256, metavar="N", help="at most; default 256"
    )
    run.add_argument("--temperature", type=float, default=0.0, help="0 (default) is greedy")
    run.add_argument("--top-k", type=int, metavar="K", help="only of the K most probable tokens")
    run.add_argument(
        "--top-p", type=float, metavar="P", help="only of the likeliest whose sum is P"
    )
    run.add_argument("--seed", type=int, metavar="N", help="where random choices begin")
    run.add_argument(
        "--stop", action="append", default=[], metavar="TEXT", help="ends the answer; repeatable"
    )
    run.set_defaults(run=run_model)


def weights_dtype(text: str) -> str:
    """What `--dtype` takes, as Linnet names it."""
    name: str = short_dtype(text)
    if name not in WEIGHTS_DTYPES:
        raise argparse.ArgumentTypeError(
            f"expected one of {dtypes_listed(WEIGHTS_DTYPES)}; got {text!r}"
        )
    return name


def run_model(options: argparse.Namespace) -> int:
    """Streams the text; 1 if the source has errors, 2 if the command cannot be carried out."""
    from linnet.models import CheckpointError
    from linnet.models.installed import installed_weights

    source = options.model if options.model.endswith(".linnet") else None
    place = options.weights if source else options.model
    if place is None:
        return fail(f"{source} needs weights: --weights FILE or FOLDER")
    if source is None and options.weights is not None:
        return fail("--weights goes with a .linnet source; MODEL is a checkpoint already")
    # Before PyTorch is loaded, which takes seconds.
    if source is not None and not Path(source).exists():
        return fail(f"{source}: there is no such file")
    try:
        if not Path(place).exists() and installed_weights(place) is None:
            return fail(f"{place}: there is no such file, folder or installed package")
    except CheckpointError as error:
        return fail(str(error))
    try:
        from linnet.generation import Sampling, Tokenizer, generate
        from linnet.models import find
    except ImportError as error:
        return fail(f"`linnet run` needs more packages ({error}); {NEEDS}")
    from linnet.source import LinnetError

    try:
        # Before weights are converted.
        Sampling(options.temperature, options.top_k, options.top_p, options.seed)
        if options.max_tokens < 1:
            raise ValueError(f"--max-tokens must be 1 or more, got {options.max_tokens}")
        if options.threads is not None:
            set_threads(options.threads)
        with progress_bar() as progress:
            checkpoint = find(place, dtype=options.dtype, progress=progress)
        tokenizer = Tokenizer.read(checkpoint)
        prompt = sys.stdin.read() if options.prompt == "-" else options.prompt
        text = prompt_text(options, tokenizer, prompt)
        context = options.context
        if context is None:
            context = fitting_context(checkpoint, tokenizer, text, options)
        model = checkpoint.load(
            Path(source) if source else None,
            context=context,
            dtype=options.dtype,
            device=options.device,
        )
        generation = generate(
            model,
            tokenizer,
            text,
            max_tokens=options.max_tokens,
            temperature=options.temperature,
            top_k=options.top_k,
            top_p=options.top_p,
            seed=options.seed,
            stop=options.stop,
        )
        for piece in generation:
            gc.enable()  # what takes long has begun; until here `linnet` collected no garbage
            sys.stdout.write(piece)
            sys.stdout.flush()
        sys.stdout.write("\n")
    except LinnetError as error:
        complain(str(error))
        return 1
    except (ValueError, OSError) as error:
        return fail(str(error))
    complain(summary(generation))
    return 0


def set_threads(count: int) -> None:
    """Sets how many threads PyTorch computes with; ValueError for less than one."""
    if count < 1:
        raise ValueError(f"--threads must be 1 or more, got {count}")
    import torch

    torch.set_num_threads(count)


def prompt_text(options: argparse.Namespace, tokenizer: Tokenizer, prompt: str) -> str:
    """The prompt as the model takes it: through its chat template, if it has one."""
    if options.raw or tokenizer.text.chat_template is None:
        if options.system is not None:
            raise ValueError("--system needs a chat template, and no --raw")
        return prompt
    messages = [{"role": "user", "content": prompt}]
    if options.system is not None:
        messages.insert(0, {"role": "system", "content": options.system})
    return tokenizer.chat(messages)


def fitting_context(
    checkpoint: Checkpoint, tokenizer: Tokenizer, text: str, options: argparse.Namespace
) -> int:
    """Positions for the prompt and the answer, in steps of 256 and within the model's own."""
    wanted = len(tokenizer.encode(text)) + int(options.max_tokens)
    return min(-(-wanted // 256) * 256, checkpoint.positions)


def summary(generation: Generation) -> str:
    """`13 tokens read in 0.21 s, 64 written at 45.1 tokens/s (end)`."""
    speed = generation.tokens_per_second
    rate = "" if speed is None else f" at {speed:.1f} tokens/s"
    return (
        f"{len(generation.prompt_tokens)} tokens read in {generation.prompt_seconds:.2f} s, "
        f"{len(generation.tokens)} written{rate} ({generation.finish})"
    )


@contextmanager
def progress_bar() -> Iterator[Progress | None]:
    """A bar on standard error while weights are converted; None where that is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    bar = Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)
    with bar:
        tasks: dict[str, Any] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(tasks[what], completed=done)

        yield show
