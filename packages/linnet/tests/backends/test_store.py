"""The file of measured times survives what happens to files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from linnet.backends import store as store_module
from linnet.backends.store import BenchmarkStore, BenchmarkWarning, Timing

GOOD = {"version": 1, "entries": {"kept": {"backend": 1e-6, "generated": 2e-6}}}


def written(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def entries(path: Path) -> dict[str, Any]:
    document = json.loads(path.read_text())
    assert document["version"] == 1
    found: dict[str, Any] = document["entries"]
    return found


def keep(path: Path, *keys: str) -> BenchmarkStore:
    """A store that was opened, and then given a time for each key, one after another."""
    store = BenchmarkStore(path)
    for key in keys:
        store.put({key: Timing(1.0, 2.0)})
    return store


def test_times_are_there_in_the_next_process(linnet_home: Path) -> None:
    BenchmarkStore().put({"key": Timing(1e-6, 3e-6)})
    assert BenchmarkStore().get("key") == Timing(1e-6, 3e-6)
    assert BenchmarkStore().get("other") is None
    assert entries(linnet_home / "benchmarks.json") == {"key": {"backend": 1e-6, "generated": 3e-6}}


def test_home_is_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LINNET_HOME")
    monkeypatch.setenv("HOME", "/somewhere")
    assert BenchmarkStore().path == Path("/somewhere/.linnet/benchmarks.json")


@pytest.mark.parametrize(
    "content",
    [
        "",
        '{"version": 1, "entries": {"kept": {"backend": 1e',
        b"\xff\xfe{}",
        "[1, 2]",
        '{"version": 1, "entries": []}',
        '{"version": "1", "entries": {}}',
        '{"entries": {}}',
        "[" * 100_000,
    ],
    ids=["empty", "truncated", "not-utf8", "list", "no-map", "text-version", "no-version", "deep"],
)
def test_a_broken_file_is_set_aside_with_one_warning(tmp_path: Path, content: str | bytes) -> None:
    path = written(tmp_path / "benchmarks.json", content)
    with pytest.warns(BenchmarkWarning, match="benchmarks.json") as caught:
        keep(path, "key", "more")
    assert len(caught) == 1
    assert set(entries(path)) == {"key", "more"}
    aside = tmp_path / "benchmarks.json.corrupt"
    assert aside.read_bytes() == (content if isinstance(content, bytes) else content.encode())


def test_a_file_too_large_is_set_aside(tmp_path: Path) -> None:
    path = written(tmp_path / "benchmarks.json", json.dumps(GOOD))
    os.truncate(path, 200 * 2**20)  # sparse
    with pytest.warns(BenchmarkWarning, match="larger than 64 MiB"):
        assert len(BenchmarkStore(path)) == 0
    assert not path.exists()


def test_a_file_that_may_not_be_written_is_read_and_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "benchmarks.json", json.dumps(GOOD))
    monkeypatch.setattr("os.access", lambda path, mode: mode != os.W_OK)
    with pytest.warns(BenchmarkWarning, match="the file is read-only") as caught:
        store = keep(path, "key", "more")
    assert len(caught) == 1
    assert {store.get("kept"), store.get("key")} == {Timing(1e-6, 2e-6), Timing(1.0, 2.0)}
    assert set(entries(path)) == {"kept"}


def test_a_folder_that_may_not_be_written_keeps_times_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "benchmarks.json", json.dumps(GOOD))

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    # The tests may run as a user whom no folder refuses.
    monkeypatch.setattr(store_module.FileLock, "acquire", refuse)
    with pytest.warns(BenchmarkWarning, match="Permission denied") as caught:
        store = keep(path, "key", "more")
    assert len(caught) == 1
    assert store.get("key") == Timing(1.0, 2.0)
    assert set(entries(path)) == {"kept"}


@pytest.mark.parametrize(
    "bad",
    [
        {"backend": float("nan"), "generated": 1.0},
        {"backend": -1.0, "generated": 1.0},
        {"backend": float("inf"), "generated": 1.0},
        {"backend": "fast", "generated": 1.0},
        {"backend": True, "generated": 1.0},
        {"generated": 1.0},
        7,
    ],
)
def test_entries_that_are_no_times_are_dropped_and_the_others_kept(
    tmp_path: Path, bad: Any
) -> None:
    document = {"version": 1, "entries": {**GOOD["entries"], "bad": bad}}
    path = written(tmp_path / "benchmarks.json", json.dumps(document))
    with pytest.warns(BenchmarkWarning, match="1 entries that are no times") as caught:
        store = keep(path, "key")
    assert len(caught) == 1
    assert store.get("kept") == Timing(1e-6, 2e-6)
    assert set(entries(path)) == {"kept", "key"}


def test_the_file_of_a_later_version_is_left_alone(tmp_path: Path) -> None:
    content = '{"version": 2, "entries": {}}'
    path = written(tmp_path / "benchmarks.json", content)
    with pytest.warns(BenchmarkWarning, match="later version 2") as caught:
        store = keep(path, "key")
    assert len(caught) == 1
    assert store.get("key") == Timing(1.0, 2.0)
    assert path.read_text() == content


def test_a_home_that_cannot_be_made_keeps_times_in_memory(tmp_path: Path) -> None:
    path = written(tmp_path / "file", "") / "benchmarks.json"
    with pytest.warns(BenchmarkWarning, match="kept in this process only") as caught:
        store = keep(path, "key", "more")
    assert len(caught) == 1
    assert store.get("key") == Timing(1.0, 2.0)


def test_a_full_disk_keeps_times_in_memory_and_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "benchmarks.json", json.dumps(GOOD))

    def full(*args: Any, **kwargs: Any) -> Any:
        raise OSError(28, "No space left on device")

    store = BenchmarkStore(path)
    monkeypatch.setattr("os.fdopen", full)
    with pytest.warns(BenchmarkWarning, match="No space left on device"):
        store.put({"key": Timing(1.0, 2.0)})
    assert store.get("key") == Timing(1.0, 2.0)
    assert set(entries(path)) == {"kept"}
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith("benchmarks.json.")] == [
        "benchmarks.json.lock"
    ]


def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    target = written(tmp_path / "elsewhere" / "times.json", json.dumps(GOOD))
    path = tmp_path / "benchmarks.json"
    path.symlink_to(target)
    BenchmarkStore(path).put({"key": Timing(1.0, 2.0)})
    assert path.is_symlink()
    assert set(entries(target)) == {"kept", "key"}


def test_a_link_to_another_file_is_left_alone(tmp_path: Path) -> None:
    target = written(tmp_path / "elsewhere" / "notes.txt", "not ours")
    path = tmp_path / "benchmarks.json"
    path.symlink_to(target)
    with pytest.warns(BenchmarkWarning, match="is a link to a file that is not JSON"):
        store = BenchmarkStore(path)
    store.put({"key": Timing(1.0, 2.0)})
    assert (store.get("key"), target.read_text()) == (Timing(1.0, 2.0), "not ours")
    assert [found.name for found in target.parent.iterdir()] == ["notes.txt"]


def test_what_is_no_regular_file_is_neither_read_nor_moved(tmp_path: Path) -> None:
    path = tmp_path / "benchmarks.json"
    os.mkfifo(path)  # reading it would not end
    with pytest.warns(BenchmarkWarning, match="is no regular file"):
        store = BenchmarkStore(path)
    store.put({"key": Timing(1.0, 2.0)})
    assert store.get("key") == Timing(1.0, 2.0)
    assert path.is_fifo()


def test_a_wrong_time_is_refused_and_nothing_written(tmp_path: Path) -> None:
    path = tmp_path / "benchmarks.json"
    with pytest.raises(ValueError, match="key: not a time in seconds"):
        BenchmarkStore(path).put({"key": Timing(float("nan"), 1.0)})
    assert not path.exists()


WRITER = """
import sys, warnings
from pathlib import Path
from linnet.backends.store import BenchmarkStore, Timing
warnings.simplefilter("error")
store = BenchmarkStore(Path(sys.argv[1]))
for n in range(25):
    store.put({f"{sys.argv[2]}-{n}": Timing(1.0, 2.0)})
"""


def test_four_processes_writing_at_once_lose_no_entry(tmp_path: Path) -> None:
    path = tmp_path / "benchmarks.json"
    command = [sys.executable, "-c", WRITER, str(path)]
    workers = [subprocess.Popen([*command, f"worker{n}"]) for n in range(4)]
    assert [worker.wait(120) for worker in workers] == [0, 0, 0, 0]
    assert len(entries(path)) == 100


def test_a_process_that_is_killed_leaves_a_whole_file_and_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "benchmarks.json"
    endless = WRITER.replace("range(25)", "range(10**9)")
    worker = subprocess.Popen([sys.executable, "-c", endless, str(path), "killed"])
    deadline = time.monotonic() + 60
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.05)
    worker.kill()
    worker.wait()
    before = set(entries(path))
    BenchmarkStore(path).put({"next": Timing(1.0, 2.0)})
    assert set(entries(path)) == {*before, "next"}
