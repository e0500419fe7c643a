import json
import os
import random
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from codegen.generate import KERNEL_SETS, Options, generate, plan
from codegen.ops_json import SelectionError
from codegen.write import write_files

ROOT = Path(__file__).parents[2]
OPTIONS = Options(
    root=ROOT,
    version="0.1.0",
    rt_abi_version=1,
    devices=("cpu", "sim"),
    architecture="x86_64",
    cpp_entries=True,
    ops="",
    smoke=False,
)


def files_of(options: Options) -> dict[str, str]:
    build, _ = plan(options)
    return generate(build, options.root)


def test_every_output_mentions_every_operator() -> None:
    """One declaration reaches C++, Python, stubs, pages, the matrix, sweeps and benchmarks."""
    files = files_of(OPTIONS)
    bindings = "".join(text for name, text in files.items() if name.startswith("bindings/"))
    for path in sorted((ROOT / "src" / "base").glob("*.yaml")):
        name = path.stem
        assert f"include/infini/ops/base/{name}.h" in files
        assert f"base/{name}.cc" in files
        assert f"share/docs/{name}.md" in files
        assert f"share/sweep/{name}.json" in files
        assert f"share/benchmarks/{name}.json" in files
        assert f"def {name}(" in files["python/__init__.pyi"]
        assert f'"{name}"' in bindings
        assert f"[{name}]({name}.md)" in files["share/docs/index.md"]
        assert name in json.loads(files["share/operators.json"])["operators"]


def test_linked_implementations_are_a_library_that_the_entries_load() -> None:
    """No source of the operators includes a header of a linked implementation or names its code."""
    files = files_of(replace(OPTIONS, linked=True, ops="rms_norm,add"))
    table = files["linked_table.cc"]
    for slot in (16, 17):
        one = f"Device::Type::kCpu, {slot}"
        assert f"internal::ListLinked<Operator<RmsNorm, {one}>, " in table
        assert f"internal::MakeLinkedEntry<RmsNorm, {one}, " in files["base/rms_norm.cc"]
    assert '#include "linked/torch/cpu/ops/rms_norm/vllm.h"' in table
    sources = [name for name in files if name.endswith(".cc")]
    assert [name for name in sources if "vllm.h" in files[name]] == ["linked_table.cc"]
    assert "linked_table.cc" not in files["sources.cmake"]
    assert "linked.h" not in files["base/add.cc"]


def test_a_build_without_linked_implementations_has_no_library_of_them() -> None:
    assert "linked_table.cc" not in files_of(replace(OPTIONS, linked=True, ops="add"))
    assert "linked_table.cc" not in files_of(OPTIONS)


def test_every_kernel_is_compiled_whether_its_operator_shares_it_or_not() -> None:
    build, _ = plan(OPTIONS)
    files = generate(build, ROOT)
    for item in build.implementations:
        kernels = (item,) if item.kernel_sets else item.shared
        for kernel in kernels:
            for name in kernel.kernel_sets:
                if name in build.kernel_sets:
                    assert f"kernels/{kernel.stem}.{name}.cc" in files
                    assert f"kernels/{kernel.stem}.{name}.cc" in files["sources.cmake"]


def test_a_shared_kernel_and_the_source_of_its_tasks_are_built_once_if_used() -> None:
    files = files_of(OPTIONS)
    assert "kernels/product.avx512_bf16.cc" in files
    assert files["sources.cmake"].count("shared/product.cc") == 1
    without = files_of(replace(OPTIONS, ops="add"))
    assert not [name for name in without if "product" in name]


def written_by_a_process(root: Path, output: Path, **environment: str) -> dict[str, bytes]:
    """What the generators of a checkout write for `OPTIONS`."""
    command = [sys.executable, "-m", "codegen", "--root", str(root), "--output", str(output)]
    command += ["--version", "0.1.0", "--rt-abi-version", "1", "--architecture", "x86_64"]
    command += ["--device", "cpu", "--device", "sim"]
    subprocess.run(
        command, cwd=root, env={**os.environ, **environment}, check=True, capture_output=True
    )
    return {
        path.relative_to(output).as_posix(): path.read_bytes()
        for path in output.rglob("*")
        if path.is_file()
    }


def expected_bytes() -> dict[str, bytes]:
    return {name: text.encode() for name, text in files_of(OPTIONS).items()}


@pytest.mark.parametrize("hash_seed", ["0", "1", "2", "random"])
def test_output_is_the_same_for_every_hash_seed(hash_seed: Any, tmp_path: Path) -> None:
    written = written_by_a_process(ROOT, tmp_path, PYTHONHASHSEED=hash_seed)
    assert written == expected_bytes()


@pytest.mark.parametrize(
    "environment",
    [
        {"LC_ALL": "C.UTF-8"},
        # Without Python's own switch to UTF-8: what is read and written names its encoding.
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"},
    ],
    ids=lambda environment: environment["LC_ALL"],
)
def test_output_is_the_same_in_every_locale(environment: Any, tmp_path: Path) -> None:
    assert written_by_a_process(ROOT, tmp_path, **environment) == expected_bytes()


