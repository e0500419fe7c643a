"""Dispatcher contracts -> proof that loading the library registers what they declare.

One child interpreter for each distribution loads its libraries. Whatever happens in it, an error
message or a crash, becomes a problem; this process loads nothing.
"""

from __future__ import annotations

import difflib
import json
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from . import process
from .contracts import Implementation, SchemaContract
from .diagnostics import Problem, at
from .environment import Environment
from .schema_text import compare, format_schema

_ANSWER = "LINKED_RESOLVER_ANSWER"
_CHILD_OUTPUT = 64 * 1024 * 1024
SECONDS = 120.0


@dataclass(frozen=True)
class Load:
    """One library to load, with what is asked about it. `operators` None asks for all it
    registers."""

    path: Path
    dependencies: tuple[Path, ...] = ()
    schemas: tuple[str, ...] = ()
    operators: tuple[str, ...] | None = None
    keys: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Probe:
    """What became of the libraries: the answers, and the problems that came instead of one."""

    answers: Mapping[Path, Mapping[str, Any]]
    problems: Mapping[Path, Problem]
    general: Problem | None = None
    """What kept every library from being loaded."""


@dataclass
class _Progress:
    step: str = "starting"
    library: Path | None = None
    no_torch: str | None = None
    answers: dict[Path, Mapping[str, Any]] = field(default_factory=dict)


def probe(loads: Sequence[Load], environment: Environment, seconds: float = SECONDS) -> Probe:
    """Loads libraries in a child interpreter. If one kills it, the rest gets another child."""
    answers: dict[Path, Mapping[str, Any]] = {}
    problems: dict[Path, Problem] = {}
    remaining = list(loads)
    while remaining:
        finished, progress = _run_child(remaining, environment, seconds)
        if progress.no_torch is not None:
            return Probe(answers, problems, _no_torch(progress.no_torch, environment))
        answers.update(progress.answers)
        remaining = [load for load in remaining if load.path not in answers]
        if not remaining:
            break
        guilty = progress.library
        if guilty is None:
            return Probe(answers, problems, _died(finished, progress.step, None, seconds))
        problems[guilty] = _died(finished, progress.step, guilty, seconds)
        remaining = [load for load in remaining if load.path != guilty]
    return Probe(answers, problems)


def _run_child(
    loads: Sequence[Load], environment: Environment, seconds: float
) -> tuple[process.Finished, _Progress]:
    request = {
        "answer_variable": _ANSWER,
        "search_path": [str(path) for path in environment.search_path],
        "libraries": [
            {
                "path": str(load.path),
                "dependencies": [str(path) for path in load.dependencies],
                "schemas": list(load.schemas),
                "operators": None if load.operators is None else list(load.operators),
                "keys": [list(pair) for pair in load.keys],
            }
            for load in loads
        ],
    }
    program = Path(__file__).with_name("probe.py").read_text(encoding="utf-8")
    # In an empty folder, so that no file of the caller's is taken for a module.
    with tempfile.TemporaryDirectory() as folder:
        finished = process.run(
            [environment.python, "-c", program],
            seconds=seconds,
            stdin=json.dumps(request).encode(),
            folder=Path(folder),
            answer_variable=_ANSWER,
            greatest_output=_CHILD_OUTPUT,
        )
    progress = _Progress()
    for line in finished.answer.splitlines():
        try:
            said = json.loads(line)
        except ValueError:
            break  # cut off by its end
        progress.no_torch = said.get("no_torch", progress.no_torch)
        if "answered" in said:
            progress.answers[Path(said["answered"])] = said
            progress.library = None
        if "step" in said:
            progress.step = said["step"]
            progress.library = Path(said["library"]) if "library" in said else None
    return finished, progress


def _no_torch(reason: str, environment: Environment) -> Problem:
    return Problem(
        "torch-missing",
        "Dispatcher contracts need torch, which cannot be imported",
        expected=f"torch in the environment of {environment.python}",
        got=reason.splitlines()[0][:300],
        help="install the torch that the providers are made for",
    )


def _died(finished: process.Finished, step: str, library: Path | None, seconds: float) -> Problem:
    said = process.excerpt(finished.stdout + finished.stderr)
    name = "the child interpreter" if library is None else f"`{library.name}`"
    notes = [f"its output was\n{said}"] if said else ["it printed nothing"]
    if library is not None:
        notes.append(f"the library is {library}")
    return Problem(
        "load-hung" if finished.timed_out else "load-crashed",
        f"{name} did not answer in time" if finished.timed_out else f"{name} ended the process",
        expected=f"an answer within {seconds:g} s" if finished.timed_out else "an answer",
        got=f"while {step}, the child interpreter {finished.how()}",
        notes=tuple(notes),
        help="try `python -c 'import torch; torch.ops.load_library(PATH)'` with it; the library "
        "may need another device, driver or release of torch",
    )


def plan_loads(
    items: Iterable[tuple[Implementation, Path, tuple[Path, ...]]],
) -> list[Load]:
    """One load per library for implementations with their library and its dependencies."""
    loads: dict[Path, Load] = {}
    for item, path, dependencies in items:
        assert isinstance(item.contract, SchemaContract)
        load = loads.get(path, Load(path, operators=()))
        name = operator_name(item.contract)
        loads[path] = replace(
            load,
            dependencies=tuple(dict.fromkeys((*load.dependencies, *dependencies))),
            schemas=(*load.schemas, item.contract.schema.value),
            operators=(*(load.operators or ()), name),
            keys=(*load.keys, (name, item.contract.dispatch_key.value)),
        )
    return list(loads.values())


