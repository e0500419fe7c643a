"""Which symbols count, and what is said about those that do not."""

import shutil

import pytest
from linked_workspace import Workspace, compile_library

from linked_resolver import find_tools
from linked_resolver.symbols import base_name, nearest, string_abi

OLD_STRINGS = "-D_GLIBCXX_USE_CXX11_ABI=0"
STRING = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
LLVM = {"nm": "llvm-nm", "readelf": "llvm-readelf", "c++filt": "llvm-cxxfilt"}

TYPES = """
#include <optional>
#include <string>
#include <vector>
void text(std::string const&) {}
void list(std::vector<long>) {}
void maybe(std::optional<double>) {}
void wide(unsigned long long) {}
void narrow(signed char) {}
template <typename T> T twice(T x) { return x + x; }
template int twice<int>(int);
struct __attribute__((abi_tag("v2"))) Tagged { Tagged(int); };
Tagged::Tagged(int) {}
struct Holder { void operator()(int); bool operator<(Holder const&); };
void Holder::operator()(int) {}
bool Holder::operator<(Holder const&) { return true; }
extern "C" int __tvm_ffi_run(void*) { return 0; }
namespace a { inline auto lambda = [](int x) { return x; }; }
int use(int x) { return a::lambda(x); }
"""
TEXTS = [
    f"text({STRING} const&)",
    "list(std::vector<long, std::allocator<long> >)",
    "maybe(std::optional<double>)",
    "wide(unsigned long long)",
    "narrow(signed char)",
    "int twice<int>(int)",
    "Tagged[abi:v2]::Tagged(int)",
    "Holder::operator()(int)",
    "Holder::operator<(Holder const&)",
    "__tvm_ffi_run",
    "a::lambda::{lambda(int)#1}::operator()(int) const",
]
# LLVM 14 writes lambdas in its own way, and forgets the name of a constructor with an ABI tag.
LLVM_TEXTS = [
    text.replace("{lambda(int)#1}", "'lambda'(int)") for text in TEXTS if "abi:v2" not in text
]


def contract(*symbols: str) -> str:
    lines = "".join(f'  - "{symbol}"\n' for symbol in symbols)
    return f"library: acme\nrequired_symbols:\n{lines}"


def prove(workspace: Workspace, source: str, *symbols: str, flags: tuple[str, ...] = ()) -> str:
    workspace.complete(source, *flags)
    workspace.implementation(contract(*symbols))
    return workspace.text(workspace.prove().problems).replace(STRING, "<string>")


@pytest.mark.parametrize("make", ["gnu", "llvm"])
def test_demangled_texts_of_every_kind_of_type(workspace: Workspace, make: str) -> None:
    tools = None
    if make == "llvm":
        if any(shutil.which(name) is None for name in LLVM.values()):
            pytest.skip("LLVM's nm, readelf and cxxfilt are not on PATH (apt-get install llvm)")
        folder = workspace.root / "bin"
        folder.mkdir()
        for name in LLVM.values():
            (folder / name).symlink_to(str(shutil.which(name)))
        tools, _ = find_tools(str(folder))
    workspace.complete(TYPES, "-std=c++17")
    workspace.implementation(contract(*(LLVM_TEXTS if make == "llvm" else TEXTS)))
    assert workspace.text(workspace.prove(tools=tools).problems) == ""


def test_text_is_compared_exactly(workspace: Workspace) -> None:
    text = prove(workspace, TYPES, "list(std::vector<long, std::allocator<long>>)")
    assert (
        text
        == """\
error[symbol-missing]: `_C.so` does not export `list(std::vector<long, std::allocator<long>>)`
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml:3, key `required_symbols`
  expected: a defined, exported symbol of the dynamic table
  got: no such symbol
  note: exported are
    list(std::vector<long, std::allocator<long> >)
  note: the library is <site>/acme/_C.so
  help: copy the text as nm writes it: `list(std::vector<long, std::allocator<long> >)`"""
    )


def test_a_template_instance_has_its_return_type(workspace: Workspace) -> None:
    assert (
        prove(workspace, TYPES, "twice<int>(int)", flags=("-std=c++17",))
        == """\
error[symbol-missing]: `_C.so` does not export `twice<int>(int)`
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml:3, key `required_symbols`
  expected: a defined, exported symbol of the dynamic table
  got: no such symbol
  note: exported are
    int twice<int>(int)
  note: the library is <site>/acme/_C.so
  help: if the signature has changed, change the contract and the source together"""
    )


def test_a_near_miss_in_one_type(workspace: Workspace) -> None:
    assert (
        prove(workspace, "void f(int) {}", "f(signed char)")
        == """\
error[symbol-missing]: `_C.so` does not export `f(signed char)`
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml:3, key `required_symbols`
  expected: a defined, exported symbol of the dynamic table
  got: no such symbol
  note: exported are
    f(int)
  note: the library is <site>/acme/_C.so
  help: if the signature has changed, change the contract and the source together"""
    )


