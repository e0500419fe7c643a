"""What the values of a contract may say, beyond being texts."""

from __future__ import annotations

import re

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from .diagnostics import Problem

SCHEMA = re.compile(r"(?P<name>\w+::\w+)(?:\.(?P<overload>\w+))?\s*\(.*\)\s*->\s*.+", re.DOTALL)
_DISTRIBUTION = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


def check_distribution(value: str) -> Problem | None:
    """What is wrong with the name of a distribution."""
    if _DISTRIBUTION.fullmatch(value):
        return None
    return Problem(
        "value-invalid",
        "this is no name of a Python distribution",
        expected="letters, digits, `.`, `_` and `-`",
        got=f"`{value}`",
        help="write the name that `pip install` takes, and a version under "
        "`python_distribution_version`",
    )


def check_version_specifier(value: str) -> Problem | None:
    """What is wrong with a PEP 440 specifier."""
    try:
        SpecifierSet(value)
    except InvalidSpecifier:
        return Problem(
            "value-invalid",
            "this is no version specifier",
            expected="a PEP 440 specifier such as `>=0.30,<0.33` or `==0.32.0`",
            got=f"`{value}`",
            help="put an operator before each version",
        )
    return None


def check_glob(value: str) -> Problem | None:
    """What is wrong with the form of a pattern for an installed path."""
    parts = value.split("/")
    reason = None
    if value.startswith("/"):
        reason = "is absolute"
    elif ".." in parts:
        reason = "holds `..`"
    elif any("**" in part for part in parts):
        reason = "holds `**`"
    elif "" in parts or "." in parts:
        reason = "has an empty component"
    elif "\\" in value or not value.isprintable():
        reason = "holds a backslash or a control character"
    elif len(value) > 512:
        reason = "is longer than 512 characters"
    if reason is None:
        return None
    return Problem(
        "value-invalid",
        f"the pattern {reason}",
        expected="a path relative to the folder that the distribution is installed in, with "
        "`*`, `?` and `[...]` inside its components",
        got=f"`{value[:80]}`",
        help="write each folder out, for example `vllm/_C.*.so`",
    )


def check_symbol(value: str) -> Problem | None:
    """What is wrong with the form of a demangled symbol."""
    if re.match(r"_Z\w", value):
        got, help = "a mangled name", "write what `c++filt` makes of it"
    elif not value.isprintable() or value.count("(") != value.count(")"):
        got, help = "no whole name", "a `#` after a space begins a comment: quote the text"
    else:
        return None
    return Problem(
        "value-invalid",
        f"`{value}` is no demangled symbol",
        expected="a demangled name such as `silu_and_mul(at::Tensor&, at::Tensor&)`",
        got=got,
        help=help,
    )


def check_schema(value: str) -> Problem | None:
    """What is wrong with the form of an operator schema."""
    if SCHEMA.fullmatch(value):
        return None
    return Problem(
        "value-invalid",
        "this is no operator schema",
        expected="`namespace::name(arguments) -> returns`",
        got=f"`{value[:120]}`",
        help="copy the line that `linked-resolver inspect` prints",
    )
