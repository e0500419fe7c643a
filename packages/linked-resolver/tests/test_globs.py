from pathlib import Path, PurePosixPath

import pytest
from linked_workspace import LIBRARY, SOURCE, Workspace, compile_library

from linked_resolver.globs import narrower


def with_files(workspace: Workspace, pattern: str, *files: str) -> str:
    """The problems if the distribution recorded `files`, which are all there."""
    workspace.library(LIBRARY.replace("acme/_C.so", f"'{pattern}'"))
    workspace.implementation()
    workspace.install(files=files)
    workspace.install_torch()
    original = workspace.provider(path="_original.so")
    for file in files:
        (workspace.site / file).parent.mkdir(parents=True, exist_ok=True)
        (workspace.site / file).write_bytes(original.read_bytes())
    return workspace.text(workspace.prove().problems)


@pytest.mark.parametrize(
    "pattern", ["acme/_C.so", "acme/_C*.so", "*/_?.so", "acme/_[A-D].so", "acme/_C.[s]o"]
)
def test_a_pattern_that_matches_one_file(workspace: Workspace, pattern: str) -> None:
    assert with_files(workspace, pattern, "acme/_C.so", "acme/__init__.py") == ""


def test_three_variants_of_one_library_are_ambiguous(workspace: Workspace) -> None:
    files = ["vllm/_C.abi3.so", "vllm/_C_AVX2.abi3.so", "vllm/_C_AVX512.abi3.so"]
    assert (
        with_files(workspace, "vllm/_C*.so", *files)
        == """\
error[glob-ambiguous]: `vllm/_C*.so` matches 3 paths of `acme`
  --> <contracts>/torch/cpu/acme.yaml:2, key `library_glob`
  expected: exactly one file
  got: vllm/_C.abi3.so
    vllm/_C_AVX2.abi3.so
    vllm/_C_AVX512.abi3.so
  help: write a narrower pattern, for example `vllm/_C.*.so`"""
    )


def test_copies_for_architectures_are_ambiguous(workspace: Workspace) -> None:
    files = ["sgl_kernel/sm90/common_ops.abi3.so", "sgl_kernel/sm100/common_ops.abi3.so"]
    assert (
        with_files(workspace, "sgl_kernel/*/common_ops*.so", *files)
        == """\
error[glob-ambiguous]: `sgl_kernel/*/common_ops*.so` matches 2 paths of `acme`
  --> <contracts>/torch/cpu/acme.yaml:2, key `library_glob`
  expected: exactly one file
  got: sgl_kernel/sm100/common_ops.abi3.so
    sgl_kernel/sm90/common_ops.abi3.so
  help: write a narrower pattern, for example `sgl_kernel/sm100/common_ops*.so`"""
    )


def test_a_pattern_for_one_architecture_is_exact(workspace: Workspace) -> None:
    files = ["sgl_kernel/sm90/common_ops.abi3.so", "sgl_kernel/sm100/common_ops.abi3.so"]
    assert with_files(workspace, "sgl_kernel/sm90/common_ops*.so", *files) == ""
    workspace.resolve()
    text = (workspace.output / "diagnostics.json").read_text(encoding="utf-8")
    assert '/sgl_kernel/sm90/common_ops.abi3.so"' in text


def test_many_matches_are_not_all_listed(workspace: Workspace) -> None:
    text = with_files(workspace, "acme/*.so", *(f"acme/a{number:02}.so" for number in range(15)))
    lines = text.splitlines()
    assert lines[3:5] == ["  got: acme/a00.so", "    acme/a01.so"]
    assert lines[14:] == [
        "    acme/a11.so",
        "    and 3 more",
        "  help: write a narrower pattern, for example `acme/a00.so`",
    ]


def test_a_star_stays_within_one_component(workspace: Workspace) -> None:
    assert (
        with_files(workspace, "*.so", "acme/_C.so", "acme/lib/libx.so.1")
        == """\
error[glob-no-match]: `*.so` matches nothing that `acme` installed
  --> <contracts>/torch/cpu/acme.yaml:2, key `library_glob`
  expected: exactly one file
  got: none among the files of acme 1.0, from <site>/acme-1.0.dist-info
  note: it has `acme/_C.so`, `acme/lib/libx.so.1`
  help: correct the pattern; it begins at the folder that holds the metadata"""
    )


def test_files_that_are_not_recorded_do_not_match(workspace: Workspace) -> None:
    workspace.complete()
    (workspace.site / "acme-1.0.dist-info" / "RECORD").write_text("acme/__init__.py,,\n")
    assert (
        workspace.text(workspace.prove().problems)
        == """\
error[glob-no-match]: `acme/_C.so` matches nothing that `acme` installed
  --> <contracts>/torch/cpu/acme.yaml:2, key `library_glob`
  expected: exactly one file
  got: none among the files of acme 1.0, from <site>/acme-1.0.dist-info
  help: correct the pattern; it begins at the folder that holds the metadata"""
    )


