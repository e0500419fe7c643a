"""Entry points give back ends, or a reason; nothing that a plug-in does breaks the others."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import pytest

from linnet.backends import Skipped, available, skipped
from linnet.backends import discovery as discovery_module

GOOD = """
class Good:
    name = "{name}"
    version = "1"
    contract = {contract}
    def probe(self, target): return None
    def match(self, graph, target): return []
    def compile(self, region, target, options): raise NotImplementedError
    def estimate_cost(self, region, target): return None
"""

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts a distribution with one module and one entry point where Python finds it, as an
    installer would.
    """
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setattr(discovery_module, "_found", None)
    added: set[str] = set()

    def added_points(group: str) -> list[EntryPoint]:
        """The entry points of this test, without those that are really installed."""
        points = entry_points(group=group)
        return [point for point in points if point.dist and point.dist.name in added]

    monkeypatch.setattr(discovery_module, "entry_points", added_points)

    def add(
        name: str,
        code: str | None,
        value: str | None = None,
        entry: str | None = None,
        version: str = "1.0",
        folder: Path = site,
    ) -> None:
        added.add(name)
        module = f"plugin_{name}_{tmp_path.name}".replace("-", "_")
        folder.mkdir(exist_ok=True)
        if code is not None:
            (folder / f"{module}.py").write_text(code)
        info = folder / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        target = value if value is not None else f"{module}:Good"
        (info / "entry_points.txt").write_text(f"[linnet.backends]\n{entry or name} = {target}\n")

    return add


def good(name: str = "good", contract: object = 1) -> str:
    return GOOD.format(name=name, contract=contract)


def test_installed_back_ends_are_listed_once_made(install: Install) -> None:
    install("b-plugin", good("second"))
    install("a-plugin", good("first"))
    names = [backend.name for backend in available()]
    assert names == ["first", "second"]
    assert skipped() == []
    assert available()[0] is available()[0]


@pytest.mark.parametrize(
    ("code", "value", "reason"),
    [
        (None, "no_such_module_here:Good", "No module named 'no_such_module_here'"),
        ("import no_such_dependency", None, "No module named 'no_such_dependency'"),
        ("from os import no_such_name", None, "cannot import name 'no_such_name'"),
        ("def broken(:", None, "SyntaxError"),
        ("raise SystemExit(3)", None, "SystemExit: 3"),
        (
            "class Good:\n    def __init__(self): raise RuntimeError('no licence')",
            None,
            "no licence",
        ),
        ("Good = 7", None, "expected a class or function that takes nothing"),
        ("def Good(): return None", None, "returned None; expected a back end"),
        ("class Other: pass", None, "has no attribute 'Good'"),
        (good(contract=2), None, "was written for contract version 2; this Linnet has version 1"),
        (good(contract="True"), None, "contract version True"),
        (good().replace("version = ", "edition = "), None, "`version` must be a text"),
        (good().replace("def match", "def find"), None, "lacks the method match"),
        ("from linnet.backends import available\navailable()", None, "ask for them later"),
    ],
)
def test_a_broken_entry_point_is_skipped_with_its_reason(
    install: Install, code: str | None, value: str | None, reason: str
) -> None:
    install("bad-plugin", code, value)
    install("good-plugin", good())
    assert [backend.name for backend in available()] == ["good"]
    (left_out,) = skipped()
    assert (left_out.name, left_out.distribution) == ("bad-plugin", "bad-plugin 1.0")
    assert reason in left_out.reason
    assert skipped() == [left_out]


def test_of_two_back_ends_of_one_name_the_first_distribution_wins(install: Install) -> None:
    install("b-plugin", good("same"), entry="same")
    install("a-plugin", good("same"), entry="same")
    assert [backend.name for backend in available()] == ["same"]
    (left_out,) = skipped()
    assert left_out.distribution == "b-plugin 1.0"
    assert "is taken by" in left_out.reason
    assert "a-plugin 1.0; uninstall one of the two" in left_out.reason


def test_a_package_keeps_the_back_end_of_its_own_name(install: Install) -> None:
    install("a-plugin", good("same-plugin"), entry="same_plugin")
    install("same-plugin", good("same-plugin"), entry="same_plugin")
    assert [backend.name for backend in available()] == ["same-plugin"]
    (left_out,) = skipped()
    assert left_out.distribution == "a-plugin 1.0"


def test_an_error_that_cannot_be_printed_is_a_reason_too(install: Install) -> None:
    code = "class E(Exception):\n    def __str__(self): raise ValueError\nraise E()"
    install("bad-plugin", code)
    install("good-plugin", good())
    assert [backend.name for backend in available()] == ["good"]
    assert skipped()[0].reason == "E: its text cannot be had (ValueError)"


def test_no_package_takes_the_name_of_a_back_end_that_comes_along(install: Install) -> None:
    install("a-plugin", good("cublaslt"))
    install("z-own", None, value="linnet.torch.cublaslt:CublasLt", entry="cublaslt")
    (kept,) = available()
    assert type(kept).__module__ == "linnet.torch.cublaslt.backend"
    (left_out,) = skipped()
    assert left_out.distribution == "a-plugin 1.0"
    assert "the name 'cublaslt' is taken by linnet.torch.cublaslt:CublasLt" in left_out.reason


def test_of_two_versions_of_one_distribution_the_first_on_the_path_counts(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("plugin", good("new"), version="2.0")
    older = tmp_path / "older"
    install("plugin", good("old"), folder=older)
    monkeypatch.setattr(sys, "path", [*sys.path, str(older)])
    assert [backend.name for backend in available()] == ["new"]
    assert skipped() == []


def test_what_a_plug_in_prints_does_not_reach_standard_output(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install("loud-plugin", "print('hello')\n" + good())
    assert len(available()) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "hello" in err


def test_an_interrupt_is_not_taken_for_a_broken_plug_in(install: Install) -> None:
    install("slow-plugin", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        available()


def test_importing_linnet_loads_no_plug_in_and_no_tensor_framework(
    install: Install, tmp_path: Path
) -> None:
    install("slow-plugin", "raise RuntimeError('imported too early')")
    code = (
        "import sys, linnet, linnet.backends\n"
        "assert 'torch' not in sys.modules and 'filelock' not in sys.modules\n"
        "print(len(linnet.backends.skipped()))"
    )
    path = f"{tmp_path / 'site'}:{Path(__file__).parents[2] / 'src'}"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": path, "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "1"


def test_a_skipped_entry_point_is_a_record() -> None:
    record = Skipped("n", "m:a", "d 1", "r")
    assert (record.name, record.value, record.distribution, record.reason) == (
        "n",
        "m:a",
        "d 1",
        "r",
    )