def test_a_reference_to_const(workspace: Workspace) -> None:
    source = "namespace at { struct Tensor {}; } void f(at::Tensor const&) {}"
    assert (
        prove(workspace, source, "f(at::Tensor&)")
        == """\
error[symbol-missing]: `_C.so` does not export `f(at::Tensor&)`
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml:3, key `required_symbols`
  expected: a defined, exported symbol of the dynamic table
  got: no such symbol
  note: exported are
    f(at::Tensor const&)
  note: the library is <site>/acme/_C.so
  help: if the signature has changed, change the contract and the source together"""
    )


def test_other_overloads(workspace: Workspace) -> None:
    source = "void f(int) {} void f(float, int) {} namespace n { void f(int, int) {} } void g() {}"
    assert (
        prove(workspace, source, "f(int, float)")
        == """\
error[symbol-missing]: `_C.so` does not export `f(int, float)`
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml:3, key `required_symbols`
  expected: a defined, exported symbol of the dynamic table
  got: no such symbol
  note: exported are
    n::f(int, int)
    f(int)
    f(float, int)
  note: the library is <site>/acme/_C.so
  help: if the signature has changed, change the contract and the source together"""
    )


def test_a_misspelt_name(workspace: Workspace) -> None:
    source = "void silu_and_mul(int) {} void completely_different(int) {}"
    assert (
        prove(workspace, source, "silu_mul(int)")
        == """\
error[symbol-missing]: `_C.so` does not export `silu_mul(int)`
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml:3, key `required_symbols`
  expected: a defined, exported symbol of the dynamic table
  got: no such symbol
  note: exported are
    silu_and_mul(int)
  note: the library is <site>/acme/_C.so
  help: if the signature has changed, change the contract and the source together"""
    )


def test_nothing_alike(workspace: Workspace) -> None:
    assert (
        prove(workspace, "void f(int) {}", "rotary_embedding(long)")
        == """\
error[symbol-missing]: `_C.so` does not export `rotary_embedding(long)`
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml:3, key `required_symbols`
  expected: a defined, exported symbol of the dynamic table
  got: no such symbol
  note: the library is <site>/acme/_C.so
  help: list what there is: `linked-resolver inspect <site>/acme/_C.so`"""
    )


def test_an_undefined_symbol(workspace: Workspace) -> None:
    assert (
        prove(workspace, "void f(int); void g() { f(1); }", "f(int)")
        == """\
error[symbol-missing]: `_C.so` does not export `f(int)`
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml:3, key `required_symbols`
  expected: a defined, exported symbol of the dynamic table
  got: a symbol that does not count
  note: it is in the library, but undefined: the library itself needs it from elsewhere
  note: the library is <site>/acme/_C.so
  help: choose a symbol that is exported, or another release of the distribution"""
    )


def test_a_hidden_symbol(workspace: Workspace) -> None:
    source = '__attribute__((visibility("hidden"))) void f(int) {} void g() { f(1); }'
    assert (
        prove(workspace, source, "f(int)")
        == """\
error[symbol-missing]: `_C.so` does not export `f(int)`
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml:3, key `required_symbols`
  expected: a defined, exported symbol of the dynamic table
  got: a symbol that does not count
  note: it is in the library, but local: it is static or hidden and stays inside the library
  note: the library is <site>/acme/_C.so
  help: choose a symbol that is exported, or another release of the distribution"""
    )


def test_a_hidden_symbol_of_a_stripped_library(workspace: Workspace) -> None:
    source = '__attribute__((visibility("hidden"))) void f(int) {} void g() { f(1); }'
    assert (
        prove(workspace, source, "f(int)", flags=("-s",))
        == """\
error[symbol-missing]: `_C.so` does not export `f(int)`
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml:3, key `required_symbols`
  expected: a defined, exported symbol of the dynamic table
  got: no such symbol
  note: the library is <site>/acme/_C.so
  help: list what there is: `linked-resolver inspect <site>/acme/_C.so`"""
    )


def test_a_symbol_that_only_the_visibility_of_its_entry_hides(workspace: Workspace) -> None:
    path = workspace.complete("void silu_and_mul(int) {}", "-s")
    data = bytearray(path.read_bytes())
    from elftools.elf.elffile import ELFFile

    with path.open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(".dynsym")
        names = [symbol.name for symbol in table.iter_symbols()]
        entry = table["sh_offset"] + 24 * names.index("_Z12silu_and_muli")
    data[entry + 5] = 2
    path.write_bytes(data)
    assert (
        workspace.text(workspace.prove().problems)
        == """\
error[symbol-missing]: `_C.so` does not export `silu_and_mul(int)`
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml:3, key `required_symbols`
  expected: a defined, exported symbol of the dynamic table
  got: a symbol that does not count
  note: it is in the library, but hidden: its visibility keeps it inside the library
  note: the library is <site>/acme/_C.so
  help: choose a symbol that is exported, or another release of the distribution"""
    )


