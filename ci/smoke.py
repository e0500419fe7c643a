"""The session `smoke`: the shortest path that shows the stack at work."""

from __future__ import annotations

import sys
from functools import partial

from ci import infinirt, native
from ci.native import ROOT
from ci.steps import Step, run


def run_example(name: str) -> None:
    """Runs `docs/examples/<name>.py`, which raises where a result is not as it should be."""
    run(sys.executable, ROOT / "docs/examples" / f"{name}.py", env={"INFINI_RT_SIM_DEVICES": "2"})


STEPS = (
    Step("infinirt: build the prefix", partial(native.build, infinirt.PREFIX)),
    Step(
        "infinirt: C++ consumer of the moved prefix",
        partial(infinirt.use_moved_prefix, infinirt.PREFIX),
    ),
    Step("infinirt: devices from Python", partial(run_example, "device_runtime")),
    Step("stack: one model, five ways to run it", partial(run_example, "two_layer_model")),
    Step("linked-resolver: PyTorch's functions proved", partial(run_example, "prove_library")),
    Step("stack: SmolLM2 generates text", partial(run_example, "generate_text")),
)
