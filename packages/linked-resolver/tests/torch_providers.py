"""Providers for the schema tests: libraries that register operators through torch's C interface.

They include no header of torch and link against an empty library of the name of torch's, so that
each compiles in a moment; the real one is in the child's memory when it loads them.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from linked_workspace import Workspace, compile_library

from linked_resolver import Environment

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed (pip install torch)"
)

REGISTRATION = """
#include <cstdint>
extern "C" {{
typedef void* Handle;
int aoti_torch_library_init_def(const char*, const char*, std::uint32_t, Handle*);
int aoti_torch_library_init_fragment(const char*, const char*, std::uint32_t, Handle*);
int aoti_torch_library_init_impl(const char*, const char*, const char*, std::uint32_t, Handle*);
int aoti_torch_library_def(Handle, const char*);
int aoti_torch_library_impl(
    Handle, const char*, void (*)(std::uint64_t*, std::uint64_t, std::uint64_t));
}}
static void Kernel(std::uint64_t*, std::uint64_t, std::uint64_t) {{}}
static void Implement(const char* name, const char* key) {{
  Handle handle;
  if (aoti_torch_library_init_impl("{namespace}", key, __FILE__, __LINE__, &handle) == 0)
    aoti_torch_library_impl(handle, name, Kernel);
}}
static int Register() {{
  Handle handle;
  aoti_torch_library_init_def("{namespace}", __FILE__, __LINE__, &handle);
{calls}
  return 0;
}}
static int registered = Register();
"""

# What the child asks of torch, without torch: enough where the library ends the process.
FAKE_TORCH = """
import ctypes


class ops:
    load_library = ctypes.CDLL


class _C:
    class DispatchKey:
        __members__ = {"CPU": 0}

    @staticmethod
    def _dispatch_get_all_op_names():
        return []

    @staticmethod
    def _dispatch_has_kernel_for_dispatch_key(name, key):
        return False

    @staticmethod
    def parse_schema(text):
        raise RuntimeError("no parser")
"""


def registration(namespace: str, schemas: dict[str, str | None]) -> str:
    """Source that registers schemas, each with a kernel under a key or without one."""
    calls = []
    for schema, key in schemas.items():
        name = schema.partition("(")[0]
        calls.append(f'  aoti_torch_library_def(handle, R"text({schema})text");')
        if key is not None:
            calls.append(f'  Implement("{name}", "{key}");')
    return REGISTRATION.format(namespace=namespace, calls="\n".join(calls))


def compile_provider(workspace: Workspace, source: str, path: str = "acme/_C.so") -> Path:
    """Compiles a library that needs torch's, without a run path."""
    stub = workspace.root / "stub" / "libtorch_cpu.so"
    if not stub.exists():
        compile_library(stub, "int unused;", "-Wl,-soname,libtorch_cpu.so")
    flags = ("-Wl,--no-as-needed", f"-L{stub.parent}", "-ltorch_cpu")
    return compile_library(
        workspace.site / path, source, *flags, "-Wl,--unresolved-symbols=ignore-all"
    )


def contract(schema: str, key: str = "CPU", library: str = "acme") -> str:
    return f"library: {library}\noperator_schema: '{schema}'\ndispatch_key: {key}\n"


def with_torch(workspace: Workspace) -> Environment:
    """The providers of the workspace beside the modules of this interpreter."""
    return workspace.environment(workspace.site, *map(Path, sys.path))


def with_fake_torch(workspace: Workspace, source: str, *flags: str) -> None:
    """One Dispatcher contract for a library that behaves as its source says."""
    workspace.library()
    workspace.implementation(contract("acme::f(Tensor x) -> Tensor"))
    workspace.install(files=["acme/_C.so"])
    workspace.install("torch", "2.13.0", ["torch/__init__.py"])
    (workspace.site / "torch").mkdir()
    (workspace.site / "torch" / "__init__.py").write_text(FAKE_TORCH)
    workspace.provider(source, *flags)
