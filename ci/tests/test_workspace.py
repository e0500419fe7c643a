"""What holds for the workspace as a whole."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from ci.__main__ import SESSIONS
from ci.native import ROOT
from ci.packages import PACKAGES, Package, tomllib
from ci.stamp import files_of

GATE = (ROOT / ".ci/run").read_text(encoding="utf-8")
WORKFLOWS = {
    path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / ".github/workflows").glob("*.yml"))
}
WORKFLOW = WORKFLOWS["ci"]
BLOCK = re.compile(
    r"(<!-- not run: [^>]{8,} -->\n+)?^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL
)

# Pages whose programs need files or one another; the package's own test sets them up and runs them.
RUN_BY_THEIR_PACKAGE = {
    "docs/linnet/running.md": "packages/linnet/tests/torch/test_docs.py",
    "docs/linnet/tour.md": "packages/linnet/tests/test_tour.py",
    "packages/linked-resolver/README.md": "packages/linked-resolver/tests/test_documentation.py",
    "packages/linnet/README.md": "packages/linnet/tests/test_readme.py",
}


def _sessions_of_noxfile() -> set[str]:
    text = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    return set(re.findall(r"^@nox\.session\b.*\ndef (\w+)", text, re.MULTILINE))


def _sessions_of_gate() -> set[str]:
    return set(re.findall(r"^ *step \"[\w ]+\" \d+ nox (\w+)", GATE, re.MULTILINE))


def _documented_programs() -> dict[str, str]:
    """For each page with Python code, its blocks in order as one program.

    A block after `<!-- not run: reason -->` is left out.
    """
    programs = {}
    for path in files_of(ROOT, ["README.md", "docs", "packages"]):
        if path.name == "README.md" or (path.parts[0] == "docs" and path.suffix == ".md"):
            blocks = BLOCK.findall((ROOT / path).read_text(encoding="utf-8"))
            # A snippet line stands for a file that a session runs.
            run = [block for unrun, block in blocks if not unrun and "--8<--" not in block]
            if run:
                programs[str(path)] = "\n".join(run)
    return programs


PROGRAMS = _documented_programs()


def _link_examples(page: Path, folder: Path) -> None:
    """Links into `folder` the examples of the package that `page` is about."""
    examples = ROOT / "packages" / page.parts[1] / "examples" if len(page.parts) > 2 else None
    if examples and examples.is_dir():
        for source in [examples, *examples.iterdir()]:
            (folder / source.name).symlink_to(source)


def test_every_session_hands_over_to_a_command_of_its_name() -> None:
    assert _sessions_of_noxfile() == SESSIONS.keys() - {"checks"}


def test_the_gate_runs_the_tests_as_the_readme_says() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert ".venv/bin/nox -s tests" in readme
    assert "tests" in _sessions_of_gate()


def test_the_workflow_runs_every_session_of_the_gate() -> None:
    jobs = WORKFLOW["jobs"]
    public = {row["session"] for row in jobs["session"]["strategy"]["matrix"]["include"]}
    assert public | {"cuda_compile"} >= _sessions_of_gate()
    assert {"3.10", "3.12"} <= set(jobs["sync"]["strategy"]["matrix"]["python"])


def test_a_job_has_at_least_the_minutes_of_its_session_in_the_gate() -> None:
    budgets = re.findall(r'^ *step "[\w ]+" (\d+) nox (\w+)', GATE, re.MULTILINE)
    budget_of = {session: int(minutes) for minutes, session in budgets}
    rows = WORKFLOW["jobs"]["session"]["strategy"]["matrix"]["include"]
    limit_of = {row["session"]: row["minutes"] for row in rows}
    limit_of["cuda_compile"] = WORKFLOW["jobs"]["cuda_compile"]["timeout-minutes"]
    short = {name for name, minutes in budget_of.items() if limit_of[name] <= minutes}
    assert short == set()


@pytest.mark.parametrize("name", WORKFLOWS)
def test_every_workflow_limits_its_time_its_rights_and_its_runs(name: str) -> None:
    workflow = WORKFLOWS[name]
    assert all("timeout-minutes" in job for job in workflow["jobs"].values())
    assert workflow["permissions"] == {"contents": "read"}
    assert "concurrency" in workflow


@pytest.mark.parametrize("name", WORKFLOWS)
def test_every_workflow_calls_sessions_that_there_are_as_the_readme_does(name: str) -> None:
    commands = [
        step["run"]
        for job in WORKFLOWS[name]["jobs"].values()
        for step in job["steps"]
        if "nox -s" in step.get("run", "")
    ]
    sessions = {command.removeprefix(".venv/bin/nox -s ").split()[0] for command in commands}
    assert sessions
    assert sessions <= SESSIONS.keys() | {"${{"}


def test_the_gate_reports_a_missing_interpreter_as_a_failure(tmp_path: Path) -> None:
    function = re.search(r"^sync_on\(\) \{.*?^\}$", GATE, re.MULTILINE | re.DOTALL)
    assert function is not None
    script = f"set -euo pipefail\n{function[0]}\nsync_on 3.99 || echo status $?"
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "python3.99 is missing" in done.stderr
    assert done.stdout.strip() == "status 1"


def test_the_gate_fails_and_still_reports_when_a_step_fails() -> None:
    head, _, tail = GATE.partition('step "set-up"')
    end = tail.partition("printf '\\n%-22s")[2]
    script = f"{head}step first 1 false\nstep second 1 true\nprintf '\\n%-22s{end}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert re.search(r"^first +\d+  failed: exit 1$", done.stdout, re.MULTILINE)
    assert re.search(r"^second +\d+  passed$", done.stdout, re.MULTILINE)
    assert done.stdout.rstrip().endswith("1 of 2 steps failed")


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_no_package_carries_index_or_source_settings_to_its_users(package: Package) -> None:
    text = (ROOT / "packages" / package.name / "pyproject.toml").read_text(encoding="utf-8")
    settings = tomllib.loads(text).get("tool", {}).get("uv", {})
    leaking = {"sources", "index", "index-url", "extra-index-url", "find-links", "exclude-newer"}
    assert not settings.keys() & leaking


def test_the_lock_file_is_ignored() -> None:
    done = subprocess.run(["git", "check-ignore", "-q", "uv.lock"], cwd=ROOT, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize(("page", "test"), RUN_BY_THEIR_PACKAGE.items())
def test_pages_left_to_a_package_are_run_there(page: str, test: str) -> None:
    text = (ROOT / test).read_text(encoding="utf-8")
    assert BLOCK.search((ROOT / page).read_text(encoding="utf-8"))
    assert Path(page).name in text
    assert "python" in text


def test_documented_builds_of_a_package_use_all_cores() -> None:
    """CMake's own choice, make, takes one, unless it is told."""
    builds = {}
    for path in files_of(ROOT, ["README.md", "docs", "packages"]):
        if path.suffix == ".md" and "tests" not in path.parts:
            text = (ROOT / path).read_text(encoding="utf-8").replace("\\\n", " ")
            for options, folder in re.findall(
                r"^ +cmake -S packages/\w+ (.*?-B (\S+).*)$", text, re.MULTILINE
            ):
                build = re.search(
                    rf"^ +cmake --build {folder}(?!\S| --target).*$", text, re.MULTILINE
                )
                if build is not None:  # nothing is compiled for the target of a page
                    builds[f"{path}: {build[0].strip()}"] = options + build[0]
    assert len(builds) >= 4
    slow = [build for build, text in builds.items() if not re.search("Ninja|--parallel", text)]
    assert slow == []


