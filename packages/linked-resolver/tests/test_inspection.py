from linked_workspace import Workspace
from torch_providers import compile_provider, needs_torch, registration, with_torch

from linked_resolver import RegisteredOperator, inspect


@needs_torch
def test_schemas_are_listed_with_their_keys(workspace: Workspace) -> None:
    schemas = {
        "f(Tensor(a!) out, Tensor x, SymInt[2] n, float eps=1e-06) -> ()": "CPU",
        "g.out(Tensor x, *, Scalar s=1) -> Tensor": "CompositeExplicitAutograd",
        "h(Tensor x) -> Tensor": None,
    }
    path = compile_provider(workspace, registration("acme", schemas))
    found = inspect(str(path), environment=with_torch(workspace))
    assert found.problems == ()
    (library,) = found.libraries
    assert library.operators == tuple(
        RegisteredOperator(f"acme::{schema}", () if key is None else (key,))
        for schema, key in schemas.items()
    )


@needs_torch
def test_variants_that_register_the_same_are_both_listed(workspace: Workspace) -> None:
    workspace.install(files=["acme/_C.so", "acme/_C_AVX2.so", "acme/_broken.so"])
    source = registration("acme", {"f(Tensor x) -> Tensor": "CPU"})
    first = compile_provider(workspace, source)
    (workspace.site / "acme/_C_AVX2.so").write_bytes(first.read_bytes())
    (workspace.site / "acme/_broken.so").write_text("no library")
    found = inspect("acme", environment=with_torch(workspace))
    assert [library.glob for library in found.libraries] == ["acme/_C.so", "acme/_C_AVX2.so"]
    assert all(len(library.operators) == 1 for library in found.libraries)
    assert [problem.code for problem in found.problems] == ["tool-failed"]


@needs_torch
def test_a_library_that_cannot_be_loaded_still_shows_its_functions(workspace: Workspace) -> None:
    source = "void absent(); void f() { absent(); }"
    path = workspace.provider(source, "-Wl,-z,now", path="acme/b.so")
    found = inspect(str(path), environment=with_torch(workspace))
    (library,) = found.libraries
    assert library.functions == ("f()",)
    assert (
        workspace.text(found.problems)
        == """\
error[load-failed]: `b.so` cannot be loaded, so its schemas are not known
  got: <site>/acme/b.so: undefined symbol: _Z6absentv
  help: install what it needs; --no-load leaves schemas out"""
    )
