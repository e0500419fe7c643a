import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from linked_workspace import LIBRARY, Workspace, compile_library

from linked_resolver import Environment, ResolverSetupError
from linked_resolver.environment import find_distribution, other_python


def test_the_current_environment_is_that_of_this_interpreter() -> None:
    environment = Environment.current()
    assert environment.python == Path(sys.executable)
    assert Path(find_distribution("pytest", environment).root, "pytest/__init__.py").is_file()


def test_another_interpreter_is_asked_for_its_environment() -> None:
    assert Environment.of(Path(sys.executable)).extension_suffix == (
        Environment.current().extension_suffix
    )


@pytest.mark.parametrize("name", ["absent", "silent"])
def test_what_is_no_interpreter_is_refused(tmp_path: Path, name: str) -> None:
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\n")
    silent.chmod(0o755)
    with pytest.raises(ResolverSetupError, match=r"expected a Python interpreter, got .+; pass"):
        Environment.of(tmp_path / name)


def test_a_distribution_that_is_not_installed(workspace: Workspace) -> None:
    workspace.library()
    workspace.implementation()
    workspace.install_torch()
    assert (
        workspace.text(workspace.prove().problems)
        == """\
error[distribution-missing]: the Python distribution `acme` is not installed
  --> <contracts>/torch/cpu/acme.yaml:1, key `python_distribution_package`
  expected: `acme` in the environment of <python>
  got: no metadata in <site>
  help: install it (`<python> -m pip install acme`), or select no implementation that needs it"""
    )


def test_torch_that_is_not_installed(workspace: Workspace) -> None:
    workspace.library()
    workspace.implementation()
    workspace.install(files=["acme/_C.so"])
    workspace.provider()
    assert (
        workspace.text(workspace.prove().problems)
        == """\
error[torch-missing]: the transport torch needs an installed torch
  --> <contracts>/torch/cpu/ops/silu_and_mul/acme.yaml:1
  expected: torch in the environment of <python>
  got: the Python distribution `torch` is not installed
  help: install the torch that the providers are made for"""
    )


@pytest.mark.parametrize(
    ("asked", "installed"),
    [("Acme.Kernels", "acme-kernels"), ("acme_kernels", "ACME-Kernels"), ("acme-kernels",) * 2],
)
def test_spelling_of_the_name_does_not_matter(
    workspace: Workspace, asked: str, installed: str
) -> None:
    workspace.install(installed, files=["a.so"])
    assert find_distribution(asked, workspace.environment()).name == asked


def test_a_path_with_spaces_and_letters_of_any_language(workspace: Workspace) -> None:
    site = workspace.root / "Käse und Brot" / "библиотека"
    workspace.library()
    workspace.implementation()
    workspace.install(files=["acme/_C.so"], site=site)
    workspace.install_torch()
    path = compile_library(site / "acme/_C.so", "void silu_and_mul(int) {}")
    resolution = workspace.resolve(environment=workspace.environment(site, workspace.site))
    assert workspace.text(resolution.problems) == ""
    assert str(path) in (workspace.output / "manifest.cmake").read_text(encoding="utf-8")


