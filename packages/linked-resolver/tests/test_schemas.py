"""Dispatcher contracts against libraries that are loaded in a child interpreter."""

import re
import threading

import pytest
from linked_workspace import LIBRARY, EndOfPatience, Workspace, compile_library
from torch_providers import (
    compile_provider,
    contract,
    needs_torch,
    registration,
    with_fake_torch,
    with_torch,
)

CONSTRUCTOR = "struct Load {{ Load() {{ {body} }} }} load;\n"


def outcome(workspace: Workspace, body: str, includes: str = "", seconds: float = 60) -> str:
    """What is said about a library that runs `body` when it is loaded."""
    with_fake_torch(workspace, includes + CONSTRUCTOR.format(body=body))
    text = workspace.text(workspace.prove(seconds=seconds).problems)
    return re.sub(r"\n  help: try .*", "\n  help: try it", text)


def test_a_library_that_crashes(workspace: Workspace) -> None:
    assert (
        outcome(workspace, "*(volatile int*)nullptr = 1;")
        == """\
error[load-crashed]: `_C.so` ended the process
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml:2, key `operator_schema`
  expected: an answer
  got: while loading <site>/acme/_C.so, the child interpreter was ended by SIGSEGV
  note: it printed nothing
  note: the library is <site>/acme/_C.so
  help: try it"""
    )


def test_a_library_that_aborts_with_a_message(workspace: Workspace) -> None:
    body = 'std::fputs("no device\\n", stderr); std::abort();'
    assert (
        outcome(workspace, body, "#include <cstdio>\n#include <cstdlib>\n")
        == """\
error[load-crashed]: `_C.so` ended the process
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml:2, key `operator_schema`
  expected: an answer
  got: while loading <site>/acme/_C.so, the child interpreter was ended by SIGABRT
  note: its output was
    no device
  note: the library is <site>/acme/_C.so
  help: try it"""
    )


