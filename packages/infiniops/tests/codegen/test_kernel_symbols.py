import importlib.util
import shutil
import subprocess
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "cpp" / "check_kernel_symbols.py"


def test_shared_code_outside_the_namespace_is_found(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("check_kernel_symbols", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    source = tmp_path / "kernel.cc"
    source.write_text(
        "inline __attribute__((noinline)) int Shared(int x) { return x + 1; }\n"
        "namespace avx2 {\n"
        "inline __attribute__((noinline)) int Own(int x) { return x + 2; }\n"
        "int Run(int x) { return Shared(x) + Own(x); }\n"
        "}\n"
    )
    target = tmp_path / "kernel.o"
    subprocess.run(["g++", "-O2", "-c", source, "-o", target], check=True)
    found = module.shared_code(shutil.which("nm"), "avx2", [str(target)])
    assert found == [f"{target}: _Z6Sharedi"]