def operator_name(contract: SchemaContract) -> str:
    """The name as torch lists it: `_C::rms_norm` or `aten::add.Tensor`."""
    name, overload = contract.operator
    return f"{name}.{overload}" if overload else name


def prove_schema(item: Implementation, path: Path, found: Probe) -> list[Problem]:
    """What keeps a Dispatcher contract from being proved; empty if it is."""
    contract = item.contract
    assert isinstance(contract, SchemaContract)
    failed = found.problems.get(path) or (None if path in found.answers else found.general)
    if failed is not None:
        return [at(failed, item.file, contract.schema.line, "operator_schema")]
    answer = found.answers[path]
    if "not_loaded" in answer:
        problem = _not_loaded(path, str(answer["not_loaded"]))
        return [at(problem, item.file, contract.schema.line, "operator_schema")]
    problems = []
    if (problem_or_none := _schema_problem(contract, path, answer)) is not None:
        problems.append(at(problem_or_none, item.file, contract.schema.line, "operator_schema"))
    if (problem_or_none := _key_problem(contract, path, answer)) is not None:
        problems.append(at(problem_or_none, item.file, contract.dispatch_key.line, "dispatch_key"))
    return problems


def _not_loaded(path: Path, reason: str) -> Problem:
    first = reason.splitlines()[0] if reason else "no reason"
    absent = re.match(r"(\S+): cannot open shared object file", first)
    help = "install a release of the library that fits the installed torch"
    if absent is not None and not first.startswith(str(path)):
        help = f"install what provides `{absent[1]}`, or name its library under `link_libraries`"
    return Problem(
        "load-failed",
        f"`{path.name}` cannot be loaded",
        expected="the dynamic loader finds all that it needs",
        got=first[:500],
        notes=(f"the library is {path}",),
        help=help,
    )


def _schema_problem(
    contract: SchemaContract, path: Path, answer: Mapping[str, Any]
) -> Problem | None:
    name = operator_name(contract)
    declared = answer["schemas"][contract.schema.value]
    if "error" in declared:
        return Problem(
            "schema-unparsable",
            f"torch cannot parse the schema of `{name}`",
            expected="`namespace::name(arguments) -> returns`",
            got=declared["error"],
            help=f"copy the line that `linked-resolver inspect {path}` prints",
        )
    registered = answer["operators"][name]
    schema = None if registered is None else registered["schema"]
    if schema is None:
        return _missing_schema(name, path, answer)
    differences = compare(declared["schema"], schema)
    if not differences:
        return None
    return Problem(
        "schema-differs",
        f"`{path.name}` registers `{name}` with another schema",
        expected=f"`{format_schema(declared['schema'])}`",
        got=f"`{format_schema(schema)}`",
        notes=tuple(differences),
        help="change the contract and the source together, or install another release",
    )


def _missing_schema(name: str, path: Path, answer: Mapping[str, Any]) -> Problem:
    there = list(answer["registered"])
    base = name.partition(".")[0]
    overloads = [other for other in there if other.partition(".")[0] == base and other != name]
    close = overloads or difflib.get_close_matches(name, there, 3, 0.7)
    notes = [f"it registers {len(there)} operators"]
    if close:
        notes.append("among them " + ", ".join(f"`{other}`" for other in close))
    return Problem(
        "schema-missing",
        f"`{path.name}` registers no operator `{name}`",
        expected=f"`{name}` after the library is loaded",
        got="kernels without a definition of the operator"
        if answer["operators"][name] is not None
        else "no such operator",
        notes=(*notes, f"the library is {path}"),
        help="correct the name or the overload",
    )


def _key_problem(contract: SchemaContract, path: Path, answer: Mapping[str, Any]) -> Problem | None:
    name, key = operator_name(contract), contract.dispatch_key.value
    known = answer["all_keys"]
    if key not in known:
        close = [other for other in known if other.lower() == key.lower()]
        close = close or difflib.get_close_matches(key, known, 3, 0.5)
        return Problem(
            "dispatch-key-unknown",
            f"torch has no dispatch key `{key}`",
            expected="one of " + ", ".join(f"`{other}`" for other in close)
            if close
            else "a key of torch, such as `CPU`, `CUDA` or `PrivateUse1`",
            got=f"`{key}`",
            help="the case of the letters matters",
        )
    registered = answer["operators"][name]
    if registered is None:
        return None  # the missing schema is reported
    keys = registered["keys"]
    if key not in keys:
        composite = [other for other in keys if other.startswith("Composite")]
        return Problem(
            "dispatch-key-absent",
            f"`{name}` has no kernel under `{key}`",
            expected=f"a kernel registered under exactly `{key}`",
            got=", ".join(f"`{other}`" for other in keys) or "a schema without any kernel",
            notes=(f"the library is {path}",),
            help=f"`{composite[0]}` serves many devices; name it if it is the one that is wanted"
            if composite
            else "name a key that the library has a kernel for",
        )
    if [name, key] in answer["earlier_kernels"]:
        return Problem(
            "schema-elsewhere",
            f"`{path.name}` is not what registers `{name}` under `{key}`",
            expected="a kernel that comes with the library",
            got="a kernel that was there before the library was loaded",
            notes=(f"the library is {path}",),
            help="name the library that registers the kernel; torch's own need no contract",
        )
    return None