def test_folders_of_pythonpath_are_searched(workspace: Workspace) -> None:
    workspace.install(files=["acme/_C.so"])
    code = (
        "from linked_resolver import Environment\n"
        "from linked_resolver.environment import find_distribution\n"
        "print(find_distribution('acme', Environment.current()).root)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(workspace.site)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.strip() == str(workspace.site)


def test_the_user_s_folder_is_searched_where_the_interpreter_has_one(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A virtual environment hides that folder, so the interpreter below it is asked."""
    python = Path(getattr(sys, "_base_executable", sys.executable))
    monkeypatch.setenv("PYTHONUSERBASE", str(workspace.root / "user"))
    monkeypatch.delenv("PYTHONNOUSERSITE", raising=False)
    question = "import site; print(site.getusersitepackages())"
    folder = subprocess.run([python, "-c", question], capture_output=True, text=True, check=True)
    site = Path(folder.stdout.strip())
    workspace.install(files=["acme/_C.so"], site=site)
    assert find_distribution("acme", Environment.of(python)).root == site


def test_the_first_on_the_search_path_is_taken(workspace: Workspace) -> None:
    user = workspace.root / "user"
    workspace.install(version="1.0", files=["a.so"])
    workspace.install(version="2.0", files=["a.so"], site=user)
    found = find_distribution("acme", workspace.environment(user, workspace.site))
    assert found.title == "acme 2.0"


def test_two_metadata_folders_side_by_side(workspace: Workspace) -> None:
    workspace.complete()
    workspace.install(version="0.9", files=["acme/_C.so"])
    assert (
        workspace.text(workspace.prove().problems)
        == """\
error[distribution-ambiguous]: `acme` is installed more than once in one folder
  --> <contracts>/torch/cpu/acme.yaml:1, key `python_distribution_package`
  expected: one metadata folder
  got: acme-0.9.dist-info, acme-1.0.dist-info in <site>
  help: delete what an unfinished installation left, or install it anew"""
    )


def test_a_deleted_record(workspace: Workspace) -> None:
    workspace.complete()
    (workspace.site / "acme-1.0.dist-info" / "RECORD").unlink()
    assert (
        workspace.text(workspace.prove().problems)
        == """\
error[distribution-metadata]: the metadata of `acme` lists no files
  --> <contracts>/torch/cpu/acme.yaml:1, key `python_distribution_package`
  expected: RECORD, or direct_url.json of an editable installation
  got: neither in <site>/acme-1.0.dist-info
  help: install `acme` anew with pip or uv; if this metadata is stale, delete it"""
    )


def test_stale_egg_info_is_named_with_what_it_hides(workspace: Workspace) -> None:
    workspace.complete()
    checkout = workspace.root / "checkout"
    (checkout / "acme.egg-info").mkdir(parents=True)
    (checkout / "acme.egg-info" / "PKG-INFO").write_text("Name: acme\nVersion: 0.1\n")
    (checkout / "acme.egg-info" / "SOURCES.txt").write_text("setup.py\n")
    environment = workspace.environment(checkout, workspace.site)
    assert (
        workspace.text(workspace.prove(environment=environment).problems)
        == """\
error[distribution-metadata]: the metadata of `acme` lists no files
  --> <contracts>/torch/cpu/acme.yaml:1, key `python_distribution_package`
  expected: RECORD, or direct_url.json of an editable installation
  got: neither in <root>/checkout/acme.egg-info
  note: other metadata of that name, later on the search path: <site>/acme-1.0.dist-info
  help: install `acme` anew with pip or uv; if this metadata is stale, delete it"""
    )


def test_an_installation_by_setup_py(workspace: Workspace) -> None:
    folder = workspace.site / "acme-1.0-py3.11.egg-info"
    folder.mkdir()
    (folder / "PKG-INFO").write_text("Name: acme\nVersion: 1.0\n")
    (folder / "installed-files.txt").write_text("../acme/_C.so\nPKG-INFO\n../../../bin/tool\n")
    found = find_distribution("acme", workspace.environment())
    assert sorted(map(str, found.files)) == ["acme-1.0-py3.11.egg-info/PKG-INFO", "acme/_C.so"]


@pytest.mark.parametrize("metadata", ["Name: acme\n", "Name: acme\nVersion: one\n", ""])
def test_metadata_without_a_version(workspace: Workspace, metadata: str) -> None:
    workspace.complete()
    (workspace.site / "acme-1.0.dist-info" / "METADATA").write_text(metadata)
    (problem,) = workspace.prove().problems
    got = "`one`" if "one" in metadata else "`none`"
    assert workspace.text([problem]) == (
        "error[distribution-metadata]: `acme` has no valid version\n"
        "  --> <contracts>/torch/cpu/acme.yaml:1, key `python_distribution_package`\n"
        "  expected: a PEP 440 version\n"
        f"  got: {got} in <site>/acme-1.0.dist-info\n"
        "  help: install `acme` anew"
    )


def test_a_record_that_is_not_text(workspace: Workspace) -> None:
    workspace.complete()
    (workspace.site / "acme-1.0.dist-info" / "RECORD").write_bytes(b"\xff\xfe")
    assert (
        workspace.text(workspace.prove().problems)
        == """\
error[distribution-metadata]: the list of the files of `acme` cannot be read
  --> <contracts>/torch/cpu/acme.yaml:1, key `python_distribution_package`
  expected: RECORD as pip writes it
  got: invalid start byte in <site>/acme-1.0.dist-info
  help: install `acme` anew"""
    )


def test_metadata_that_is_not_text(workspace: Workspace) -> None:
    workspace.complete()
    (workspace.site / "acme-1.0.dist-info" / "METADATA").write_bytes(b"Name: \xff\n")
    assert (
        workspace.text(workspace.prove().problems)
        == """\
error[distribution-metadata]: the metadata of `acme` cannot be read
  --> <contracts>/torch/cpu/acme.yaml:1, key `python_distribution_package`
  expected: METADATA in UTF-8
  got: invalid start byte in <site>/acme-1.0.dist-info
  help: install `acme` anew"""
    )


@pytest.mark.parametrize("part", ["METADATA", "RECORD", "direct_url.json"])
def test_pipes_in_the_metadata_are_not_waited_for(workspace: Workspace, part: str) -> None:
    workspace.complete()
    path = workspace.site / "acme-1.0.dist-info" / part
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    assert (
        workspace.text(workspace.prove().problems)
        == f"""\
error[distribution-metadata]: the metadata of `acme` cannot be read
  --> <contracts>/torch/cpu/acme.yaml:1, key `python_distribution_package`
  expected: files
  got: `{part}`, a pipe or a device, in <site>/acme-1.0.dist-info
  help: install `acme` anew"""
    )


@pytest.mark.parametrize("text", ['{"url": 5, "dir_info": []}', "[[", "5", '"x"'])
def test_a_direct_url_of_another_form_means_no_editable_installation(
    workspace: Workspace, text: str
) -> None:
    workspace.complete()
    (workspace.site / "acme-1.0.dist-info" / "direct_url.json").write_text(text)
    assert workspace.text(workspace.prove().problems) == ""


@pytest.mark.parametrize(
    ("specifier", "installed"),
    [
        ("==1.0", "1.0+cpu"),
        (">=1.0,<2", "1.0.post1"),
        (">=1.0", "1.1rc1"),
        ("==1.*", "1.2.dev0"),
        ("~=1.0", "1.9"),
    ],
)
def test_versions_that_a_specifier_takes(
    workspace: Workspace, specifier: str, installed: str
) -> None:
    assert version_text(workspace, specifier, installed) == ""


@pytest.mark.parametrize(
    ("specifier", "installed"),
    [("==1.0+cpu", "1.0"), (">=1.0", "1.0rc1"), ("<1.0", "1.0.dev1"), ("!=1.0", "1.0")],
)
def test_versions_that_a_specifier_refuses(
    workspace: Workspace, specifier: str, installed: str
) -> None:
    assert version_text(workspace, specifier, installed) == (
        "error[distribution-version]: another version of `acme` is asked for\n"
        "  --> <contracts>/torch/cpu/acme.yaml:3, key `python_distribution_version`\n"
        f"  expected: `acme{specifier}`\n"
        f"  got: acme {installed}, in <site>/acme-{installed}.dist-info\n"
        f'  help: install it (`pip install "acme{specifier}"`)'
    )


def version_text(workspace: Workspace, specifier: str, installed: str) -> str:
    workspace.library(LIBRARY + f'python_distribution_version: "{specifier}"\n')
    workspace.implementation()
    workspace.install(version=installed, files=["acme/_C.so"])
    workspace.install_torch()
    workspace.provider()
    return workspace.text(workspace.prove().problems)


def install_editable(workspace: Workspace, record: str, source: Path) -> None:
    workspace.library()
    workspace.implementation()
    workspace.install_torch()
    url = {"url": source.as_uri(), "dir_info": {"editable": True}}
    workspace.install(record=record, extra={"direct_url.json": json.dumps(url)})


def test_an_editable_installation_with_a_pth_file(workspace: Workspace) -> None:
    source = workspace.root / "a project"
    path = compile_library(source / "python" / "acme" / "_C.so", "void silu_and_mul(int) {}")
    install_editable(workspace, "__editable__.acme-1.0.pth,,\n", source)
    (workspace.site / "__editable__.acme-1.0.pth").write_text(f"{source / 'python'}\nimport os\n")
    resolution = workspace.prove()
    assert workspace.text(resolution.problems) == ""
    assert resolution.located["torch/cpu/acme"].path == path


@pytest.mark.parametrize("layout", ["", "src"])
def test_an_editable_installation_with_a_finder(workspace: Workspace, layout: str) -> None:
    source = workspace.root / "project"
    compile_library(source / layout / "acme" / "_C.so", "void silu_and_mul(int) {}")
    install_editable(workspace, "__editable___acme_1_0_finder.py,,\n", source)
    assert workspace.text(workspace.prove().problems) == ""


def test_a_pth_file_cannot_lead_out_of_the_project(workspace: Workspace) -> None:
    source = workspace.root / "project"
    source.mkdir()
    compile_library(workspace.root / "elsewhere" / "acme" / "_C.so", "void silu_and_mul(int) {}")
    install_editable(workspace, "acme.pth,,\n", source)
    (workspace.site / "acme.pth").write_text(f"{workspace.root / 'elsewhere'}\n")
    assert (
        workspace.text(workspace.prove().problems)
        == """\
error[glob-no-match]: `acme/_C.so` matches nothing that `acme` installed
  --> <contracts>/torch/cpu/acme.yaml:2, key `library_glob`
  expected: exactly one file
  got: none among the files of acme 1.0, from <site>/acme-1.0.dist-info
  help: correct the pattern; it begins at the folder that holds the metadata"""
    )


def test_an_editable_installation_whose_sources_are_gone(workspace: Workspace) -> None:
    install_editable(workspace, "acme.pth,,\n", workspace.root / "project")
    assert (
        workspace.text(workspace.prove().problems)
        == """\
error[distribution-metadata]: the sources of the editable installation of `acme` are gone
  --> <contracts>/torch/cpu/acme.yaml:1, key `python_distribution_package`
  expected: a folder
  got: <root>/project, named by direct_url.json in <site>/acme-1.0.dist-info
  help: install `acme` anew"""
    )


def test_addresses_in_direct_url_stay_secret(workspace: Workspace) -> None:
    workspace.library()
    workspace.implementation()
    workspace.install_torch()
    url = json.dumps({"url": "https://me:secret@host/acme.git", "vcs_info": {"vcs": "git"}})
    workspace.install(record="", extra={"direct_url.json": url})
    workspace.resolve()
    text = (workspace.output / "diagnostics.json").read_text(encoding="utf-8")
    assert "distribution-metadata" in text
    assert "secret" not in text


@pytest.mark.parametrize(
    ("file", "tag"),
    [
        ("x.cpython-310-x86_64-linux-gnu.so", "cpython-310-x86_64-linux-gnu"),
        ("x.cpython-311-x86_64-linux-gnu.so", None),
        ("x.pypy310-pp73-x86_64-linux-gnu.so", "pypy310-pp73-x86_64-linux-gnu"),
        ("x.abi3.so", None),
        ("libx.so", None),
        ("x.so", None),
    ],
)
def test_the_tag_of_another_python_is_recognised(file: str, tag: str | None) -> None:
    own = Environment(Path(sys.executable), (), ".cpython-311-x86_64-linux-gnu.so")
    assert other_python(Path(file), own) == tag
