"""Text made to break the front end: one clear answer within 10 s of computing and 1 GiB."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

GIB = 2**30
DEEP = 100_000
MEGABYTE = 2**20

# Text, and the code of the one error; None where the text is accepted.
TEXTS: dict[str, tuple[str | bytes, str | None]] = {
    # Depth
    "parentheses": ("const A = " + "(" * DEEP + "1" + ")" * DEEP, "E1101"),
    "2000 parentheses": ("const A = " + "(" * 2000 + "1" + ")" * 2000, "E1101"),
    "prefix minus": ("const A = " + "-" * DEEP + "1", "E1101"),
    "sum": ("const A = " + "1+" * 2 * DEEP + "1", "E1101"),
    "calls of calls": ("const A = f" + "(1)" * DEEP, "E1101"),
    "fields of fields": ("fn f(x: f32) -> f32 { return x" + ".a" * DEEP + " }", "E1101"),
    "elements of elements": ("fn f(x: f32) -> f32 { return x" + "[0]" * DEEP + " }", "E1101"),
    "branches": ("fn f(x: bool) -> f32 { return " + "if x { " * DEEP + "}", "E1101"),
    "tuples": ("fn f() { let a = " + "(1, " * DEEP + "}", "E1101"),
    "types": ("fn f(x: " + "(f32, " * DEEP + "}", "E1101"),
    "less-than or generics": ("fn f() { let a = " + "a<b<" * DEEP + "}", "E1101"),
    "blocks": ("block B { " * DEEP, "E1101"),
    "loops": ("fn f() { " + "while a { " * DEEP, "E1101"),
    "nested comments": ("/*" * DEEP, "E1002"),
    "closing braces": ("}" * DEEP, "E1101"),
    "colons": ("fn f(x: f32) { let a = x[" + ":" * DEEP + "] }", "E1101"),
    "deepest that is allowed": (
        "fn f(x: f32) -> f32 { return " + "(" * 240 + "x" + ")" * 240 + "}",
        None,
    ),
    "longest sum that is allowed": (
        "fn f(x: f32) -> f32 { return " + "x + " * 250 + "x }",
        None,
    ),
    # Length
    "100,000 statements": (
        "fn f(x: f32) -> f32 {\n var a = x\n" + " a = a + 1.0\n" * DEEP + " return a\n}",
        None,
    ),
    "a name of a megabyte": ("fn f() -> f32 { return " + "a" * MEGABYTE + " }", "E1201"),
    "a number of a megabyte": ("const A = " + "9" * MEGABYTE, "E2105"),
    "an exponent of a megabyte": ("const A = 1e" + "9" * MEGABYTE, "E2105"),
    "a hexadecimal number of a megabyte": ("const A = 0x" + "f" * MEGABYTE, "E2105"),
    "a comment of a megabyte": ("/" * MEGABYTE, None),
    "a string of a megabyte": ('const A = "' + "a" * MEGABYTE + '"', "E1101"),
    "five million lines": ("\n" * 5_000_000 + "fn f( {", "E1101"),
    # Bytes
    "NUL": ("fn f\0() { return }", "E1001"),
    "bytes that are no UTF-8": (b"module m\nfn f\xff\xfe() { return }", "E1001"),
    "emoji": ("fn f() { let a = \N{GRINNING FACE} }", "E1001"),
    "carriage returns": ("fn f() {\r\n    return\r\n}\r\n", None),
    "a byte order mark": (b"\xef\xbb\xbfmodule m\n", None),
    "nothing": (b"", "E1102"),
    "an open comment": ("fn f() { /* ", "E1002"),
    "an open string": ('const A = "a', "E1003"),
    # Cycles and long chains
    "a module that uses itself": ("use crate.m::{f}\nfn f() { return }", "E1206"),
    "a chain of constants": (
        "\n".join(f"const A{i} = A{i + 1} + 1" for i in range(10_000)) + "\nconst A10000 = 1",
        None,
    ),
    "a chain of aliases": (
        "\n".join(f"type A{i} = A{i + 1}" for i in range(10_000)) + "\ntype A10000 = f32",
        None,
    ),
    "a cycle of constants": (
        "\n".join(f"const A{i} = A{(i + 1) % 5000} + 1" for i in range(5000)),
        "E2122",
    ),
    "a cycle of functions": (
        "\n".join(
            f"fn call{i}(x: f32) -> f32 {{ return call{(i + 1) % 5000}(x) }}" for i in range(5000)
        ),
        "E2119",
    ),
    # Small text that names something huge
    "tuples of tuples": (
        "fn f(x: f32) { let a0 = (x, 1)\n"
        + "\n".join(f"let a{i + 1} = (a{i}, a{i})" for i in range(60))
        + "}",
        "E2190",
    ),
    "aliases of pairs": (
        "\n".join(f"type A{i} = (A{i + 1}, A{i + 1})" for i in range(60)) + "\ntype A60 = f32",
        "E2190",
    ),
    "structs of structs": (
        "\n".join(f"struct S{i} {{ a: S{i + 1} b: S{i + 1} }}" for i in range(60))
        + "\nstruct S60 { a: f32 }",
        "E2190",
    ),
    "blocks of blocks": (
        "\n".join(f"block B{i} {{ sub a: B{i + 1} sub b: B{i + 1} }}" for i in range(60))
        + "\nblock B60 { param w: Tensor[1; f32] }",
        "E2190",
    ),
    "a power of a sum": (
        "fn f<A: Dim, B: Dim>(x: Tensor[" + " * ".join(["(A + B + 1)"] * 200) + "; f32]) {}",
        "E2208",
    ),
    "many sizes that exclude one another": (
        "fn f<"
        + ", ".join(f"N{i}: Dim" for i in range(100))
        + ">() where "
        + ", ".join(f"N{i} < N{i + 1}" for i in range(99))
        + " { let _a = fill<f32>([N0 - N99], 0.0) }",
        "E2208",
    ),
}


def limit() -> None:
    """In the child: memory, and seconds of computing."""
    resource.setrlimit(resource.RLIMIT_AS, (GIB, GIB))
    resource.setrlimit(resource.RLIMIT_CPU, (10, 10))


def linnet(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs the command within the limits."""
    return subprocess.run(
        [sys.executable, "-c", "from linnet.commands.main import run; run()", *arguments],
        cwd=folder,
        env={**os.environ, "NO_COLOR": "1", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
        preexec_fn=limit,
    )


@pytest.mark.parametrize("name", TEXTS)
def test_hostile_text_has_one_clear_answer(name: str, tmp_path: Path) -> None:
    text, code = TEXTS[name]
    data = text if isinstance(text, bytes) else f"module m\n{text}".encode()
    (tmp_path / "m.linnet").write_bytes(data)
    done = linnet("check", "m.linnet", folder=tmp_path)
    errors = [line for line in done.stderr.split("\n") if line.startswith("error ")]
    assert "Traceback" not in done.stderr, done.stderr[-2000:]
    assert [error.split(":")[0].removeprefix("error ") for error in errors] == [code] * bool(code)
    assert done.returncode == bool(code)
    assert all(len(line) < 500 for line in done.stderr.split("\n"))


@pytest.mark.parametrize(
    "name",
    ["deepest that is allowed", "longest sum that is allowed", "a chain of constants"],
)
@pytest.mark.parametrize("command", ["inspect --ir", "emit --passes exact", "fmt --check"])
def test_what_is_accepted_passes_the_later_stages(name: str, command: str, tmp_path: Path) -> None:
    (tmp_path / "m.linnet").write_text(f"module m\n{TEXTS[name][0]!s}", encoding="utf-8")
    done = linnet(*command.split(), "m.linnet", folder=tmp_path)
    assert "Traceback" not in done.stderr, done.stderr[-2000:]
    assert done.returncode == (1 if "fmt" in command else 0)