def test_a_library_that_hangs(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = workspace.root / "mark"
    monkeypatch.setattr(threading, "Timer", EndOfPatience(mark))
    body = f'creat("{mark}", 0600); for (;;) pause();'
    assert (
        outcome(workspace, body, "#include <fcntl.h>\n#include <unistd.h>\n", 8)
        == """\
error[load-hung]: `_C.so` did not answer in time
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml:2, key `operator_schema`
  expected: an answer within 8 s
  got: while loading <site>/acme/_C.so, the child interpreter did not finish in time
  note: it printed nothing
  note: the library is <site>/acme/_C.so
  help: try it"""
    )


@pytest.mark.parametrize("status", [0, 3])
def test_a_library_that_exits(workspace: Workspace, status: int) -> None:
    body = f'(void)!write(1, "bye\\n", 4); _exit({status});'
    assert (
        outcome(workspace, body, "#include <unistd.h>\n")
        == f"""\
error[load-crashed]: `_C.so` ended the process
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml:2, key `operator_schema`
  expected: an answer
  got: while loading <site>/acme/_C.so, the child interpreter exited with status {status}
  note: its output was
    bye
  note: the library is <site>/acme/_C.so
  help: try it"""
    )


def test_a_library_that_prints_is_none_the_worse(workspace: Workspace) -> None:
    body = 'std::puts("{\\"answered\\": 1}"); std::fputs("warning\\n", stderr);'
    text = outcome(workspace, body, "#include <cstdio>\n")
    assert "error[schema-unparsable]" in text
    assert "warning" not in text


def test_a_library_that_needs_one_that_is_absent(workspace: Workspace) -> None:
    dependency = workspace.root / "gone" / "libthird.so.7"
    compile_library(dependency, "void third() {}", "-Wl,-soname,libthird.so.7")
    with_fake_torch(workspace, "void third(); void f() { third(); }", str(dependency))
    assert (
        workspace.text(workspace.prove().problems)
        == """\
error[load-failed]: `_C.so` cannot be loaded
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml:2, key `operator_schema`
  expected: the dynamic loader finds all that it needs
  got: libthird.so.7: cannot open shared object file: No such file or directory
  note: the library is <site>/acme/_C.so
  help: install what provides `libthird.so.7`, or name its library under `link_libraries`"""
    )


def test_a_dependency_that_is_declared_is_loaded_first(workspace: Workspace) -> None:
    third = workspace.site / "third" / "libthird.so.7"
    compile_library(third, "void third() {}", "-Wl,-soname,libthird.so.7")
    with_fake_torch(workspace, "void third(); void f() { third(); }", str(third))
    workspace.install("third", files=["third/libthird.so.7"])
    workspace.library(
        "python_distribution_package: third\nlibrary_glob: third/libthird.so.7\n", "third"
    )
    workspace.implementation(contract("acme::f(Tensor x) -> Tensor") + "link_libraries: [third]\n")
    assert [problem.code for problem in workspace.prove().problems] == ["schema-unparsable"]


def test_a_library_with_a_symbol_that_torch_lacks(workspace: Workspace) -> None:
    with_fake_torch(
        workspace, "void absent_from_torch(); void f() { absent_from_torch(); }", "-Wl,-z,now"
    )
    assert (
        workspace.text(workspace.prove().problems)
        == """\
error[load-failed]: `_C.so` cannot be loaded
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml:2, key `operator_schema`
  expected: the dynamic loader finds all that it needs
  got: <site>/acme/_C.so: undefined symbol: _Z17absent_from_torchv
  note: the library is <site>/acme/_C.so
  help: install a release of the library that fits the installed torch"""
    )


def test_an_extension_module_of_another_python_is_not_loaded(workspace: Workspace) -> None:
    with_fake_torch(workspace, CONSTRUCTOR.format(body="*(volatile int*)nullptr = 1;"))
    name = "_C.cpython-310-x86_64-linux-gnu.so"
    (workspace.site / "acme" / "_C.so").rename(workspace.site / "acme" / name)
    (workspace.site / "acme-1.0.dist-info" / "RECORD").write_text(f"acme/{name},,\n")
    workspace.library(LIBRARY.replace("_C.so", "_C.*"))
    environment = workspace.environment()
    own = type(environment)(environment.python, environment.search_path, ".cpython-311-x.so")
    assert (
        workspace.text(workspace.prove(environment=own).problems)
        == """\
error[python-tag]: `_C.cpython-310-x86_64-linux-gnu.so` is an extension module of another Python
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml:2, key `operator_schema`
  expected: a library for cpython-311-x, or one without a Python's tag
  got: one for cpython-310-x86_64-linux-gnu
  note: the library is <site>/acme/_C.cpython-310-x86_64-linux-gnu.so
  help: install the wheel of this Python; a contract of symbols needs no loading"""
    )


def test_symbols_of_an_extension_module_of_another_python_may_be_used(
    workspace: Workspace,
) -> None:
    name = "_C.cpython-310-x86_64-linux-gnu.so"
    path = workspace.complete()
    path.rename(path.with_name(name))
    (workspace.site / "acme-1.0.dist-info" / "RECORD").write_text(f"acme/{name},,\n")
    workspace.library(LIBRARY.replace("_C.so", "_C.*"))
    environment = workspace.environment()
    own = type(environment)(environment.python, environment.search_path, ".cpython-311-x.so")
    resolution = workspace.prove(environment=own)
    assert resolution.ok
    assert resolution.notes == (
        "torch/cpu/silu_and_mul/acme: _C.cpython-310-x86_64-linux-gnu.so is an extension module of "
        "cpython-310-x86_64-linux-gnu, this Python is cpython-311-x; only its symbols are used",
    )


def test_nothing_is_loaded_where_that_is_forbidden(workspace: Workspace) -> None:
    mark = workspace.root / "loaded"
    body = f'std::fclose(std::fopen("{mark}", "w"));'
    with_fake_torch(workspace, "#include <cstdio>\n" + CONSTRUCTOR.format(body=body))
    assert (
        workspace.text(workspace.prove(load=False).problems)
        == """\
error[load-forbidden]: a Dispatcher contract cannot be proved without loading its library
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml:2, key `operator_schema`
  expected: permission to load it in a child interpreter
  got: --no-load
  help: leave out --no-load, or select no implementation with a Dispatcher contract"""
    )
    assert not mark.exists()
    workspace.prove()
    assert mark.exists()


def test_a_torch_that_cannot_be_imported(workspace: Workspace) -> None:
    with_fake_torch(workspace, "")
    (workspace.site / "torch" / "__init__.py").write_text("import no_such_module\n")
    assert (
        workspace.text(workspace.prove().problems)
        == """\
error[torch-missing]: Dispatcher contracts need torch, which cannot be imported
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml:2, key `operator_schema`
  expected: torch in the environment of <python>
  got: ModuleNotFoundError: No module named 'no_such_module'
  help: install the torch that the providers are made for"""
    )


def test_a_torch_that_ends_the_process(workspace: Workspace) -> None:
    with_fake_torch(workspace, "")
    (workspace.site / "torch" / "__init__.py").write_text("import os\nos._exit(9)\n")
    text = workspace.text(workspace.prove().problems)
    assert text.startswith("error[load-crashed]: the child interpreter ended the process\n")
    assert "got: while importing torch, the child interpreter exited with status 9" in text


def test_files_of_the_working_folder_are_not_imported(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace.root / "json.py").write_text("raise SystemExit(77)\n")
    monkeypatch.chdir(workspace.root)
    with_fake_torch(workspace, "")
    assert [problem.code for problem in workspace.prove().problems] == ["schema-unparsable"]


def prove_all(workspace: Workspace, source: str, contracts: list[str]) -> list[str]:
    """The problems of contracts against one library, each contract of an operator of its own."""
    workspace.library()
    workspace.install(files=["acme/_C.so"])
    compile_provider(workspace, source)
    for number, text in enumerate(contracts):
        workspace.implementation(text, operator=f"op_{number:02}")
    problems = workspace.prove(environment=with_torch(workspace)).problems
    assert {str(problem.file).split("/")[-2] for problem in problems} <= {
        f"op_{number:02}" for number in range(len(contracts))
    }
    return [workspace.text([problem]) for problem in problems]


SIGNATURES = {
    "plain(Tensor x) -> Tensor": "CPU",
    "rms(Tensor(a!) out, Tensor x, float eps=1e-06) -> ()": "CPU",
    "sizes(Tensor x, SymInt[2] size, int[] more, *, str? mode=None) -> (Tensor, Tensor y)": "CPU",
    'text(Tensor[] xs, Tensor? y, ScalarType? dtype=None, str s="a\\"b") -> Tensor[]': "CPU",
    "view(Tensor(a) x) -> Tensor(a)": "CPU",
    "named.overload(Tensor x, bool b=False, int[2] k=[1, 2]) -> int": "CPU",
}


@needs_torch
def test_schemas_that_are_the_same(workspace: Workspace) -> None:
    contracts = [contract(f"acme::{schema}") for schema in SIGNATURES]
    contracts += [
        # The same double, the same mutability, the same whole in other spellings.
        contract("acme::rms(Tensor! out, Tensor x, float eps=9.9999999999999995e-07) -> ()"),
        contract("acme::rms(Tensor(z!) out, Tensor x, float eps=0.000001) -> ()"),
        contract("acme::plain( Tensor x )->Tensor"),
    ]
    assert prove_all(workspace, registration("acme", dict(SIGNATURES)), contracts) == []


DIFFERENCES = """
rms(Tensor(a!) out, Tensor x, float eps=1.0000001e-06) -> ()
    argument 3 `eps`, default: declared `1.0000001e-06`, registered `1e-06`
rms(Tensor(a!) out, Tensor x, float eps) -> ()
    argument 3 `eps`, default: declared none, registered `1e-06`
rms(Tensor(a!) out, Tensor x, int eps=0) -> ()
    argument 3 `eps`, type: declared `int`, registered `float`
    argument 3 `eps`, default: declared `0`, registered `1e-06`
rms(Tensor out, Tensor x, float eps=1e-06) -> ()
    argument 1 `out`, mutability: declared none, registered `a!`
rms(Tensor(a) out, Tensor x, float eps=1e-06) -> ()
    argument 1 `out`, mutability: declared `a`, registered `a!`
rms(Tensor(a!) result, Tensor x, float eps=1e-06) -> ()
    argument 1 `result`, name: declared `result`, registered `out`
rms(Tensor(a!) out, Tensor x) -> ()
    number of arguments: declared 2, registered 3
rms(Tensor(a!) out, Tensor x, *, float eps=1e-06) -> ()
    argument 3 `eps`, keyword only: declared yes, registered no
rms(Tensor(a!) out, Tensor x, float eps=1e-06) -> Tensor
    number of returns: declared 1, registered 0
sizes(Tensor x, int[2] size, int[] more, *, str? mode=None) -> (Tensor, Tensor y)
    argument 2 `size`, type: declared `int[]`, registered `SymInt[]`
sizes(Tensor x, SymInt[3] size, int[] more, *, str? mode=None) -> (Tensor, Tensor y)
    argument 2 `size`, length of the list: declared `3`, registered `2`
sizes(Tensor x, SymInt[2] size, int[] more, *, str? mode=None) -> (Tensor, Tensor z)
    return 2 `z`, name: declared `z`, registered `y`
view(Tensor(a) x) -> Tensor
    return 1, mutability: declared none, registered `a`
plain(Tensor? x) -> Tensor
    argument 1 `x`, type: declared `Tensor?`, registered `Tensor`
"""
"""Declared schemas, each with what is said of it and of the one in `SIGNATURES`."""


@needs_torch
def test_schemas_that_differ_in_one_part(workspace: Workspace) -> None:
    parts = re.findall(r"^(\w+)(\(.*)\n((?: {4}.*\n)+)", DIFFERENCES, re.MULTILINE)
    assert len(parts) == 14
    contracts = [contract(f"acme::{name}{declared}") for name, declared, _ in parts]
    found = prove_all(workspace, registration("acme", dict(SIGNATURES)), contracts)
    for number, ((name, declared, said), text) in enumerate(zip(parts, found, strict=True)):
        (registered,) = [schema for schema in SIGNATURES if schema.startswith(f"{name}(")]
        notes = "".join(f"  note: {note.strip()}\n" for note in said.splitlines())
        assert (
            text
            == f"""\
error[schema-differs]: `_C.so` registers `acme::{name}` with another schema
  --> <contracts>/torch/cpu/ops/op_{number:02}/acme.yaml:2, key `operator_schema`
  expected: `acme::{name}{declared}`
  got: `acme::{registered}`
{notes}  help: change the contract and the source together, or install another release"""
        )


@needs_torch
def test_operators_that_are_not_there(workspace: Workspace) -> None:
    contracts = [
        contract("acme::plane(Tensor x) -> Tensor"),
        contract("acme::named(Tensor x) -> Tensor"),
        contract("other::far(Tensor x) -> Tensor"),
        contract("aten::relu(Tensor self) -> Tensor"),
        contract("acme::plain(Tensr x) -> Tensor"),
    ]
    found = prove_all(workspace, registration("acme", dict(SIGNATURES)), contracts)
    assert (
        "\n\n".join(found)
        == """\
error[schema-missing]: `_C.so` registers no operator `acme::plane`
  --> <contracts>/torch/cpu/ops/op_00/acme.yaml:2, key `operator_schema`
  expected: `acme::plane` after the library is loaded
  got: no such operator
  note: it registers 6 operators
  note: among them `acme::plain`
  note: the library is <site>/acme/_C.so
  help: correct the name or the overload

error[schema-missing]: `_C.so` registers no operator `acme::named`
  --> <contracts>/torch/cpu/ops/op_01/acme.yaml:2, key `operator_schema`
  expected: `acme::named` after the library is loaded
  got: no such operator
  note: it registers 6 operators
  note: among them `acme::named.overload`
  note: the library is <site>/acme/_C.so
  help: correct the name or the overload

error[schema-missing]: `_C.so` registers no operator `other::far`
  --> <contracts>/torch/cpu/ops/op_02/acme.yaml:2, key `operator_schema`
  expected: `other::far` after the library is loaded
  got: no such operator
  note: it registers 6 operators
  note: the library is <site>/acme/_C.so
  help: correct the name or the overload

error[schema-elsewhere]: `_C.so` is not what registers `aten::relu` under `CPU`
  --> <contracts>/torch/cpu/ops/op_03/acme.yaml:3, key `dispatch_key`
  expected: a kernel that comes with the library
  got: a kernel that was there before the library was loaded
  note: the library is <site>/acme/_C.so
  help: name the library that registers the kernel; torch's own need no contract

error[schema-unparsable]: torch cannot parse the schema of `acme::plain`
  --> <contracts>/torch/cpu/ops/op_04/acme.yaml:2, key `operator_schema`
  expected: `namespace::name(arguments) -> returns`
  got: unknown type specifier
    acme::plain(Tensr x) -> Tensor
                ~~~~~ <--- HERE
  help: copy the line that `linked-resolver inspect <site>/acme/_C.so` prints"""
    )


@needs_torch
def test_kernels_under_other_keys(workspace: Workspace) -> None:
    keys = {
        "cpu": "CPU",
        "explicitly": "CompositeExplicitAutograd",
        "implicitly": "CompositeImplicitAutograd",
        "anything": "Undefined",  # a kernel for everything, which torch keeps as implicit
        "cuda": "CUDA",
        "nothing": None,
    }
    schemas = {f"{name}(Tensor x) -> Tensor": key for name, key in keys.items()}
    contracts = [contract(f"acme::{schema}") for schema in schemas]
    contracts += [
        contract("acme::cpu(Tensor x) -> Tensor", "cpu"),
        contract("acme::cuda(Tensor x) -> Tensor", "Cuda"),
        contract("acme::cuda(Tensor x) -> Tensor", "CUDDA"),
        contract("acme::cuda(Tensor x) -> Tensor", "qqqq"),
        contract("acme::explicitly(Tensor x) -> Tensor", "CompositeExplicitAutograd"),
        contract("acme::anything(Tensor x) -> Tensor", "CompositeImplicitAutograd"),
        contract("acme::cuda(Tensor x) -> Tensor", "CUDA"),
    ]
    found = prove_all(workspace, registration("acme", schemas), contracts)
    assert (
        "\n\n".join(found)
        == """\
error[dispatch-key-absent]: `acme::explicitly` has no kernel under `CPU`
  --> <contracts>/torch/cpu/ops/op_01/acme.yaml:3, key `dispatch_key`
  expected: a kernel registered under exactly `CPU`
  got: `CompositeExplicitAutograd`
  note: the library is <site>/acme/_C.so
  help: `CompositeExplicitAutograd` serves many devices; name it if it is the one that is wanted

error[dispatch-key-absent]: `acme::implicitly` has no kernel under `CPU`
  --> <contracts>/torch/cpu/ops/op_02/acme.yaml:3, key `dispatch_key`
  expected: a kernel registered under exactly `CPU`
  got: `CompositeImplicitAutograd`
  note: the library is <site>/acme/_C.so
  help: `CompositeImplicitAutograd` serves many devices; name it if it is the one that is wanted

error[dispatch-key-absent]: `acme::anything` has no kernel under `CPU`
  --> <contracts>/torch/cpu/ops/op_03/acme.yaml:3, key `dispatch_key`
  expected: a kernel registered under exactly `CPU`
  got: `CompositeImplicitAutograd`
  note: the library is <site>/acme/_C.so
  help: `CompositeImplicitAutograd` serves many devices; name it if it is the one that is wanted

error[dispatch-key-absent]: `acme::cuda` has no kernel under `CPU`
  --> <contracts>/torch/cpu/ops/op_04/acme.yaml:3, key `dispatch_key`
  expected: a kernel registered under exactly `CPU`
  got: `CUDA`
  note: the library is <site>/acme/_C.so
  help: name a key that the library has a kernel for

error[dispatch-key-absent]: `acme::nothing` has no kernel under `CPU`
  --> <contracts>/torch/cpu/ops/op_05/acme.yaml:3, key `dispatch_key`
  expected: a kernel registered under exactly `CPU`
  got: a schema without any kernel
  note: the library is <site>/acme/_C.so
  help: name a key that the library has a kernel for

error[dispatch-key-unknown]: torch has no dispatch key `cpu`
  --> <contracts>/torch/cpu/ops/op_06/acme.yaml:3, key `dispatch_key`
  expected: one of `CPU`
  got: `cpu`
  help: the case of the letters matters

error[dispatch-key-unknown]: torch has no dispatch key `Cuda`
  --> <contracts>/torch/cpu/ops/op_07/acme.yaml:3, key `dispatch_key`
  expected: one of `CUDA`
  got: `Cuda`
  help: the case of the letters matters

error[dispatch-key-unknown]: torch has no dispatch key `CUDDA`
  --> <contracts>/torch/cpu/ops/op_08/acme.yaml:3, key `dispatch_key`
  expected: one of `CUDA`, `SparseCUDA`, `CPU`
  got: `CUDDA`
  help: the case of the letters matters

error[dispatch-key-unknown]: torch has no dispatch key `qqqq`
  --> <contracts>/torch/cpu/ops/op_09/acme.yaml:3, key `dispatch_key`
  expected: a key of torch, such as `CPU`, `CUDA` or `PrivateUse1`
  got: `qqqq`
  help: the case of the letters matters"""
    )


@needs_torch
def test_one_library_that_crashes_does_not_hide_another(workspace: Workspace) -> None:
    workspace.library(LIBRARY.replace("_C.so", "_bad.so"), "bad")
    workspace.library(LIBRARY.replace("_C.so", "_good.so"), "good")
    compile_provider(workspace, CONSTRUCTOR.format(body="__builtin_trap();"), "acme/_bad.so")
    good = registration("acme", {"f(Tensor x) -> Tensor": "CPU"})
    compile_provider(workspace, good, "acme/_good.so")
    workspace.install(files=["acme/_bad.so", "acme/_good.so"])
    for number, library in enumerate(["bad", "good", "bad", "good"]):
        schema = "acme::f(Tensor x) -> Tensor" if number < 3 else "acme::f(Tensor y) -> Tensor"
        workspace.implementation(contract(schema, "CPU", library), f"op_{number}", library)
    problems = workspace.prove(environment=with_torch(workspace)).problems
    assert [(problem.code, str(problem.file).split("/")[-2]) for problem in problems] == [
        ("load-crashed", "op_0"),
        ("load-crashed", "op_2"),
        ("schema-differs", "op_3"),
    ]


@needs_torch
def test_the_library_that_is_named_must_be_the_one_that_registers(workspace: Workspace) -> None:
    for name in ("first", "second"):
        workspace.library(LIBRARY.replace("_C.so", f"_{name}.so"), name)
        schema = f"acme_{name}::f(Tensor x) -> Tensor"
        source = registration(f"acme_{name}", {"f(Tensor x) -> Tensor": "CPU"})
        compile_provider(workspace, source, f"acme/_{name}.so")
        workspace.implementation(contract(schema, "CPU", name), f"op_{name}", name)
    workspace.install(files=["acme/_first.so", "acme/_second.so"])
    environment = with_torch(workspace)
    assert workspace.text(workspace.prove(environment=environment).problems) == ""
    for name, other in (("first", "second"), ("second", "first")):
        text = contract(f"acme_{other}::f(Tensor x) -> Tensor", "CPU", name)
        workspace.implementation(text, f"op_{name}", name)
    problems = workspace.prove(environment=environment).problems
    assert [(problem.code, str(problem.file).split("/")[-2]) for problem in problems] == [
        ("schema-missing", "op_first"),
        ("schema-elsewhere", "op_second"),
    ]