def test_output_is_the_same_from_another_checkout(tmp_path: Path) -> None:
    other = tmp_path / "another checkout"
    for part in ("codegen", "include", "src"):
        shutil.copytree(ROOT / part, other / part, ignore=shutil.ignore_patterns("__pycache__"))
    written = written_by_a_process(other, tmp_path / "written")
    assert written == expected_bytes()


def test_output_is_the_same_in_every_order_of_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """File systems list folders in orders of their own."""
    expected = files_of(OPTIONS)
    for name in ("glob", "rglob", "iterdir"):
        listing = getattr(Path, name)

        def shuffled(*arguments: Any, listing: Any = listing) -> list[Path]:
            found = list(listing(*arguments))
            random.shuffle(found)
            return found

        monkeypatch.setattr(Path, name, shuffled)
    written = files_of(OPTIONS)
    assert written == expected
    assert list(written) == list(expected)


def test_no_output_mentions_a_path_of_this_machine() -> None:
    for name, text in files_of(OPTIONS).items():
        assert str(ROOT) not in text, name


def test_only_what_changed_is_written_and_what_is_gone_is_removed(tmp_path: Path) -> None:
    files = {"a/x.txt": "1", "y.txt": "2"}
    assert write_files(tmp_path, files) == ("a/x.txt", "y.txt")
    before = (tmp_path / "y.txt").stat().st_mtime_ns
    assert write_files(tmp_path, files) == ()
    assert write_files(tmp_path, {"y.txt": "2", "z.txt": "3"}) == ("z.txt", "a/x.txt")
    assert (tmp_path / "y.txt").stat().st_mtime_ns == before
    assert not (tmp_path / "a" / "x.txt").exists()


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    write_files(tmp_path, {"x.txt": "1"})
    (tmp_path / ".codegen-abc").write_text("half")
    (tmp_path / "x.txt").write_text("")
    assert write_files(tmp_path, {"x.txt": "1"}) == ("x.txt", ".codegen-abc")
    assert [path.name for path in tmp_path.iterdir()] == ["x.txt"]
    assert (tmp_path / "x.txt").read_text() == "1"


def test_a_file_is_replaced_and_not_written_into(tmp_path: Path) -> None:
    """Whoever has it open keeps what it opened; a link is not followed."""
    outside = tmp_path / "outside.txt"
    outside.write_text("mine")
    folder = tmp_path / "generated"
    folder.mkdir()
    (folder / "x.txt").symlink_to(outside)
    write_files(folder, {"x.txt": "1"})
    assert (outside.read_text(), (folder / "x.txt").read_text()) == ("mine", "1")
    assert not (folder / "x.txt").is_symlink()


def test_a_selection_leaves_no_trace_of_other_operators() -> None:
    files = files_of(replace(OPTIONS, ops="add"))
    assert "base/linear.cc" not in files
    assert "Linear" not in files["base/registry.cc"]
    assert list(json.loads(files["share/operators.json"])["operators"]) == ["add"]


def test_a_slot_that_no_implementation_has_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "ops.json"
    path.write_text('{"add": {"implementations": [0, 8]}}')
    with pytest.raises(SelectionError) as error:
        plan(replace(OPTIONS, ops=str(path)))
    assert str(error.value) == (
        f"{path}: add: no implementation in slot 8; this build can have [0]"
    )


@pytest.mark.parametrize("architecture", [*KERNEL_SETS, "riscv64"])
def test_kernels_are_compiled_for_the_sets_of_the_architecture(architecture: Any) -> None:
    files = files_of(replace(OPTIONS, architecture=architecture))
    sets = {name.split(".")[1] for name in files if name.startswith("kernels/product.")}
    assert sets == set(KERNEL_SETS.get(architecture, ("baseline",)))


def test_a_build_without_sim_lists_the_cpu_alone() -> None:
    document = json.loads(files_of(replace(OPTIONS, devices=("cpu",)))["share/operators.json"])
    assert list(document["operators"]["add"]["implementations"]) == ["cpu"]


def test_mistakes_are_one_line_on_standard_error(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "codegen", "--root", str(ROOT), "--output", str(tmp_path)]
    command += ["--version", "1", "--rt-abi-version", "1", "--architecture", "x86_64", "--ops=nope"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("INFINI_OPS_OPS: `nope` is no operator; there are ")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("part", ["", "base", "base/add.cc"])
def test_what_cannot_be_written_is_one_line_on_standard_error(part: str, tmp_path: Path) -> None:
    """A file where a folder has to be, and a folder where a file has to be."""
    blocked = tmp_path / "generated" / part
    if part.endswith(".cc"):
        blocked.mkdir(parents=True)
    else:
        blocked.parent.mkdir(parents=True, exist_ok=True)
        blocked.touch()
    command = [sys.executable, "-m", "codegen", "--root", str(ROOT), "--device", "cpu"]
    command += ["--output", str(tmp_path / "generated"), "--ops=add", "--architecture", "x86_64"]
    command += ["--version", "1", "--rt-abi-version", "1"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith(f"{tmp_path}/generated")
    assert ": cannot be written: " in result.stderr


def test_a_build_without_cpp_entries_says_so() -> None:
    document = json.loads(files_of(replace(OPTIONS, cpp_entries=False))["share/operators.json"])
    assert document["cpp_entries"] is False
