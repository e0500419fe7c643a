"""The package to start from, installed, takes part in plans."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from linnet_helpers.install import environment, install

DOCS = Path(__file__).parents[5] / "docs"
TEMPLATE = DOCS / "examples" / "linnet_backend"

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


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with the template as an installed distribution."""
    folder = tmp_path / "site"
    folder.mkdir()
    install(folder, TEMPLATE)
    return folder


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


def test_the_template_passes_its_own_test(site: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_my_linear.py"],
        cwd=site,
        env=environment(site),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


def test_the_page_names_the_entry_point_as_the_template_does() -> None:
    page = (DOCS / "linnet" / "backends.md").read_text()
    group = page.split("```toml\n")[1].split("```")[0]
    assert group in (TEMPLATE / "pyproject.toml").read_text()
    assert '--8<-- "examples/linnet_backend/my_linear.py"' in page


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
    module = site / "my_linear.py"
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