@pytest.mark.parametrize("page", PROGRAMS)
def test_programs_in_the_documentation_run(page: str, tmp_path: Path) -> None:
    _link_examples(Path(page), tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAMS[page]],
        cwd=tmp_path,
        # The pages say to set it where they use the simulated accelerator.
        env={**os.environ, "INFINI_RT_SIM_DEVICES": "2"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{page}:\n{done.stderr}"


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_tests_run_from_the_folder_of_their_package_as_from_the_root(package: Package) -> None:
    def options(folder: Path) -> dict[str, object]:
        document = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
        found: dict[str, object] = document["tool"].get("pytest", {}).get("ini_options", {})
        return found

    shared, own = options(ROOT), options(package.folder)
    for key in own.keys() & {"addopts", "filterwarnings", "markers", "xfail_strict"}:
        assert own[key] == shared[key], f"{package.folder}/pyproject.toml: {key}"


# The arguments of those left out are for the programs that they run.
@pytest.mark.parametrize("session", sorted({*SESSIONS} - {"fuzz", "linked", "tests"}))
def test_a_session_refuses_arguments_that_it_does_not_know(session: str) -> None:
    steps, _ = SESSIONS[session]
    with pytest.raises(SystemExit, match=r"nosuch.*(takes|there are)"):
        steps(["nosuch"])