def test_an_old_version(workspace: Workspace) -> None:
    script = workspace.root / "map"
    script.write_text("ACME_1 { global: *; };\n")
    source = 'extern "C" void g(int) {} __asm__(".symver g, _Z1fi@ACME_1");'
    flags = (f"-Wl,--version-script={script}",)
    assert (
        prove(workspace, source, "f(int)", flags=flags)
        == """\
error[symbol-missing]: `_C.so` does not export `f(int)`
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml:3, key `required_symbols`
  expected: a defined, exported symbol of the dynamic table
  got: a symbol that does not count
  note: it is in the library, but old version: only `ACME_1` for programs that were linked long ago
  note: the library is <site>/acme/_C.so
  help: choose a symbol that is exported, or another release of the distribution"""
    )


def test_names_of_streams_are_short(workspace: Workspace) -> None:
    source = "#include <iosfwd>\nvoid f(std::ostream&) {}\n"
    assert prove(workspace, source, "f(std::ostream&)") == ""


def test_the_newest_version_counts(workspace: Workspace) -> None:
    script = workspace.root / "map"
    script.write_text("ACME_1 { global: *; };\n")
    assert (
        prove(workspace, "void f(int) {}", "f(int)", flags=(f"-Wl,--version-script={script}",))
        == ""
    )


@pytest.mark.parametrize(
    "attribute", ["weak", 'visibility("protected")', "weak, noinline", 'visibility("default")']
)
def test_symbols_that_count(workspace: Workspace, attribute: str) -> None:
    source = f"__attribute__(({attribute})) void f(int) {{}}"
    flags = ("-fvisibility=hidden",) if "visibility" in attribute else ()
    assert prove(workspace, source, "f(int)", flags=flags) == ""


def test_an_indirect_function_counts(workspace: Workspace) -> None:
    source = (
        'extern "C" void g(int) {} extern "C" void (*choose())(int) { return g; }\n'
        '__attribute__((ifunc("choose"))) void f(int);'
    )
    assert prove(workspace, source, "f(int)") == ""


def test_every_missing_symbol_is_reported(workspace: Workspace) -> None:
    text = prove(workspace, "void f(int) {}", "f(int)", "f(long)", "g(int)")
    assert [line for line in text.splitlines() if "error" in line] == [
        "error[symbol-missing]: `_C.so` does not export `f(long)`",
        "error[symbol-missing]: `_C.so` does not export `g(int)`",
    ]


def test_strings_of_the_old_abi(workspace: Workspace) -> None:
    source = "#include <string>\nvoid f(std::string const&) {}\n"
    assert (
        prove(workspace, source, f"f({STRING} const&)", flags=(OLD_STRINGS,))
        == """\
error[symbol-abi]: `_C.so` was compiled with the other ABI of std::string
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml:3, key `required_symbols`
  expected: `f(<string> const&)`
  got: `f(std::string const&)`
  note: _GLIBCXX_USE_CXX11_ABI of the library: 0; of torch: cannot be told; of the contract: 1
  note: the library is <site>/acme/_C.so
  help: install a build of the library with torch's ABI"""
    )


def test_strings_of_the_old_abi_with_that_of_torch(workspace: Workspace) -> None:
    source = "#include <string>\nvoid f(std::string const&) {}\n"
    folder = workspace.site / "torch-2.13.0.dist-info"
    prove(workspace, source, f"f({STRING} const&)", flags=(OLD_STRINGS,))
    (folder / "RECORD").write_text("torch/lib/libc10.so,,\n")
    compile_library(workspace.site / "torch/lib/libc10.so", source)
    text = workspace.text(workspace.prove().problems)
    note = "_GLIBCXX_USE_CXX11_ABI of the library: 0; of torch: 1; of the contract: 1"
    assert f"  note: {note}" in text.splitlines()


def test_strings_of_the_new_abi_for_an_old_contract(workspace: Workspace) -> None:
    source = "#include <string>\nstd::string f(int) { return {}; }\n"
    abi = "of the library: 1; of torch: cannot be told; of the contract: cannot be told"
    assert (
        prove(workspace, source, "f(int)")
        == f"""\
error[symbol-abi]: `_C.so` was compiled with the other ABI of std::string
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml:3, key `required_symbols`
  expected: `f(int)`
  got: `f[abi:cxx11](int)`
  note: _GLIBCXX_USE_CXX11_ABI {abi}
  note: the library is <site>/acme/_C.so
  help: install a build of the library with torch's ABI"""
    )


@pytest.mark.parametrize(
    ("symbol", "base"),
    [
        ("silu_and_mul(at::Tensor&)", "silu_and_mul"),
        ("int twice<int>(int)", "twice"),
        ("a::b<c::d(int)>::e(f)", "a::b::e"),
        ("Holder::operator()(int)", "Holder::operator()"),
        ("__tvm_ffi_run", "__tvm_ffi_run"),
    ],
)
def test_the_base_name(symbol: str, base: str) -> None:
    assert base_name(symbol) == base


def test_nearest_names_are_few_and_sorted_by_likeness() -> None:
    exported = [f"f({'int, ' * number}int)" for number in range(20)] + ["g(int)"]
    found = nearest("f(int, int)", exported)
    assert found[0] == "f(int, int)"
    assert len(found) == 5
    assert "g(int)" not in found


def test_an_abi_that_no_name_tells() -> None:
    assert string_abi(["f(int)"]) is None
