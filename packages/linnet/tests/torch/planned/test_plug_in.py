"""The example of docs/linnet/backends.md, installed as a package, takes part in plans."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[5] / "docs" / "linnet" / "backends.md"
SOURCE = Path(__file__).parents[3] / "src"

USE = """
import json, sys, torch
torch.set_num_threads(1)
from linnet.backends import available, skipped
from linnet.backends.testing import two_layer_graph
from linnet.torch import GraphProgram, load_program

graph = two_layer_graph(rows=2, width=4, hidden=6)
weights = {p.path: torch.randn(p.shape) for p in graph.parameters}
model = load_program(GraphProgram([graph]), weights=weights)
x = torch.randn(2, 4)
ours = [b for b in available() if b.name == "my-linear"]
plan = model.plan_for("forward", [x], ours, measure=sys.argv[1] == "measure")
(made,) = plan.run([x], model.context_for(plan))
expected = model.run_entry("forward", [x], compile=False)
print(json.dumps({
    "mine": len([i for i in plan.regions if i.backend.name == "my-linear"]),
    "refused": len([r for r in plan.refusals if r.backend == "my-linear"]),
    "equal": bool(torch.allclose(made, expected, rtol=1e-4, atol=1e-4)),
    "conforms": [f.passed for f in model.conform("forward", [x], ours[0])] if ours else None,
    "skipped": {s.name: s.reason for s in skipped()},
}))
"""


def block(language: str) -> str:
    """The first code block of a language on the page."""
    return PAGE.read_text().split(f"```{language}\n")[1].split("```")[0]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with the example as an installed distribution."""
    folder = tmp_path / "site"
    (folder / "my_package").mkdir(parents=True)
    (folder / "my_package" / "__init__.py").write_text(block("python"))
    info = folder / "my_package-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 0.1\n")
    group, entry = block("toml").strip().splitlines()
    assert group == '[project.entry-points."linnet.backends"]'
    (info / "entry_points.txt").write_text(f"[linnet.backends]\n{entry.replace(chr(34), '')}\n")
    return folder


def environment(site: Path) -> dict[str, str]:
    path = os.pathsep.join((str(site), str(SOURCE)))
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}


def use(site: Path, mode: str) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-c", USE, mode],
        env=environment(site),
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_the_example_runs_what_it_matches_and_conforms(site: Path) -> None:
    found = use(site, "plain")
    assert found["mine"] == 4
    assert found["equal"] is True
    assert found["conforms"] == [True] * 4


def test_the_example_is_measured_like_any_other(site: Path) -> None:
    found = use(site, "measure")
    assert found["equal"] is True
    assert isinstance(found["mine"], int)
    assert isinstance(found["refused"], int)
    assert found["mine"] + found["refused"] >= 4


def test_the_example_for_another_contract_is_skipped_and_never_runs(site: Path) -> None:
    module = site / "my_package" / "__init__.py"
    module.write_text(module.read_text().replace("contract = 1", "contract = 7"))
    found = use(site, "plain")
    assert found["mine"] == 0
    assert found["conforms"] is None
    skipped = found["skipped"]
    assert isinstance(skipped, dict)
    assert "written for contract version 7; this Linnet has version 1" in skipped["my-linear"]


def test_four_processes_planning_at_once_all_succeed_and_keep_their_times(
    site: Path, linnet_home: Path
) -> None:
    workers = [
        subprocess.Popen(
            [sys.executable, "-W", "error::UserWarning", "-c", USE, "measure"],
            env=environment(site),
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for worker in workers:
        output, _ = worker.communicate(timeout=300)
        assert worker.returncode == 0
        assert json.loads(output)["equal"] is True
    document = json.loads((linnet_home / "benchmarks.json").read_text())
    mine = [key for key in document["entries"] if '"my-linear"' in key]
    assert len(mine) == 2  # up and down, whichever process timed them last