def test_a_recorded_file_that_is_gone(workspace: Workspace) -> None:
    workspace.complete().unlink()
    assert (
        workspace.text(workspace.prove().problems)
        == """\
error[glob-missing-file]: `acme` recorded `_C.so`, which is not there as a file
  --> <contracts>/torch/cpu/acme.yaml:2, key `library_glob`
  expected: the file <site>/acme/_C.so
  got: no such file
  help: install `acme` anew"""
    )


def test_records_that_climb_or_are_absolute_do_not_match(workspace: Workspace) -> None:
    workspace.complete()
    record = f"../evil/_C.so,,\n{workspace.root}/evil/_C.so,,\nacme/../../evil/_C.so,,\n"
    (workspace.site / "acme-1.0.dist-info" / "RECORD").write_text(record)
    workspace.library(LIBRARY.replace("acme/_C.so", "'*/*/_C.so'"))
    assert "error[glob-no-match]" in workspace.text(workspace.prove().problems)


def test_a_link_inside_the_distribution_is_followed(workspace: Workspace) -> None:
    path = workspace.complete()
    real = path.rename(path.with_name("_C.so.1"))
    path.symlink_to("_C.so.1")
    assert workspace.prove().located["torch/cpu/acme"].path == real


def test_a_link_out_of_the_distribution(workspace: Workspace) -> None:
    path = workspace.complete()
    path.rename(workspace.root / "cache.so")
    path.symlink_to(workspace.root / "cache.so")
    assert (
        workspace.text(workspace.prove().problems)
        == """\
error[glob-escape]: `_C.so` of `acme` is a link that leads out of the distribution
  --> <contracts>/torch/cpu/acme.yaml:2, key `library_glob`
  expected: a path in <site>
  got: <root>/cache.so
  help: install it with copies instead of links (`uv pip install --link-mode copy`)"""
    )


def with_include(workspace: Workspace, pattern: str, *headers: str) -> str:
    workspace.library(LIBRARY + f"include_glob: '{pattern}'\n", transport="tvm_ffi")
    workspace.implementation(transport="tvm_ffi")
    workspace.install(files=["acme/_C.so", *headers])
    for header in headers:
        (workspace.site / header).parent.mkdir(parents=True, exist_ok=True)
        (workspace.site / header).touch()
    workspace.provider()
    return workspace.text(workspace.prove().problems)


def test_headers_are_a_folder_with_recorded_files(workspace: Workspace) -> None:
    assert with_include(workspace, "acme/incl*", "acme/include/tvm/ffi/c_api.h") == ""
    (found,) = workspace.prove().libraries
    assert found.include == workspace.site / "acme" / "include"


def test_headers_that_are_not_there(workspace: Workspace) -> None:
    assert (
        with_include(workspace, "acme/headers", "acme/include/a.h", "acme/b/include/a.h")
        == """\
error[glob-no-match]: `acme/headers` matches nothing that `acme` installed
  --> <contracts>/tvm_ffi/cpu/acme.yaml:3, key `include_glob`
  expected: exactly one folder
  got: none among the files of acme 1.0, from <site>/acme-1.0.dist-info
  note: it has `acme/b/include`, `acme/include`
  help: correct the pattern; it begins at the folder that holds the metadata"""
    )


def test_two_folders_of_headers(workspace: Workspace) -> None:
    assert (
        with_include(workspace, "acme/*/include", "acme/a/include/x.h", "acme/b/include/x.h")
        == """\
error[glob-ambiguous]: `acme/*/include` matches 2 paths of `acme`
  --> <contracts>/tvm_ffi/cpu/acme.yaml:3, key `include_glob`
  expected: exactly one folder
  got: acme/a/include
    acme/b/include
  help: write a narrower pattern, for example `acme/a/include`"""
    )


def test_a_folder_of_headers_that_is_gone(workspace: Workspace) -> None:
    with_include(workspace, "acme/include", "acme/include/a.h")
    (workspace.site / "acme/include/a.h").unlink()
    (workspace.site / "acme/include").rmdir()
    assert (
        workspace.text(workspace.prove().problems)
        == """\
error[glob-missing-file]: `acme` recorded files in `include`, which is no folder
  --> <contracts>/tvm_ffi/cpu/acme.yaml:3, key `include_glob`
  expected: the folder <site>/acme/include
  got: no such folder
  help: install `acme` anew"""
    )


