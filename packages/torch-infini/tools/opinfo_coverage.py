"""Runs torch's own operator database on infini, and writes what agrees with the CPU and what not.

Every operator of the database is run with its own sample inputs, on the CPU and on infini. The
result is the allow-list that the tests run (`tests/ops/opinfo.json`) and the page of the operators
(docs/torch-infini/operators.md).

    python tools/opinfo_coverage.py --allow tests/ops/opinfo.json --markdown PAGE
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

# Before torch is imported: every operator that would run on the CPU has to be an error.
os.environ.pop("TORCH_INFINI_ENABLE_CPU_FALLBACK", None)

import torch  # see above

import torch_infini  # noqa: F401  # where autoload is off

SAMPLES = 12
DTYPES = (torch.float32, torch.int64, torch.bool)


@dataclass
class Result:
    """What became of one operator."""

    name: str
    dtypes: list[str] = field(default_factory=list)  # in which every sample agrees
    reason: str = ""  # of the first dtype that does not


def to_infini(value: Any) -> Any:
    """Returns `value` with every tensor in it on infini."""
    if isinstance(value, torch.Tensor):
        return value.detach().to("infini").requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)):
        items = [to_infini(item) for item in value]
        named = hasattr(value, "_fields")
        return type(value)(*items) if named else type(value)(items)
    if isinstance(value, dict):
        return {key: to_infini(item) for key, item in value.items()}
    if isinstance(value, (str, torch.device)) and str(value) == "cpu":
        return "infini"
    return value


def to_cpu(value: Any) -> Any:
    """Returns `value` with every tensor in it on the CPU, and nothing of autograd."""
    if isinstance(value, torch.Tensor):
        if value.device.type != "infini":
            raise AssertionError(f"a result is on {value.device}")
        return value.detach().cpu()
    if isinstance(value, (list, tuple)):
        return [to_cpu(item) for item in value]
    return value


def plain(value: Any) -> Any:
    """Returns a result of the CPU in the form of `to_cpu`."""
    if isinstance(value, torch.Tensor):
        return value.detach()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def compare(found: Any, expected: Any) -> None:
    """Asserts that results agree: floating ones nearly, since sums may be taken in another order,
    and others exactly, whatever the operands are.
    """
    if isinstance(expected, torch.Tensor):
        inexact = expected.is_floating_point() or expected.is_complex()
        relative, absolute = (1e-4, 1e-5) if inexact else (0.0, 0.0)
        torch.testing.assert_close(found, expected, equal_nan=True, rtol=relative, atol=absolute)
    elif isinstance(expected, list):
        assert len(found) == len(expected), f"{len(found)} results instead of {len(expected)}"
        for one, other in zip(found, expected, strict=True):
            compare(one, other)
    else:
        assert found == expected, f"{found!r} instead of {expected!r}"


def check(info: Any, dtype: torch.dtype, samples: int = SAMPLES) -> None:
    """Compares an operator with the CPU on its first `samples` samples.

    Raises:
        NotImplementedError: infini lacks something that it takes.
        AssertionError: a result differs.
    """
    for sample in islice(info.sample_inputs("cpu", dtype), samples):
        expected = info(sample.input, *sample.args, **sample.kwargs)
        found = info(to_infini(sample.input), *to_infini(sample.args), **to_infini(sample.kwargs))
        compare(to_cpu(found), plain(expected))


def reason_of(error: BaseException) -> str:
    """Says in a few words why an operator does not agree."""
    text = str(error).strip()
    if match := re.match(r"(aten::[\w.]+) is not implemented", text):
        return f"lacks {match[1]}"
    if match := re.match(
        r"(aten::[\w.]+): InfiniOps' `(\w+)` \(slot 0\) has no kernel for (\w+)", text
    ):
        return f"`{match[2]}` has no {match[3]}"
    if isinstance(error, AssertionError):
        return "differs from the CPU"
    first = text.splitlines()[0] if text else ""
    return f"{type(error).__name__}: {first[:70]}"


def names_of(info: Any) -> str:
    """The name of an entry of the database, with its variant."""
    return f"{info.name}:{info.variant_test_name}" if info.variant_test_name else str(info.name)


def run(infos: Iterable[Any]) -> Iterator[Result]:
    """Checks every operator; a sample that takes too long stops nothing but itself."""
    for info in infos:
        result = Result(names_of(info))
        for dtype in DTYPES:
            if dtype not in info.supported_dtypes("cpu"):
                continue
            torch.manual_seed(0)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    check(info, dtype)
            # The reason of each failure is the point of the page.
            except Exception as error:
                result.reason = result.reason or reason_of(error)
            else:
                result.dtypes.append(str(dtype).removeprefix("torch."))
        yield result


def page(results: list[Result]) -> str:
    """Returns the page of the operators."""
    good = [result for result in results if result.dtypes]
    bad = [result for result in results if not result.dtypes]
    lines = [
        "<!-- Made by packages/torch-infini/tools/opinfo_coverage.py. -->",
        "",
        "# Operators that agree with the CPU",
        "",
        f"torch's own database of operators has {len(results)} entries (torch "
        f"{torch.__version__.split('+')[0]}). Each was run with the database's samples on the CPU "
        "and on `infini`, without fallback.",
        "",
        f"{len(good)} agree in at least one of float32, int64 and bool:",
        "",
        "| operator | agrees in | otherwise |",
        "|---|---|---|",
        *(f"| `{r.name}` | {', '.join(r.dtypes)} | {r.reason} |" for r in good),
        "",
        f"{len(bad)} do not. What draws random numbers or leaves memory as it is has no values to "
        "compare, and differs:",
        "",
        "| operator | why |",
        "|---|---|",
        *(f"| `{r.name}` | {r.reason or 'no sample in these types'} |" for r in bad),
        "",
    ]
    return "\n".join(lines)


def say(line: str) -> None:
    """Writes a line to the terminal at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """Runs everything and writes both files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--allow", type=Path, required=True, help="the allow-list to write")
    parser.add_argument("--markdown", type=Path, required=True, help="the page to write")
    parser.add_argument("--only", nargs="*", help="names of operators; then nothing is written")
    parsed = parser.parse_args()
    from torch.testing._internal.common_methods_invocations import op_db

    chosen = [info for info in op_db if not parsed.only or names_of(info) in parsed.only]
    results = []
    for result in run(chosen):
        results.append(result)
        say(f"{result.name}: {', '.join(result.dtypes) or '-'} {result.reason}")
    if parsed.only:
        return 0
    allowed = {result.name: result.dtypes for result in results if result.dtypes}
    parsed.allow.write_text(json.dumps(allowed, indent=1) + "\n", encoding="utf-8")
    parsed.markdown.write_text(page(results), encoding="utf-8")
    say(f"{len(allowed)} of {len(results)} agree in some type")
    return 0


if __name__ == "__main__":
    sys.exit(main())
