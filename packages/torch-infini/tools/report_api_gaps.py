"""Reports how torch.infini relates to the whole surface of torch.cuda.

    python tools/report_api_gaps.py \
        --profile tests/conformance/api_profile.json \
        --markdown build/conformance/torch-cuda-gaps.md \
        --json build/conformance/torch-cuda-gaps.json

Every public symbol of torch.cuda is required, planned, excluded or unclassified. Gaps are advice
and do not make the command fail; an invalid profile and a report that cannot be written do.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

SCHEMA = 1
CLASSES = ("Event", "Stream")  # whose members are part of the surface


class ProfileError(ValueError):
    """The profile is not one."""


@dataclass(frozen=True)
class Profile:
    """How we classify symbols; keys of `planned` and `excluded` may be shell patterns."""

    required: tuple[str, ...]
    planned: dict[str, str]
    excluded: dict[str, str]


@dataclass(frozen=True)
class Report:
    """Every symbol of the surface, by class."""

    torch: str
    required: list[str] = field(default_factory=list)
    planned: dict[str, str] = field(default_factory=dict)
    excluded: dict[str, str] = field(default_factory=dict)
    unclassified: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)  # required, but not in torch.infini
    stale: list[str] = field(default_factory=list)  # in the profile, but not in torch.cuda


def read_profile(path: Path) -> Profile:
    """Reads and checks the profile at `path`.

    Raises:
        ProfileError: the file is no profile of this schema, or classifies a symbol twice.
    """
    try:
        document: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ProfileError(f"{path}: {error}") from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise ProfileError(f"{path}: expected an object with `schema` {SCHEMA}")
    required, planned, excluded = (
        document.get(name) for name in ("required", "planned", "excluded")
    )
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        raise ProfileError(f"{path}: expected `required` to be a list of symbols")
    for name, section in (("planned", planned), ("excluded", excluded)):
        if not isinstance(section, dict) or not all(
            isinstance(reason, str) and reason for reason in section.values()
        ):
            raise ProfileError(f"{path}: expected `{name}` to map each symbol to its reason")
    assert isinstance(planned, dict)
    assert isinstance(excluded, dict)
    listed = [*required, *planned, *excluded]
    if twice := sorted({name for name in listed if listed.count(name) > 1}):
        raise ProfileError(f"{path}: classified twice: {', '.join(twice)}")
    return Profile(tuple(required), planned, excluded)


def surface(module: ModuleType) -> list[str]:
    """Returns the public symbols of torch.cuda, in order.

    Public are the names in `__all__` and what else torch.cuda defines itself. Names that it merely
    imported (`os`, `Any`, ...) are no part of it.
    """
    names = set(module.__all__)
    for name in dir(module):
        value = getattr(module, name)
        origin = getattr(value, "__name__" if isinstance(value, ModuleType) else "__module__", "")
        own = str(origin).startswith(f"{module.__name__}.") or origin == module.__name__
        error = isinstance(value, type) and issubclass(value, Exception)
        if not name.startswith("_") and (own or error):
            names.add(name)
    for class_name in CLASSES:
        members = dir(getattr(module, class_name))
        names |= {f"{class_name}.{member}" for member in members if not member.startswith("_")}
    return sorted(names)


def classify(
    symbols: list[str], profile: Profile, implementation: ModuleType, torch: str
) -> Report:
    """Sorts `symbols` by `profile`, and looks for the required ones in `implementation`."""
    report = Report(torch)
    for symbol in symbols:
        if symbol in profile.required:
            report.required.append(symbol)
            if not _has(implementation, symbol):
                report.missing.append(symbol)
        elif (reason := _match(symbol, profile.planned)) is not None:
            report.planned[symbol] = reason
        elif (reason := _match(symbol, profile.excluded)) is not None:
            report.excluded[symbol] = reason
        else:
            report.unclassified.append(symbol)
    patterns = [*profile.required, *profile.planned, *profile.excluded]
    report.stale.extend(pattern for pattern in patterns if not fnmatch.filter(symbols, pattern))
    return report


def _match(symbol: str, section: dict[str, str]) -> str | None:
    for pattern, reason in section.items():
        if fnmatch.fnmatchcase(symbol, pattern):
            return reason
    return None


def _has(module: Any, symbol: str) -> bool:
    for part in symbol.split("."):
        if not hasattr(module, part):
            return False
        module = getattr(module, part)
    return True


def to_json(report: Report) -> str:
    """Returns the report as JSON."""
    document = {"schema": SCHEMA, "reference": "torch.cuda", **vars(report)}
    return json.dumps(document, indent=2) + "\n"


def to_markdown(report: Report) -> str:
    """Returns the report as a Markdown page."""
    total = sum(map(len, (report.required, report.planned, report.excluded, report.unclassified)))
    lines = [
        "# torch.infini and torch.cuda",
        "",
        f"The {total} public symbols of torch.cuda in torch {report.torch}.",
        "",
        "| class | symbols |",
        "|---|---|",
        f"| required | {len(report.required)}, of which {len(report.missing)} are missing |",
        f"| planned | {len(report.planned)} |",
        f"| excluded | {len(report.excluded)} |",
        f"| unclassified | {len(report.unclassified)} |",
        "",
    ]
    for title, names in (
        ("Missing", report.missing),
        ("Unclassified", report.unclassified),
        ("In the profile, but not in this torch.cuda", report.stale),
        ("Required", report.required),
    ):
        lines += [f"## {title}", "", *([f"- `{name}`" for name in names] or ["none"]), ""]
    for title, section in (("Planned", report.planned), ("Excluded", report.excluded)):
        rows = [f"| `{name}` | {reason} |" for name, reason in section.items()]
        lines += [f"## {title}", "", "| symbol | reason |", "|---|---|", *rows, ""]
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Writes both reports; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--profile", type=Path, required=True, help="api_profile.json")
    parser.add_argument("--markdown", type=Path, required=True, help="Markdown file to write")
    parser.add_argument("--json", type=Path, required=True, help="JSON file to write")
    options = parser.parse_args(arguments)
    try:
        profile = read_profile(options.profile)
    except ProfileError as error:
        sys.stderr.write(f"report_api_gaps: {error}\n")
        return 2

    import torch
    import torch.cuda

    import torch_infini.infini

    report = classify(surface(torch.cuda), profile, torch_infini.infini, torch.__version__)
    try:
        for path, text in (
            (options.markdown, to_markdown(report)),
            (options.json, to_json(report)),
        ):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        sys.stderr.write(f"report_api_gaps: {error}\n")
        return 1
    sys.stdout.write(
        f"{len(report.required)} required ({len(report.missing)} missing), "
        f"{len(report.planned)} planned, {len(report.excluded)} excluded, "
        f"{len(report.unclassified)} unclassified\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