def test_headers_of_an_editable_installation(workspace: Workspace) -> None:
    source = workspace.root / "project"
    compile_library(source / "acme/_C.so", SOURCE)
    (source / "acme/include").mkdir()
    workspace.library(LIBRARY + "include_glob: acme/include\n", transport="tvm_ffi")
    workspace.implementation(transport="tvm_ffi")
    url = f'{{"url": "{source.as_uri()}", "dir_info": {{"editable": true}}}}'
    workspace.install(record="acme.pth,,\n", extra={"direct_url.json": url})
    assert "error[glob-no-match]" in workspace.text(workspace.prove().problems)
    (source / "acme/include/a.h").touch()
    assert workspace.text(workspace.prove().problems) == ""


def test_a_recorded_name_longer_than_any_is_not_there(workspace: Workspace) -> None:
    workspace.complete()
    workspace.library("python_distribution_package: acme\nlibrary_glob: acme/a*.so\n")
    (workspace.site / "acme-1.0.dist-info" / "RECORD").write_text(f"acme/{'a' * 300}.so,,\n")
    text = workspace.text(workspace.prove().problems)
    assert text.startswith("error[glob-missing-file]: `acme` recorded `aaa")
    assert "\n  got: no such file\n" in text


@pytest.mark.parametrize("sign", [";", ":", "$", '"', "\udcff"])
def test_a_path_that_the_build_cannot_hold(workspace: Workspace, sign: str) -> None:
    site = workspace.root / f"a{sign}b"
    workspace.library()
    workspace.implementation()
    workspace.install(files=["acme/_C.so"], site=site)
    workspace.install_torch()
    path = compile_library(site / "acme/_C.so", SOURCE)
    resolution = workspace.prove(environment=workspace.environment(site, workspace.site))
    assert workspace.text(resolution.problems) == (
        "error[path-characters]: `_C.so` lies in a path that the build cannot hold\n"
        "  --> <contracts>/torch/cpu/acme.yaml:2, key `library_glob`\n"
        '  expected: a path in UTF-8 without `;`, `:`, `$`, `"`, backslash and control characters\n'
        f"  got: {str(path)!r}\n".replace(str(workspace.root), "<root>")
        + "  help: install the environment under another path"
    )


@pytest.mark.parametrize(
    ("pattern", "matches", "suggestion"),
    [
        ("a/_C*.so", ["a/_C.abi3.so", "a/_C_x.abi3.so"], "a/_C.*.so"),
        ("*/x.so", ["a/x.so", "b/x.so"], "a/x.so"),
        ("a/*", ["a/x.so", "a/long.so"], "a/x.so"),
    ],
)
def test_the_suggested_pattern_matches_one(
    pattern: str, matches: list[str], suggestion: str
) -> None:
    assert narrower(pattern, [PurePosixPath(path) for path in matches]) == suggestion


def test_two_libraries_of_one_loader_name(workspace: Workspace) -> None:
    workspace.complete()
    workspace.library("python_distribution_package: other\nlibrary_glob: other/_C.so\n", "other")
    workspace.implementation(
        "library: other\nrequired_symbols: [silu_and_mul(int)]\n", name="other", slot=17
    )
    workspace.install("other", files=["other/_C.so"])
    workspace.provider(path="other/_C.so")
    assert (
        workspace.text(workspace.prove().problems)
        == """\
error[library-name]: two libraries are `_C.so` for the dynamic loader
  --> <contracts>/torch/cpu/other.yaml:2, key `library_glob`
  expected: libraries with different names in one build
  got: <site>/acme/_C.so (of torch/cpu/acme)
    <site>/other/_C.so (of torch/cpu/other)
  help: select implementations that need only one of them"""
    )


def test_sonames_tell_libraries_of_one_file_name_apart(workspace: Workspace) -> None:
    workspace.complete()
    workspace.library("python_distribution_package: other\nlibrary_glob: other/_C.so\n", "other")
    workspace.implementation(
        "library: other\nrequired_symbols: [silu_and_mul(int)]\n", name="other", slot=17
    )
    workspace.install("other", files=["other/_C.so"])
    workspace.provider(SOURCE, "-Wl,-soname,libother.so", path="other/_C.so")
    assert workspace.text(workspace.prove().problems) == ""


def test_the_site_folder_itself_may_be_a_link(workspace: Workspace) -> None:
    workspace.complete()
    link = workspace.root / "lib64"
    link.symlink_to(workspace.site)
    resolution = workspace.prove(environment=workspace.environment(link))
    assert resolution.ok
    assert Path(resolution.libraries[0].path).is_relative_to(workspace.site)
