import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from this_build import needs_device  # type: ignore[import-not-found]  # on the path by conftest

import infini.ops

ONES = np.ones(3, np.float32)


def run(code: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run `code` in a fresh interpreter, which reads its environment once."""
    setup = "import numpy as np, infini.ops\nx = np.ones(3, np.float32)\n"
    return subprocess.run(
        [sys.executable, "-c", setup + code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.smoke
def test_active_implementations_are_listed_by_slot() -> None:
    assert infini.ops.active_implementations("add") == (infini.ops.Implementation(0, "native"),)
    assert infini.ops.active_implementations("add", "nvidia") == ()


@needs_device("sim")
def test_the_simulated_accelerator_has_those_of_the_cpu() -> None:
    assert infini.ops.active_implementations("add", "sim:1") == ((0, "native"),)


def test_operators_that_are_not_built_are_named() -> None:
    with pytest.raises(NotImplementedError) as error:
        infini.ops.active_implementations("frobnicate")
    assert str(error.value) == (
        "`frobnicate` is no operator of this build; it has " + ", ".join(infini.ops.operators())
    )
    with pytest.raises(NotImplementedError, match="`frobnicate` is no operator of this build"):
        infini.ops.explain("frobnicate")
    with (
        pytest.raises(NotImplementedError, match="`frobnicate` is no operator"),
        infini.ops.use({"frobnicate": 0}),
    ):
        pass


def test_a_mistyped_operator_is_told_what_is_near() -> None:
    said = (
        "`rms_nrom` is no operator of this build; did you mean `rms_norm`? "
        "infini.ops.operators() lists what it has"
    )
    with pytest.raises(AttributeError) as missing:
        _ = infini.ops.rms_nrom
    with pytest.raises(NotImplementedError) as explained:
        infini.ops.explain("rms_nrom")
    with pytest.raises(NotImplementedError) as listed:
        infini.ops.active_implementations("rms_nrom")
    with pytest.raises(NotImplementedError) as chosen, infini.ops.use({"rms_nrom": 0}):
        pass
    for error in (missing, explained, listed, chosen):
        assert str(error.value) == said


@pytest.mark.parametrize(("wrong", "near"), [("SiLU", "silu"), ("concat", "cat")])
def test_a_name_in_another_spelling_is_near(wrong: str, near: str) -> None:
    with pytest.raises(AttributeError, match=f"did you mean `{near}`"):
        getattr(infini.ops, wrong)


def test_python_adds_no_second_hint_to_a_mistyped_operator() -> None:
    done = run("infini.ops.rms_nrom")
    assert done.stderr.splitlines()[-1].lower().count("did you mean") == 1


@pytest.mark.parametrize("implementation", [None, 0, "native", "0"])
def test_an_implementation_is_chosen_by_slot_or_name(implementation: Any) -> None:
    assert infini.ops.add(ONES, ONES, implementation=implementation).tolist() == [2, 2, 2]


@pytest.mark.parametrize("implementation", [3, 31, -1, "vllm", "", "00x"])
def test_an_absent_implementation_lists_those_present(implementation: Any) -> None:
    with pytest.raises(NotImplementedError) as error:
        infini.ops.add(ONES, ONES, implementation=implementation)
    assert str(error.value) == (
        f"add on cpu: there is no implementation `{implementation}`; active: 0 (native)"
    )


def test_use_applies_inside_its_block_and_nests() -> None:
    with infini.ops.use({"add": "native"}):
        assert infini.ops.explain("add", ONES, ONES)[0].reason == (
            "chosen by a selection in this thread"
        )
        with infini.ops.use({"add": "vllm"}):
            with pytest.raises(NotImplementedError, match="there is no implementation `vllm`"):
                infini.ops.add(ONES, ONES)
            # What the call itself says wins.
            assert infini.ops.add(ONES, ONES, implementation=0).tolist() == [2, 2, 2]
        infini.ops.add(ONES, ONES)
    assert infini.ops.explain("add", ONES, ONES)[0].reason == "the smallest active slot"


def test_use_is_undone_by_an_exception() -> None:
    with pytest.raises(KeyError), infini.ops.use({"add": "vllm"}):
        raise KeyError
    infini.ops.add(ONES, ONES)


def test_use_belongs_to_its_thread() -> None:
    failures = []

    def call() -> None:
        try:
            infini.ops.add(ONES, ONES)
        except NotImplementedError as error:
            failures.append(error)

    with infini.ops.use({"add": "vllm"}):
        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
    assert not failures


def test_what_a_name_means_is_looked_up_once_in_each_thread() -> None:
    infini.ops.clear_cache()
    assert all(info[:3] == (0, 0, 0) for info in infini.ops.cache_info().values())
    with infini.ops.use({"add": "native"}):
        for _ in range(5):
            infini.ops.add(ONES, ONES)
    assert infini.ops.cache_info()["selection"] == (4, 1, 1, 256)
    found: list[dict[str, infini.ops.CacheInfo]] = []
    thread = threading.Thread(target=lambda: found.append(infini.ops.cache_info()))
    thread.start()
    thread.join()
    assert found == [{}]
    infini.ops.clear_cache()
    assert infini.ops.cache_info()["selection"] == (0, 0, 0, 256)


def test_explain_checks_the_call_and_runs_nothing() -> None:
    out = np.zeros(3, np.float32)
    assert infini.ops.explain("add", ONES, ONES, out=out) == (
        infini.ops.Explanation(0, "native", True, "the smallest active slot"),
    )
    assert not out.any()
    with pytest.raises(ValueError, match="do not broadcast"):
        infini.ops.explain("add", ONES, np.ones(4, np.float32))


def test_environment_chooses_implementations() -> None:
    result = run(
        "print(infini.ops.explain('add', x, x)[0].reason)", INFINI_OPS_IMPLEMENTATION="add=native"
    )
    assert result.stdout.strip() == "chosen by INFINI_OPS_IMPLEMENTATION", result.stderr


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("add=vllm", "NotImplementedError: add on cpu: there is no implementation `vllm`"),
        (
            "add",
            "ValueError: INFINI_OPS_IMPLEMENTATION: expected OPERATOR=IMPLEMENTATION, separated by "
            "commas, got `add`",
        ),
        ("frob=1", "NotImplementedError: INFINI_OPS_IMPLEMENTATION: `frob` is no operator"),
    ],
)
def test_a_bad_environment_is_an_error_of_the_call(value: Any, message: Any) -> None:
    result = run("infini.ops.add(x, x)", INFINI_OPS_IMPLEMENTATION=value)
    assert result.returncode == 1
    assert message in result.stderr


def test_tracing_prints_one_json_object_per_call() -> None:
    result = run("infini.ops.add(x, x); infini.ops.rms_norm(x)", INFINI_OPS_TRACE_CALLS="1")
    calls = [json.loads(line) for line in result.stderr.splitlines()]
    assert [call["operator"] for call in calls] == ["add", "rms_norm"]
    assert calls[1]["implementation"] == "native"
    assert calls[1]["arguments"] == {
        "input": "float32[3] on cpu:0",
        "weight": None,
        "out": "float32[3] on cpu:0",
    }


def test_nothing_is_printed_without_tracing() -> None:
    result = run("infini.ops.add(x, x)")
    assert (result.stdout, result.stderr) == ("", "")


def usable_instruction_sets() -> list[str]:
    result = run("infini.ops.add(x, x)", INFINI_OPS_CPU_ISA="?")
    return result.stderr.strip().rpartition("usable: ")[2].split(", ")


def test_an_unknown_instruction_set_lists_the_usable_ones() -> None:
    result = run("infini.ops.add(x, x)", INFINI_OPS_CPU_ISA="mmx")
    assert "ValueError: INFINI_OPS_CPU_ISA on cpu: `mmx` is no instruction set of this build" in (
        result.stderr
    )
    assert "baseline" in usable_instruction_sets()


def test_an_unknown_way_to_read_memory_lists_the_two() -> None:
    result = run("infini.ops.linear(x, x[None])", INFINI_OPS_CPU_STREAMS="two")
    assert (
        "ValueError: INFINI_OPS_CPU_STREAMS on cpu: `two` is no way to read memory; "
        "expected one or several" in result.stderr
    )


def test_the_sweep_passes_with_every_instruction_set() -> None:
    pytest.importorskip("torch")
    for name in usable_instruction_sets():
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
        folder = Path(__file__).parent
        tests = [folder / f"test_{name}.py" for name in ("sweep", "linear", "matmul", "rms_norm")]
        result = subprocess.run(
            [*command, *tests, "-m", "smoke", "-k", "oracle or batch"],
            env={**os.environ, "INFINI_OPS_CPU_ISA": name},
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, f"{name}:\n{result.stdout[-4000:]}{result.stderr[-2000:]}"
