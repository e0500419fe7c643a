from pathlib import Path
from typing import Any

import pytest
from codegen.document import DeclarationError
from codegen.implementations import find_implementations
from codegen.read import read_declaration

ROOT = Path(__file__).parents[2]
ADD = read_declaration(ROOT / "src" / "base" / "add.yaml")


def header(slot: int, name: str = "native", operator: str = "Add", device: str = "Cpu") -> str:
    return (
        f"template <>\nstruct Operator<{operator}, Device::Type::k{device}, {slot}> {{\n"
        f'  static constexpr char kName[] = "{name}";\n}};\n'
    )


def find(folder: Path, files: dict[str, str]) -> Any:
    for name, text in files.items():
        path = folder / "native" / "cpu" / "ops" / "add" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return find_implementations(folder, [ADD], ["cpu"])


def test_implementations_are_found_with_slot_name_and_kernels(tmp_path: Path) -> None:
    found = find(
        tmp_path,
        {
            "add.h": "INFINI_OPS_CPU_KERNEL(AddTask);\n" + header(0),
            "add_onednn.h": header(1, "onednn"),
        },
    )
    assert [(item.slot, item.name, item.include) for item in found] == [
        (0, "native", "native/cpu/ops/add/add.h"),
        (1, "onednn", "native/cpu/ops/add/add_onednn.h"),
    ]
    assert found[0].kernel_sets == ("baseline", "avx2", "avx512", "neon")
    assert found[1].kernel_sets == ()


def test_a_header_may_run_a_kernel_that_others_share(tmp_path: Path) -> None:
    shared = tmp_path / "native" / "cpu" / "shared"
    shared.mkdir(parents=True)
    (shared / "walk.h").write_text("INFINI_OPS_CPU_BF16_KERNEL(WalkTask);\n")
    (shared / "walk.cc").touch()
    text = '#include "native/cpu/shared/walk.h"\n' + header(0)
    (kernel,) = find(tmp_path, {"add.h": text})[0].shared
    assert (kernel.stem, kernel.source) == ("walk", "native/cpu/shared/walk.cc")
    assert kernel.kernel_sets == ("baseline", "avx2", "avx512", "neon", "avx512_bf16")


@pytest.mark.parametrize("present", ["nothing", "no kernel", "no source"])
def test_a_shared_kernel_that_is_not_whole_is_an_error(tmp_path: Path, present: str) -> None:
    shared = tmp_path / "native" / "cpu" / "shared"
    shared.mkdir(parents=True)
    if present != "nothing":
        text = "INFINI_OPS_CPU_KERNEL(WalkTask);\n" if present == "no source" else ""
        (shared / "walk.h").write_text(text)
    if present == "no kernel":
        (shared / "walk.cc").touch()
    with pytest.raises(DeclarationError) as error:
        find(tmp_path, {"add.h": '#include "native/cpu/shared/walk.h"\n' + header(0)})
    assert str(error.value) == (
        f"{shared}/walk.h:1: expected a header with INFINI_OPS_CPU_KERNEL(...), and a .cc beside it"
    )


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"add.h": header(0), "add_other.h": header(0, "other")},
            "add_other.h:1: slot 0 of add on cpu is taken by {folder}/add.h",
        ),
        (
            {"add.h": header(0), "add_other.h": header(1)},
            "add_other.h:1: name `native` of add on cpu is taken by {folder}/add.h",
        ),
        (
            {"add.h": header(0) + header(0, "again")},
            "add.h:1: slot 0 of add on cpu is taken by {folder}/add.h",
        ),
        ({"add.h": header(32)}, "add.h:2: slot 32 is not in 0..31 (back end native)"),
        ({"add.h": header(-1)}, "add.h:2: slot -1 is not in 0..31 (back end native)"),
        (
            {"add.h": header(0, operator="Mul")},
            "add.h:2: expected an Operator<Add, ...>, got Mul",
        ),
        (
            {"add.h": header(0, device="Nvidia")},
            "add.h:2: expected Device::Type::kCpu, got kNvidia",
        ),
        (
            {"add.h": header(0, "Native")},
            'add.h:2: give the implementation a name: `kName[] = "native"`, in lower case',
        ),
        ({"add.h": "// nothing\n"}, "add.h:1: no `struct Operator<Add, Device::Type::k..., SLOT>`"),
        (
            {"mul.h": header(0)},
            "mul.h:1: the name must be add.h or add_<implementation>.h",
        ),
    ],
    ids=lambda value: str(value)[:30],
)
def test_headers_that_do_not_fit_are_named(files: Any, message: Any, tmp_path: Path) -> None:
    folder = tmp_path / "native" / "cpu" / "ops" / "add"
    with pytest.raises(DeclarationError) as error:
        find(tmp_path, files)
    assert str(error.value) == f"{folder}/" + message.format(folder=folder)
